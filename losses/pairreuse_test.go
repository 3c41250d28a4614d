package losses_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// draws returns scaled normal numbers.
func draws(n, seed int, scale float32) []float32 {
	r, x := rand.New(rand.NewPCG(1, uint64(seed))), make([]float32, n)
	for i := range x {
		x[i] = scale * float32(r.NormFloat64())
	}
	return x
}

// operation builds a node of inputs with the given shapes. It returns a function that sets the inputs and computes the
// value and the gradients of the first diff inputs.
func operation(t *testing.T, build func(in nodes) (*gorgonia.Node, error), diff int,
	shapes ...tensor.Shape) func(in [][]float32) [][]float32 {
	t.Helper()
	g, in, data := gorgonia.NewGraph(), make(nodes, len(shapes)), make([][]float32, len(shapes))
	for i, s := range shapes {
		data[i] = make([]float32, s.TotalSize())
		in[i] = gorgonia.NewTensor(g, tensor.Float32, s.Dims(), gorgonia.WithShape(s...), gorgonia.WithName(fmt.Sprint("input ", i)),
			gorgonia.WithValue(tensor.New(tensor.WithShape(s...), tensor.WithBacking(data[i]))))
	}
	n := must.Get(build(in))(t)
	grads := must.Get(gorgonia.Grad(n, in[:diff]...))(t)
	m := must.Get(machine.New(g, append(gorgonia.Nodes{n}, grads...)...))(t)
	return func(values [][]float32) [][]float32 {
		for i, v := range values {
			copy(data[i], v)
		}
		must.OK(t, m.RunAll())
		out := [][]float32{{m.Value(n).Data().(float32)}}
		for _, g := range grads {
			out = append(out, append([]float32(nil), m.Value(g).Data().([]float32)...))
		}
		return out
	}
}

// An operation that runs again with other labels, masks or values gives the same values as a new operation.
func TestPairsReused(t *testing.T) {
	const n, d = 70, 3
	groups := func(every int) []float32 { // negative except for every k-th number
		g := make([]float32, n*d)
		for i := range g {
			if every == 0 || i/d%every != 0 {
				g[i] = -1
			}
		}
		return g
	}
	mask := func(every int) []float32 {
		g := make([]float32, n*d)
		for i := range g {
			if i%every == 0 || i%d == 0 {
				g[i] = 1
			}
		}
		return g
	}
	matrix := tensor.Shape{n, d}
	contraction := func(s losses.ContractionSettings) func(in nodes) (*gorgonia.Node, error) {
		return func(in nodes) (*gorgonia.Node, error) { return losses.Contraction(s, in[0], in[1], in[2]) }
	}
	var labels, masks, similar [][][]float32
	for i, every := range []int{1, 2, 0, 3, 69, 1} {
		x, y := draws(n*d, 1+i, 0.3), draws(n*d, 20+i, 1)
		labels = append(labels, [][]float32{x, y, groups(every)})
		masks = append(masks, [][]float32{x, y, draws(n*d, 40+i, 0.5), mask(1 + every%5)})
		known := make([]float32, n)
		for r := range known {
			known[r] = groups(every)[r*d]
		}
		if i == 3 {
			x = make([]float32, n*d) // constant codes have no median distance
		}
		similar = append(similar, [][]float32{x, y, known})
	}
	for _, c := range []struct {
		name   string
		build  func(in nodes) (*gorgonia.Node, error)
		shapes []tensor.Shape
		inputs [][][]float32
		diff   int
	}{
		{"contraction", contraction(losses.ContractionSettings{}), []tensor.Shape{matrix, matrix, matrix}, labels, 1},
		{"max contraction", contraction(losses.ContractionSettings{Aggregate: factor.Max}), []tensor.Shape{matrix, matrix, matrix}, labels, 1},
		{"sampled contraction", contraction(losses.ContractionSettings{Pairs: 2}), []tensor.Shape{matrix, matrix, matrix}, labels, 1},
		{"tc", func(in nodes) (*gorgonia.Node, error) {
			return losses.ConditionalTotalCorrelation(in[0], in[1], in[2], in[3], losses.TCStratified, 100)
		}, []tensor.Shape{matrix, matrix, matrix, matrix}, masks, 3},
		{"hsic", func(in nodes) (*gorgonia.Node, error) {
			return losses.HSIC(in[0], in[1], in[2], losses.Kernel{}, losses.Kernel{})
		}, []tensor.Shape{matrix, matrix, {n}}, similar, 2},
		{"dip", func(in nodes) (*gorgonia.Node, error) { return losses.DIPCode(in[0], in[1], 1, 2) }, []tensor.Shape{matrix, matrix},
			[][][]float32{labels[0][:2], labels[1][:2]}, 2},
	} {
		reused := operation(t, c.build, c.diff, c.shapes...)
		for i, in := range c.inputs {
			got, want := reused(in), operation(t, c.build, c.diff, c.shapes...)(in)
			for k := range want {
				for j, w := range want[k] {
					if g := got[k][j]; g != w || g != g {
						t.Fatalf("%s, run %d: element %d of tensor %d (value, gradients) is %v, of a new operation %v", c.name, i, j, k, g, w)
					}
				}
			}
		}
	}
}

// The densities of sharp posteriors at 0 overflow far from all points.
func TestSharpPosteriors(t *testing.T) {
	const n, d = 5, 4
	matrix, z, variance := tensor.Shape{n, d}, make([]float32, n*d), make([]float32, n*d)
	for i := range variance {
		variance[i] = -60
	}
	run := operation(t, func(in nodes) (*gorgonia.Node, error) {
		return losses.TotalCorrelation(in[0], in[1], in[2], losses.TCMinibatch, 0)
	}, 3, matrix, matrix, matrix)
	for k, x := range run([][]float32{z, z, variance}) {
		for j, v := range x {
			if v != v || math.IsInf(float64(v), 0) || k == 1 && v != 0 {
				t.Errorf("element %d of tensor %d (value, gradients) is %v", j, k, v)
			}
		}
	}
}

// The median pair of an earlier run does not affect a run without a median.
func TestMedianReused(t *testing.T) {
	column, y := tensor.Shape{4, 1}, []float32{0, 1, 2, 5}
	build := func(in nodes) (*gorgonia.Node, error) {
		return losses.HSIC(in[0], in[1], nil, losses.Kernel{}, losses.Kernel{})
	}
	reused, in := operation(t, build, 1, column, column), [][]float32{{0, 0, 0, 7}, y}
	reused([][]float32{{0, 20, 30, 5}, y}) // rows 1 and 3 have the median distance
	got, want := reused(in), operation(t, build, 1, column, column)(in)
	for i, w := range want[1] {
		if got[1][i] != w {
			t.Errorf("gradient %v, of a new operation %v", got[1], want[1])
			break
		}
	}
}
