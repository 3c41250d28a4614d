// Package program compiles a model's encoder and decoder, and runs them batch by batch.
package program

import (
	"fmt"
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/models"
)

// Batch is the number of images that are encoded or decoded at a time. It is smaller if a batch would need more than
// maxBytes or a sixteenth of the memory.
const (
	Batch    = 128
	maxBytes = 1 << 30
)

// Program is the compiled graph of an encoder or a decoder. Several goroutines may use it; it runs one batch at a time.
type Program struct {
	Images  int // number of images of a batch
	In      []float32
	machine *machine.Machine
	out     *gorgonia.Node
	params  *nn.Params
	busy    sync.Mutex // only one batch at a time may use the machine and the input
}

// Encoder compiles a model's encoder for n images, or for fewer if n do not fit in memory.
func Encoder(m models.Model, data models.Data, n int) (*Program, error) {
	return compile(m, "encoder", n, func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error) {
		if in, err = g.Input("images", n, data.Height, data.Width, data.Channels); err == nil {
			out, err = m.Encode(g, in)
		}
		return in, out, err
	})
}

// Decoder compiles a model's decoder for n codes, or for fewer if n do not fit in memory.
func Decoder(m models.Model, width, n int) (*Program, error) {
	return compile(m, "decoder", n, func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error) {
		if in, err = g.Input("codes", n, width); err == nil {
			out, err = m.(models.Decoder).Decode(g, in)
		}
		return in, out, err
	})
}

func compile(m models.Model, name string, n int,
	build func(g *nn.Graph, n int) (in, out *gorgonia.Node, err error)) (*Program, error) {
	in, out, err := build(nn.NewGraph(m.Params()), n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	machine, err := machine.New(out.Graph(), out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fewer := int(min(maxBytes, memory.Machine()/16) / machine.Bytes() * float64(n)); fewer < n && n > 1 {
		return compile(m, name, max(1, fewer), build)
	}
	return &Program{Images: n, In: nn.Data(in), machine: machine, out: out, params: m.Params()}, nil
}

// Run computes one batch: fill writes the input, and Run appends the first n numbers of the result.
func (p *Program) Run(to []float32, n int, fill func(in []float32)) ([]float32, error) {
	p.busy.Lock()
	defer p.busy.Unlock()
	fill(p.In)
	if err := p.machine.RunAll(); err != nil {
		return nil, err
	}
	return append(to, p.machine.Value(p.out).Data().([]float32)[:n]...), nil
}

// Bytes returns the memory of the program, or 0 for nil.
func (p *Program) Bytes() float64 {
	if p == nil {
		return 0
	}
	return p.machine.Bytes()
}

// Use runs the program, if any, on a device from now on, with a copy of the parameters there.
func (p *Program) Use(d *machine.Device) error {
	if p == nil {
		return nil
	}
	for _, name := range p.params.Names() {
		if x := p.params.Get(name).Float32s(); len(x) > 0 {
			if _, err := d.Hold(x); err != nil {
				return err
			}
		}
	}
	return p.machine.SetDevice(d)
}
