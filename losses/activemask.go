package losses

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// activity is a rule: its columns are active in a row where a factor has one of some levels. A
// column of several rules is active where all of them hold.
type activity struct {
	Columns []int
	Factor  int   // a column of labels
	Levels  []int // that it must have
}

// maskOf returns the mask [rows, width] of active columns, 1 or 0, from the levels of
// factors [rows, K]; a negative level is unknown and satisfies no rule. It has no gradient.
func maskOf(labels *gorgonia.Node, width int, rules []activity) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "active mask",
		Key:  graph.Key(width, rules),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, factors, err := graph.Matrix("labels", in[0])
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				if r.Factor < 0 || r.Factor >= factors {
					return nil, graph.Wanted(fmt.Sprintf("a factor below %d", factors), r.Factor)
				}
				for _, c := range r.Columns {
					if c < 0 || c >= width {
						return nil, graph.Wanted(fmt.Sprintf("columns below %d", width), c)
					}
				}
			}
			return tensor.Shape{rows, width}, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			if dt == tensor.Float32 {
				return graph.NewFunc[float32](activeMask[float32]{width, in[0][1], rules}), nil
			}
			return graph.NewFunc[float64](activeMask[float64]{width, in[0][1], rules}), nil
		},
		Diff: []bool{false},
	}, labels)
}

type activeMask[T graph.Float] struct {
	width, factors int
	rules          []activity
}

func (f activeMask[T]) Forward(in [][]T, out []T) {
	for i := range out {
		out[i] = 1
	}
	for row := range len(out) / f.width {
		for _, r := range f.rules {
			level := in[0][row*f.factors+r.Factor]
			if level >= 0 && slices.Contains(r.Levels, int(level)) {
				continue
			}
			for _, c := range r.Columns {
				out[row*f.width+c] = 0
			}
		}
	}
}

func (activeMask[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}
