package graph_test

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
)

// Huber is an example of a custom operation. It returns the mean over rows of sum_j h(x_ij - y_ij). h(d) is d^2/2 up
// to |d| = delta and delta (|d| - delta/2) beyond.
func Huber(x, y *gorgonia.Node, delta float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "huber",
		Key:  graph.Key(delta),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("inputs of one shape", in)
			}
			_, _, err := graph.Matrix("x", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) huber[float32] { return huber[float32]{in[0][0], delta} },
			func(in []tensor.Shape) huber[float64] { return huber[float64]{in[0][0], delta} }),
	}, x, y)
}

type huber[T graph.Float] struct {
	rows  int
	delta float64
}

func (h huber[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, x := range in[0] {
		if d := math.Abs(float64(x - in[1][i])); d <= h.delta {
			sum += d * d / 2
		} else {
			sum += h.delta * (d - h.delta/2)
		}
	}
	out[0] = T(sum / float64(h.rows))
}

func (h huber[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, x := range in[0] {
		slope := min(max(float64(x-in[1][i]), -h.delta), h.delta) * float64(dout[0]) / float64(h.rows)
		for k, sign := range []float64{1, -1} {
			if din[k] != nil {
				din[k][i] = T(sign * slope)
			}
		}
	}
}

// A custom operation, in float32 and float64, is a [graph.Body] and a [graph.Spec]. It runs on every machine.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithShape(2, 1), gorgonia.WithName("x"),
		gorgonia.WithValue(tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{1, 5}))))
	y := gorgonia.NewMatrix(g, gorgonia.Float64, gorgonia.WithShape(2, 1), gorgonia.WithName("y"), gorgonia.WithInit(gorgonia.Zeroes()))
	loss, err := Huber(x, y, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	grads, err := gorgonia.Grad(loss, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	m := gorgonia.NewTapeMachine(g)
	defer m.Close()
	if err := m.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loss.Value(), grads[0].Value().Data())
	_, err = Huber(x, loss, 2)
	fmt.Println(err)
	// Output:
	// 4.25 [0.5 1]
	// huber: want inputs of one shape, got [(2, 1) ()]
}
