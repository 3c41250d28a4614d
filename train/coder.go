package train

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
)

// encodeBatch is the number of images to encode or decode at a time. A batch has fewer images if they would take more
// than encodeBytes or a sixteenth of the memory.
const (
	encodeBatch = 128
	encodeBytes = 1 << 30
)

// Coder runs a trained model's encoder and decoder. Goroutines may share it unless one trains the model. They take
// turns, batch by batch.
type Coder struct {
	data             models.Data
	views            *augment.Views // views with the normalisation of images; nil: none
	width            int
	encoder, decoder *half // decoder is nil if the model has none
}

// half is the graph of an encoder or a decoder.
type half struct {
	images  int
	busy    sync.Mutex // the machine and the input serve one batch at a time
	machine *machine.Machine
	in      []float32
	out     *gorgonia.Node
	params  *nn.Params
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
	if c.encoder, err = newEncoder(m, data, encodeBatch); err != nil {
		return nil, err
	}
	if _, ok := m.(models.Decoder); ok {
		c.decoder, err = newDecoder(m, c.width, encodeBatch)
	}
	return c, err
}

// UseDevice runs the encoder and the decoder on a device from now on. The parameters are copied there once, and must not
// change any more. The device stays open until the process ends.
func (c *Coder) UseDevice(name engine.Device) error {
	d, err := name.Open()
	if err != nil || d == nil {
		return err
	}
	for _, h := range []*half{c.encoder, c.decoder} {
		if h == nil {
			continue
		}
		for _, p := range h.params.Names() {
			if x := h.params.Get(p).Float32s(); len(x) > 0 {
				if _, err := d.Hold(x); err != nil {
					return err
				}
			}
		}
		if err := h.machine.SetDevice(d); err != nil {
			return err
		}
	}
	return nil
}

// bytes returns the memory of the coder's networks.
func (c *Coder) bytes() float64 {
	bytes := c.encoder.machine.Bytes()
	if c.decoder != nil {
		bytes += c.decoder.machine.Bytes()
	}
	return bytes
}

// newEncoder compiles a model's encoder for n images, or for as many as fit.
func newEncoder(m models.Model, data models.Data, n int) (*half, error) {
	return newHalf(m, "encoder", n, func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error) {
		if in, err = g.Input("images", n, data.Height, data.Width, data.Channels); err == nil {
			out, err = m.Encode(g, in)
		}
		return in, out, err
	})
}

// newDecoder compiles a model's decoder, if any, for n codes, or for as many as fit.
func newDecoder(m models.Model, width, n int) (*half, error) {
	return newHalf(m, "decoder", n, func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error) {
		if in, err = g.Input("codes", n, width); err == nil {
			out, err = m.(models.Decoder).Decode(g, in)
		}
		return in, out, err
	})
}

func newHalf(m models.Model, name string, n int, build func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error)) (*half, error) {
	in, out, err := build(nn.NewGraph(m.Params()), n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	machine, err := machine.New(out.Graph(), out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fewer := int(min(encodeBytes, memory.Machine()/16) / machine.Bytes() * float64(n)); fewer < n && n > 1 {
		return newHalf(m, name, max(1, fewer), build)
	}
	return &half{images: n, machine: machine, in: nn.Data(in), out: out, params: m.Params()}, nil
}

// run computes one batch: fill writes the input, and run appends the first n numbers of the result.
func (h *half) run(to []float32, n int, fill func(in []float32)) ([]float32, error) {
	h.busy.Lock()
	defer h.busy.Unlock()
	fill(h.in)
	if err := h.machine.RunAll(); err != nil {
		return nil, err
	}
	return append(to, h.machine.Value(h.out).Data().([]float32)[:n]...), nil
}

// Width returns the number of columns of a code.
func (c *Coder) Width() int { return c.width }

// Encode returns the codes of images of a data set, [len(indices), Width()].
func (c *Coder) Encode(ctx context.Context, d datasets.Dataset, indices []int) ([]float32, error) {
	return c.encode(ctx, d, indices, func(int) {})
}

// encode is Encode; before every batch it calls watch with the number of encoded images.
func (c *Coder) encode(ctx context.Context, d datasets.Dataset, indices []int, watch func(done int)) ([]float32, error) {
	codes, batch := make([]float32, 0, len(indices)*c.width), c.encoder.images
	for from := 0; from < len(indices); from += batch {
		if ctx.Err() != nil {
			return nil, ErrStopped
		}
		watch(from)
		part := indices[from:min(from+batch, len(indices))]
		var err error
		codes, err = c.encoder.run(codes, len(part)*c.width, func(in []float32) {
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

// Decodes reports whether the model has a decoder.
func (c *Coder) Decodes() bool { return c.decoder != nil }

// Decode returns the images of codes, [n, H, W, C], with pixels in [0, 1] unless the data
// set is real-valued.
func (c *Coder) Decode(codes []float32) ([]float32, error) {
	size := c.data.Height * c.data.Width * c.data.Channels
	n := len(codes) / c.width
	images := make([]float32, 0, n*size)
	for from := 0; from < n; from += c.decoder.images {
		count := min(c.decoder.images, n-from)
		var err error
		images, err = c.decoder.run(images, count*size, func(in []float32) { copy(in, codes[from*c.width:]) })
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
	}
	if !c.data.Real {
		kernel.Sigmoid(images, images)
	}
	return images, nil
}

// all lists the indices of a data set.
func all(d datasets.Dataset) []int {
	list := make([]int, d.Len())
	for i := range list {
		list[i] = i
	}
	return list
}

// loadParams sets a model's parameters from a checkpoint with the same parameters.
func loadParams(m models.Model, f *safetensors.File) error {
	params := m.Params()
	count := 0
	for _, x := range f.Tensors {
		if strings.HasPrefix(x.Name, modelTensors) {
			count++
		}
	}
	if want := len(params.Names()); count != want {
		return fmt.Errorf("it has %d parameters, want %d", count, want)
	}
	for _, name := range params.Names() {
		p := params.Get(name)
		v, err := f.Float32s(modelTensors+name, p.Shape()...)
		if err != nil {
			return err
		}
		copy(p.Float32s(), v)
	}
	return nil
}
