package dependence

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Active is losses.ActiveCodes with the number of the factor's column. A column with several rules is active where all
// of them hold.
type Active struct {
	Columns []int
	Factor  int   // a column of labels
	Levels  []int // levels where the columns are active
}

// Mask returns the mask [rows, width] of active columns, 1 or 0, from the levels of factors [rows, K]. A negative
// level is unknown and satisfies no rule. It has no gradient.
func Mask(labels *gorgonia.Node, width int, rules []Active) (*gorgonia.Node, error) {
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
					return nil, graph.Wanted(fmt.Sprintf("a column of labels below %d", factors), r.Factor)
				}
				for _, c := range r.Columns {
					if c < 0 || c >= width {
						return nil, graph.Wanted(fmt.Sprintf("columns of codes below %d", width), c)
					}
				}
			}
			return tensor.Shape{rows, width}, nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return activeMask[float32]{width, in[0][1], rules} },
			func(in []tensor.Shape) graph.Body[float64] { return activeMask[float64]{width, in[0][1], rules} }),
		Diff: []bool{false},
	}, labels)
}

type activeMask[T graph.Float] struct {
	width, factors int
	rules          []Active
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
