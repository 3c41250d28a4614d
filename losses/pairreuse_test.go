package losses

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
)

// run computes a body's value and gradients for the cotangent 1.
func runBody[T graph.Float](b graph.Body[T], in [][]T, diff int) [][]T {
	out := [][]T{make([]T, 1)}
	b.Forward(in, out[0])
	din := make([][]T, len(in))
	for i := range diff {
		din[i] = make([]T, len(in[i]))
		for j := range din[i] {
			din[i][j] = T(math.NaN()) // every element must be written
		}
	}
	b.Backward(in, out[0], []T{1}, din)
	return append(out, din[:diff]...)
}

// An operation that meets other labels, masks or values in its next run gives the same values as a new operation.
func TestPairsReused(t *testing.T) {
	const n, d = 70, 3
	values := func(seed int, scale float32) []float32 {
		x := draws[float32](n*d + seed)[seed:]
		for i := range x {
			x[i] *= scale
		}
		return x
	}
	groups := func(every int) []float32 { // negative, but for every k-th number
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
	shapes := []tensor.Shape{{n, d}, {n, d}, {n, d}}
	contraction := func(s ContractionSettings) func() graph.Body[float32] {
		return func() graph.Body[float32] { return newContraction[float32](s, shapes[0], shapes[1]) }
	}
	var labels, masks, similar [][][]float32
	for i, every := range []int{1, 2, 0, 3, 69, 1} {
		x, y := values(1+i, 0.3), values(20+i, 1)
		labels = append(labels, [][]float32{x, y, groups(every)})
		masks = append(masks, [][]float32{x, y, values(40+i, 0.5), mask(1 + every%5)})
		known := make([]float32, n)
		for r := range known {
			known[r] = groups(every)[r*d]
		}
		if i == 3 {
			x = make([]float32, n*d) // constant: there is no median distance
		}
		similar = append(similar, [][]float32{x, y, known})
	}
	for _, c := range []struct {
		name   string
		build  func() graph.Body[float32]
		inputs [][][]float32
		diff   int
	}{
		{"contraction", contraction(ContractionSettings{}), labels, 1},
		{"max contraction", contraction(ContractionSettings{Aggregate: factor.Max}), labels, 1},
		{"sampled contraction", contraction(ContractionSettings{Pairs: 2}), labels, 1},
		{"tc", func() graph.Body[float32] { return newTC[float32](shapes[0], TCStratified, 100) }, masks, 3},
		{"hsic", func() graph.Body[float32] { return newHSIC[float32](shapes, Kernel{}, Kernel{}) }, similar, 2},
		{"dip", func() graph.Body[float32] { return newDIP[float32](shapes[0], 1, 2) }, [][][]float32{labels[0][:2], labels[1][:2]}, 2},
	} {
		reused := c.build()
		for i, in := range c.inputs {
			got, want := runBody(reused, in, c.diff), runBody(c.build(), in, c.diff)
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

// Sharp posteriors at 0 have densities that overflow where no points lie.
func TestSharpPosteriors(t *testing.T) {
	const n, d = 5, 4
	z, variance := make([]float32, n*d), make([]float32, n*d)
	for i := range variance {
		variance[i] = -60
	}
	for k, x := range runBody[float32](newTC[float32](tensor.Shape{n, d}, TCMinibatch, 0), [][]float32{z, z, variance}, 3) {
		for j, v := range x {
			if v != v || math.IsInf(float64(v), 0) || k == 1 && v != 0 {
				t.Errorf("element %d of tensor %d (value, gradients) is %v", j, k, v)
			}
		}
	}
}

// The pair of the median of an earlier run has no part in a run without a median.
func TestMedianReused(t *testing.T) {
	shapes, y := []tensor.Shape{{4, 1}, {4, 1}}, []float64{0, 1, 2, 5}
	build := func() graph.Body[float64] { return newHSIC[float64](shapes, Kernel{}, Kernel{}) }
	reused, in := build(), [][]float64{{0, 0, 0, 7}, y}
	runBody(reused, [][]float64{{0, 20, 30, 5}, y}, 1) // the median is that of rows 1 and 3
	got, want := runBody(reused, in, 1), runBody(build(), in, 1)
	for i, w := range want[1] {
		if got[1][i] != w {
			t.Errorf("gradient %v, of a new operation %v", got[1], want[1])
			break
		}
	}
}
