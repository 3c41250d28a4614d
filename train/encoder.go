package train

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/models"
)

// Encoder computes codes of images, and images of codes, with the model of a run. Goroutines may share it.
type Encoder struct {
	model models.Model
	data  models.Data
	views *augment.Views // views with the normalisation of images; nil: none
	width int

	lock     sync.Mutex // held while a program is compiled
	closed   bool
	encoders []*pool // by batch size, largest first
	decoders []*pool // nil: the model has no decoder
}

// serveBatches are the batch sizes of an Encoder's programs, largest first. least is the number of rows from which a
// size beats smaller sizes. In BenchmarkEncoder a single image takes a third of the time of eight.
var serveBatches = []struct{ images, least int }{{128, 128}, {8, 4}, {1, 1}}

// pool holds the compiled programs of one batch size. A program serves one batch at a time. A pool compiles programs
// when they are needed, at most one for each thread.
type pool struct {
	images  int
	least   int // rows
	compile func(n int) (*half, error)
	free    chan *half
	left    int // number of programs that may still be compiled
}

// OpenEncoder opens the encoder of the run in a folder. If the newest checkpoint is damaged, it reads the previous
// one. The run's data set must be available, because the model takes its image shape from it.
func OpenEncoder(dir string) (*Encoder, error) {
	x, _, err := OpenExperiment(dir)
	if err != nil {
		return nil, err
	}
	e := &Encoder{model: x.Model, data: x.modelData(), views: x.Config.Views, width: x.Coder.Width()}
	encode := func(n int) (*half, error) { return newEncoder(e.model, e.data, n) }
	decode := func(n int) (*half, error) { return newDecoder(e.model, e.width, n) }
	if e.encoders, err = newPools(encode); err == nil && x.Coder.Decodes() {
		e.decoders, err = newPools(decode)
	}
	return e, err
}

// newPools compiles the first program of each batch size.
func newPools(compile func(n int) (*half, error)) ([]*pool, error) {
	var list []*pool
	for _, b := range serveBatches {
		most := runtime.GOMAXPROCS(0)
		p := &pool{images: b.images, least: b.least, compile: compile, free: make(chan *half, most), left: most - 1}
		first, err := compile(b.images)
		if err != nil {
			return nil, err
		}
		p.images = first.images
		p.free <- first
		list = append(list, p)
	}
	return list, nil
}

// Width returns the number of columns of a code.
func (e *Encoder) Width() int { return e.width }

// ImageShape returns the height, width and channels of an image.
func (e *Encoder) ImageShape() (height, width, channels int) {
	return e.data.Height, e.data.Width, e.data.Channels
}

// Decodes reports whether the model has a decoder.
func (e *Encoder) Decodes() bool { return e.decoders != nil }

// Close makes later calls return errors. Running calls end as usual.
func (e *Encoder) Close() error {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.closed = true
	return nil
}

// Encode returns the codes, [n, Width], of n images, [n, height, width, channels]. Pixels must be in [0, 1] unless
// the data set is real-valued. Encode applies the normalisation of the config's views. The codes equal those of
// unravel encode, bit for bit.
func (e *Encoder) Encode(pixels []float32, n int) ([]float32, error) {
	h, w, c := e.ImageShape()
	if err := checkBatch("pixels", pixels, n, h*w*c, fmt.Sprintf("%d x %d x %d", h, w, c)); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	codes, err := e.run(e.encoders, pixels, n, h*w*c, e.width, func(in []float32) {
		if e.views != nil {
			e.views.Plain(in, h, w, c)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return codes, nil
}

// Decode returns the images, [n, height, width, channels], of n codes, [n, Width]. Their pixels are in [0, 1] unless the data
// set is real-valued.
func (e *Encoder) Decode(codes []float32, n int) ([]float32, error) {
	if e.decoders == nil {
		return nil, errors.New("decode: the model has no decoder; want a run of a model with one, such as vae or ae")
	}
	if err := checkBatch("codes", codes, n, e.width, fmt.Sprint(e.width)); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	h, w, c := e.ImageShape()
	images, err := e.run(e.decoders, codes, n, e.width, h*w*c, func([]float32) {})
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	if !e.data.Real {
		kernel.Sigmoid(images, images)
	}
	return images, nil
}

// checkBatch returns an error for an array without n rows of a size, or with a number that is not finite.
func checkBatch(what string, values []float32, n, size int, shape string) error {
	switch {
	case n < 0 || n > math.MaxInt/size:
		return fmt.Errorf("%d %s for n = %d; want n x %s, n at least 0", len(values), what, n, shape)
	case len(values) != n*size:
		return fmt.Errorf("%d %s for n = %d; want n x %s = %d", len(values), what, n, shape, n*size)
	}
	for i, v := range values {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("%s: element %d of row %d is %v; want finite numbers", what, i%size, i/size, v)
		}
	}
	return nil
}

// run splits n rows over the programs.
func (e *Encoder) run(pools []*pool, values []float32, n, from, to int, prepare func(in []float32)) ([]float32, error) {
	out := make([]float32, 0, n*to)
	for at := 0; at < n; {
		p := poolFor(pools, n-at)
		count := min(p.images, n-at)
		h, err := e.take(p)
		if err != nil {
			return nil, err
		}
		out, err = h.run(out, count*to, func(in []float32) {
			copy(in, values[at*from:(at+count)*from])
			prepare(in[:count*from])
		})
		p.free <- h
		if err != nil {
			return nil, err
		}
		at += count
	}
	return out, nil
}

// poolFor chooses the batch size for the next rows.
func poolFor(pools []*pool, rows int) *pool {
	for _, p := range pools {
		if rows >= p.least {
			return p
		}
	}
	return pools[len(pools)-1]
}

// take waits for a program, or compiles another one.
func (e *Encoder) take(p *pool) (*half, error) {
	e.lock.Lock()
	if e.closed {
		e.lock.Unlock()
		return nil, errors.New("the encoder is closed")
	}
	select {
	case h := <-p.free:
		e.lock.Unlock()
		return h, nil
	default:
	}
	if p.left == 0 {
		e.lock.Unlock()
		return <-p.free, nil
	}
	defer e.lock.Unlock()
	h, err := p.compile(p.images)
	if err == nil {
		p.left--
	}
	return h, err
}
