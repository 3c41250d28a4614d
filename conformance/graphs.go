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
)

// pull returns the mean over all elements of (x - r)^2/2, for random numbers r seeded by a name. The scalar has a
// gradient in every element of a node.
func pull(x *gorgonia.Node, name string) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "pull", Key: name,
		Shape: func([]tensor.Shape) (tensor.Shape, error) { return tensor.ScalarShape(), nil },
		New: func(in []tensor.Shape, _ tensor.Shape, _ tensor.Dtype) (graph.Func, error) {
			return newPuller(in[0].TotalSize(), name), nil
		},
	}, x)
}

// pullOf computes the value of pull without a graph.
func pullOf(values []float64, name string) float64 {
	out := graph.Array{F64: make([]float64, 1)}
	newPuller(len(values), name).Forward([]graph.Array{{F64: values}}, out)
	return out.F64[0]
}

func newPuller(n int, name string) puller {
	p := make(puller, n)
	r := rng.New(seed, name)
	for i := range p {
		p[i] = r.NormFloat64()
	}
	return p
}

// puller is the operation of pull, with the targets of the elements.
type puller []float64

func (p puller) Forward(in []graph.Array, out graph.Array) error {
	var sum float64
	for i, r := range p {
		d := element(in[0], i) - r
		sum += d * d / 2
	}
	set(out, 0, sum/float64(len(p)))
	return nil
}

func (p puller) Backward(in []graph.Array, _, dout graph.Array, din []graph.Array, want []bool) error {
	if !want[0] {
		return nil
	}
	for i, r := range p {
		set(din[0], i, element(dout, 0)*(element(in[0], i)-r)/float64(len(p)))
	}
	return nil
}

func element(a graph.Array, i int) float64 {
	if a.F32 != nil {
		return float64(a.F32[i])
	}
	return a.F64[i]
}

func set(a graph.Array, i int, v float64) {
	if a.F32 != nil {
		a.F32[i] = float32(v)
	} else {
		a.F64[i] = v
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
	all := make([][]float64, len(nodes))
	for i, n := range nodes {
		if all[i], err = elements(m.Value(n)); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name(), err)
		}
	}
	return all, nil
}

// results computes nodes, and returns copies of their elements. It ends the check if that fails.
func (f *findings) results(what string, nodes ...*gorgonia.Node) [][]float64 {
	values, err := run(nodes...)
	f.must(err, "%s", what)
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
			return wide(v.Float32s()), nil
		}
	}
	return nil, fmt.Errorf("its value is %T; want numbers", v)
}

// notFinite returns the index of the first non-finite number, or -1.
func notFinite(list []float64) int {
	return slices.IndexFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// farApart returns the index of the first pair of numbers that differ by more than a tolerance, relative to the
// largest number, or -1.
func farApart(a, b []float64, tolerance float64) int {
	most := 1.0
	for _, v := range b {
		most = max(most, math.Abs(v))
	}
	for i, v := range a {
		if !(math.Abs(v-b[i]) <= tolerance*most) {
			return i
		}
	}
	return -1
}
