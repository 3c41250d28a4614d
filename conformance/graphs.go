package conformance

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// pull returns the mean of (x - r)^2/2 with random numbers r seeded by a name. Every element of x has a gradient.
func pull(x *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "pull", Key: name,
		Shape: func([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil },
		New:   graph.Bodies(newPuller[float32](name), newPuller[float64](name)),
	}, x)
}

// pullOf computes the value of pull without a graph.
func pullOf(values []float64, name string) float64 {
	out := []float64{0}
	newPuller[float64](name)([]tensor.Shape{{len(values)}}).Forward([][]float64{values}, out)
	return out[0]
}

// puller is the operation of pull, with the numbers r.
type puller[T graph.Float] []float64

func newPuller[T graph.Float](name string) func([]tensor.Shape) puller[T] {
	return func(in []tensor.Shape) puller[T] {
		p, r := make(puller[T], in[0].TotalSize()), rng.New(seed, name)
		for i := range p {
			p[i] = r.NormFloat64()
		}
		return p
	}
}

func (p puller[T]) Forward(in [][]T, out []T) {
	var sum float64
	for i, r := range p {
		d := float64(in[0][i]) - r
		sum += d * d / 2
	}
	out[0] = T(sum / float64(len(p)))
}

func (p puller[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i := range din[0] {
		din[0][i] = T(float64(dout[0]) * (float64(in[0][i]) - p[i]) / float64(len(p)))
	}
}

// run computes nodes, and returns copies of their elements.
func run(nodes ...*gorgonia.Node) ([][]float64, error) {
	m, err := machine.New(nodes[0].Graph(), nodes...)
	if err != nil {
		return nil, err
	}
	if err := m.RunAll(); err != nil {
		return nil, err
	}
	values := make([][]float64, len(nodes))
	for i, n := range nodes {
		if values[i], err = elements(m.Value(n)); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
	}
	return values, nil
}

// results computes nodes, and returns copies of their elements. It ends the check if that fails.
func (f *findings) results(label string, nodes ...*gorgonia.Node) [][]float64 {
	values, err := run(nodes...)
	f.must(err, "%s", label)
	return values
}

// elements copies the numbers of a value.
func elements(v gorgonia.Value) ([]float64, error) {
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float64{float64(*v)}, nil
	case *gorgonia.F64:
		return []float64{float64(*v)}, nil
	case *tensor.Dense:
		switch v.Dtype() {
		case tensor.Float64:
			return slices.Clone(v.Float64s()), nil
		case tensor.Float32:
			return numeric.Convert[float64](v.Float32s()), nil
		}
	}
	return nil, fmt.Errorf("its value is %T; want numbers", v)
}

// notFinite returns the index of the first non-finite number, or -1.
func notFinite(list []float64) int {
	return slices.IndexFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// farApart returns the index of the first pair of numbers that differ by more than a tolerance, or -1. The tolerance is
// relative to the largest number.
func farApart(a, b []float64, tolerance float64) int {
	largest := 1.0
	for _, v := range b {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range a {
		if !(math.Abs(v-b[i]) <= tolerance*largest) {
			return i
		}
	}
	return -1
}
