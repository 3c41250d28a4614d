package train

import (
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/internal/program"
)

// Encoder computes codes of images, and images of codes, with the model of a run. Several goroutines may use it.
type Encoder struct {
	data  models.Data
	views *augment.Views // views with the normalisation of images; nil: none
	width int

	encoders *program.Pools
	decoders *program.Pools // nil: the model has no decoder
}

// OpenEncoder opens the encoder of the run in a folder. If the newest checkpoint is damaged, it reads the previous
// one. The run's data set must be available, because the model takes its image shape from it.
func OpenEncoder(dir string) (*Encoder, error) {
	x, _, err := OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	e := &Encoder{data: x.modelData(), views: x.Config.Views, width: x.Coder.Width()}
	m := x.Model
	e.encoders, err = program.NewPools(func(n int) (*program.Program, error) { return program.Encoder(m, e.data, n) })
	if err == nil && x.Coder.Decodes() {
		e.decoders, err = program.NewPools(func(n int) (*program.Program, error) { return program.Decoder(m, e.width, n) })
	}
	return e, err
}

// Width returns the number of columns of a code.
func (e *Encoder) Width() int { return e.width }

// ImageShape returns the height, width and channels of an image.
func (e *Encoder) ImageShape() (height, width, channels int) {
	return e.data.Height, e.data.Width, e.data.Channels
}

// Decodes reports whether the model has a decoder.
func (e *Encoder) Decodes() bool { return e.decoders != nil }

// Close makes later calls fail. Calls in progress finish normally.
func (e *Encoder) Close() error {
	e.encoders.Close()
	if e.decoders != nil {
		e.decoders.Close()
	}
	return nil
}

// Encode returns the codes, [n, Width], of n images, [n, height, width, channels]. Pixels must be in [0, 1] unless
// the data set is real-valued. Encode applies the normalisation of the config's views. The command encode
// gives the same codes, bit for bit.
func (e *Encoder) Encode(pixels []float32, n int) ([]float32, error) {
	h, w, c := e.ImageShape()
	if err := checkBatch("pixels", pixels, n, h*w*c, fmt.Sprintf("%d x %d x %d", h, w, c)); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	codes, err := e.encoders.Run(pixels, n, e.width, func(in []float32) {
		if e.views != nil {
			e.views.Plain(in, h, w, c)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return codes, nil
}

// Decode returns the images, [n, height, width, channels], of n codes, [n, Width]. Their pixels are in [0, 1] unless
// the data set is real-valued.
func (e *Encoder) Decode(codes []float32, n int) ([]float32, error) {
	if e.decoders == nil {
		return nil, errors.New("decode: the model has no decoder; want a run of a model with one, such as vae or ae")
	}
	if err := checkBatch("codes", codes, n, e.width, fmt.Sprint(e.width)); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	h, w, c := e.ImageShape()
	images, err := e.decoders.Run(codes, n, h*w*c, func([]float32) {})
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if !e.data.Real {
		kernel.Sigmoid(images, images)
	}
	return images, nil
}

// checkBatch returns an error for an array without n rows of the given size, or with a NaN or infinite number.
func checkBatch(noun string, values []float32, n, size int, shape string) error {
	switch {
	case n < 0 || n > math.MaxInt/size:
		return fmt.Errorf("%d %s for n = %d; want n x %s, n at least 0", len(values), noun, n, shape)
	case len(values) != n*size:
		return fmt.Errorf("%d %s for n = %d; want n x %s = %d", len(values), noun, n, shape, n*size)
	}
	for i, v := range values {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("%s: element %d of row %d is %v; want finite numbers", noun, i%size, i/size, v)
		}
	}
	return nil
}
