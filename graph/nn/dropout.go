package nn

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Dropout sets elements of x to 0 with probability rate and multiplies the others by 1/(1-rate). The mask is the input
// name/mask, with new values in every step ([Graph.Masks]). Dropout leaves x unchanged
//
//   - at rate 0;
//   - in a graph that is not for training;
//   - in a graph of EMA targets ([Graph.Targets]), which use all units;
//   - in a frozen part of the network: [Graph.Frozen] is true for name.
//
// Source: Srivastava et al. 2014.
func Dropout(g *Graph, x *gorgonia.Node, name string, rate float64) (*gorgonia.Node, error) {
	switch {
	case !(rate >= 0 && rate < 1):
		return nil, inLayer(name, fmt.Errorf("rate %v; want at least 0 and less than 1", rate))
	case x == nil || x.Dims() < 1:
		return nil, inLayer(name, fmt.Errorf("input is %s; want rows or images", shapeOf(x)))
	case rate == 0 || !g.Training || g.holdsStates || g.isFrozen(name):
		g.idle = append(g.idle, idleDropout{x, name, rate})
		return x, nil
	}
	input := name + "/mask"
	for i := 2; g.nodes[input] != nil; i++ { // each further use of the network has a separate mask
		input = fmt.Sprintf("%s/mask%d", name, i)
	}
	node, err := g.Input(input, x.Shape()...)
	if err != nil {
		return nil, inLayer(name, err)
	}
	m := &Mask{Node: node, Rate: rate}
	for range parallel.Threads() {
		m.streams = append(m.streams, rng.New(0, ""))
	}
	m.item = m.fill
	g.masks = append(g.masks, m)
	y, err := layer.Dropout(x, node)
	return named(y, name, err)
}

// idleDropout is a dropout that leaves x unchanged. It adds no operation, but [Summarise] lists it.
type idleDropout struct {
	x    *gorgonia.Node
	name string
	rate float64
}

// Mask is the mask of a [Dropout], an input of the graph.
type Mask struct {
	Node *gorgonia.Node
	Rate float64 // probability of 0

	seed    uint64        // seed of the values of the current Fill
	streams []*rng.Stream // one per worker
	item    func(worker, i int)
}

// Masks lists the masks to fill before every training step of the graph.
func (g *Graph) Masks() []*Mask { return g.masks }

// maskPiece is the number of mask elements per random stream.
const maskPiece = 1 << 14

// Fill samples the mask: elements are 0 with probability Rate (rounded to a multiple of 2^-32) and 1/(1-Rate)
// otherwise. It draws one number from r as the seed of separate streams, which fill pieces of the mask in parallel.
func (m *Mask) Fill(r *rng.Stream) {
	m.seed = r.Uint64()
	parallel.ForWorkers(len(m.streams), (len(Data(m.Node))+maskPiece-1)/maskPiece, m.item)
}

func (m *Mask) fill(worker, i int) {
	values := Data(m.Node)[i*maskPiece:]
	values = values[:min(maskPiece, len(values))]
	r := m.streams[worker]
	r.Restart(m.seed, uint64(i))
	kept, threshold := float32(1/(1-m.Rate)), uint32(min(m.Rate*(1<<32), math.MaxUint32))
	choose := func(bits uint32) float32 {
		if bits < threshold {
			return 0
		}
		return kept
	}
	for j := 0; j+1 < len(values); j += 2 {
		bits := r.Uint64()
		values[j], values[j+1] = choose(uint32(bits)), choose(uint32(bits>>32))
	}
	if n := len(values); n%2 == 1 {
		values[n-1] = choose(r.Uint32())
	}
}
