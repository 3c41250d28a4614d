package likelihood

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Assignment adds the node that losses.Assignment documents.
func Assignment(weights, labels *gorgonia.Node, sizes, columns []int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "assignment error",
		Key:  graph.Key(sizes, columns),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			rows, k, err := graph.Matrix("weights", in[0])
			if err != nil {
				return nil, err
			}
			others, l, err := graph.Matrix("labels", in[1])
			switch total := sumOf(sizes); {
			case err != nil:
				return nil, err
			case others != rows:
				return nil, graph.Wanted(fmt.Sprintf("%d rows of labels", rows), in[1])
			case total != k || len(columns) != len(sizes):
				return nil, graph.Wanted(fmt.Sprintf("blocks of %d columns of weights, with one column of labels each", k), [2][]int{sizes, columns})
			}
			for _, c := range columns {
				if c < 0 || c >= l {
					return nil, graph.Wanted(fmt.Sprintf("columns of labels below %d", l), c)
				}
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] {
				return assignmentError[float32]{sizes, columns, in[0][0], in[1][1]}
			},
			func(in []tensor.Shape) graph.Body[float64] {
				return assignmentError[float64]{sizes, columns, in[0][0], in[1][1]}
			}),
		Diff: []bool{true, false},
	}, weights, labels)
}

type assignmentError[T graph.Float] struct {
	sizes, columns []int
	rows, labels   int
}

// each calls visit for every weight with its target, 0 or 1. It skips unknown labels.
func (f assignmentError[T]) each(in [][]T, visit func(at int, should T)) {
	at := 0
	for row := range f.rows {
		for b, n := range f.sizes {
			label := in[1][row*f.labels+f.columns[b]]
			for j := range n {
				if label >= 0 {
					should := T(0)
					if int(label) == 1+j {
						should = 1
					}
					visit(at, should)
				}
				at++
			}
		}
	}
}

func (f assignmentError[T]) Forward(in [][]T, out []T) {
	var sum float64
	f.each(in, func(at int, should T) {
		d := float64(should - in[0][at])
		sum += d * d
	})
	out[0] = T(sum / float64(f.rows))
}

func (f assignmentError[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	clear(din[0])
	scale := 2 * dout[0] / T(f.rows)
	f.each(in, func(at int, should T) { din[0][at] = scale * (in[0][at] - should) })
}

func sumOf(sizes []int) (total int) {
	for _, n := range sizes {
		total += n
	}
	return total
}
