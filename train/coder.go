package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/program"
)

// Coder runs a trained model's encoder and decoder. Several goroutines may use it, unless one of them trains the model.
// They take turns after each batch.
type Coder struct {
	data             models.Data
	views            *augment.Views // views with the normalisation of images; nil: none
	width            int
	encoder, decoder *program.Program // decoder is nil if the model has none
}

// NewCoder compiles a model's encoder and decoder.
func NewCoder(m models.Model, data models.Data) (*Coder, error) {
	if m == nil {
		return nil, errors.New("there is no model to encode with")
	}
	c := &Coder{data: data}
	for _, s := range m.Spaces() {
		c.width += s.Width
	}
	var err error
	if c.encoder, err = program.Encoder(m, data, program.Batch); err != nil {
		return nil, err
	}
	if _, ok := m.(models.Decoder); ok {
		c.decoder, err = program.Decoder(m, c.width, program.Batch)
	}
	return c, err
}

// UseDevice runs the encoder and the decoder on a device from now on. The parameters are copied there once, and must
// not change afterwards. The device stays open until the process ends.
func (c *Coder) UseDevice(name engine.Device) error {
	d, err := name.Open()
	if err != nil || d == nil {
		return err
	}
	if err := c.encoder.Use(d); err != nil {
		return err
	}
	return c.decoder.Use(d)
}

// Width returns the number of columns of a code.
func (c *Coder) Width() int { return c.width }

// Encode returns the codes of images of a data set, [len(indices), Width()]. The images must have the shape of the
// model's images.
func (c *Coder) Encode(ctx context.Context, d datasets.Dataset, indices []int) ([]float32, error) {
	return c.encode(ctx, d, indices, func(int) {})
}

// encode is Encode, and calls watch before every batch with the number of encoded images.
func (c *Coder) encode(ctx context.Context, d datasets.Dataset, indices []int, watch func(done int)) ([]float32, error) {
	if err := c.check(ctx, d, indices); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	codes, batch := make([]float32, 0, len(indices)*c.width), c.encoder.Images
	for start := 0; start < len(indices); start += batch {
		if ctx.Err() != nil {
			return nil, ErrStopped
		}
		watch(start)
		part := indices[start:min(start+batch, len(indices))]
		var err error
		codes, err = c.encoder.Run(codes, len(part)*c.width, func(in []float32) {
			datasets.Fill(d, part, in)
			if c.views != nil {
				size := c.data.Height * c.data.Width * c.data.Channels
				c.views.Plain(in[:len(part)*size], c.data.Height, c.data.Width, c.data.Channels)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
	}
	return codes, nil
}

// check returns an error for images that the data set or the encoder does not have.
func (c *Coder) check(ctx context.Context, d datasets.Dataset, indices []int) error {
	if ctx == nil || d == nil {
		return errors.New("the context or the data set is nil; want both")
	}
	if err := c.suits(d); err != nil {
		return err
	}
	for _, i := range indices {
		if i < 0 || i >= d.Len() {
			return fmt.Errorf("dataset %s has no image %d; want 0 to %d", d.Name(), i, d.Len()-1)
		}
	}
	return nil
}

// Decodes reports whether the model has a decoder.
func (c *Coder) Decodes() bool { return c.decoder != nil }

// Decode returns the images of codes, [n, H, W, C], with pixels in [0, 1] unless the data set is real-valued.
func (c *Coder) Decode(codes []float32) ([]float32, error) {
	if c.decoder == nil || len(codes)%c.width != 0 {
		return nil, fmt.Errorf("decode: %d numbers; want a model with a decoder, and codes of %d numbers",
			len(codes), c.width)
	}
	size := c.data.Height * c.data.Width * c.data.Channels
	n := len(codes) / c.width
	images := make([]float32, 0, n*size)
	for start := 0; start < n; start += c.decoder.Images {
		count := min(c.decoder.Images, n-start)
		var err error
		images, err = c.decoder.Run(images, count*size, func(in []float32) { copy(in, codes[start*c.width:]) })
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
	}
	if !c.data.Real {
		kernel.Sigmoid(images, images)
	}
	return images, nil
}

func allImages(d datasets.Dataset) []int { return numeric.UpTo(d.Len()) }
