package graph_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

// similarities is a kernel matrix by its definition.
func similarities(k graph.Kernel, x []float64, rows []int, width int) [][]float64 {
	square := func(r, s int) float64 {
		sum := 0.0
		for c := range width {
			if len(k.Columns) > 0 && !slices.Contains(k.Columns, c) {
				continue
			}
			a, b := x[r*width+c], x[s*width+c]
			if k.Kind == graph.CircularKernel { // the chord of a circle of the circumference 1
				d := math.Sin(math.Pi*(a-b)) / math.Pi
				sum += d * d
			} else {
				sum += (a - b) * (a - b)
			}
		}
		return sum
	}
	s := k.Bandwidth
	if s == 0 {
		var all []float64
		n := len(rows)
		for i := range n {
			for j := i + 1; j < n && n <= 362; j++ {
				all = append(all, math.Sqrt(square(rows[i], rows[j])))
			}
			for j := i + 1; j <= i+65536/n && n > 362; j++ {
				all = append(all, math.Sqrt(square(rows[i], rows[j%n])))
			}
		}
		slices.Sort(all)
		if s = all[(len(all)-1)/2]; s == 0 {
			s = 1
		}
	}
	matrix := make([][]float64, len(rows))
	for i, r := range rows {
		for _, t := range rows {
			d := square(r, t)
			v := math.Exp(-d / (2 * s * s))
			if k.Kind == graph.EqualKernel {
				v = 0
				if d == 0 {
					v = 1
				}
			}
			matrix[i] = append(matrix[i], v)
		}
	}
	return matrix
}

// hsicOf is 1/n^2 trace(K H L H) by its definition.
func hsicOf(kx, ky graph.Kernel, x, y, groups []float64, width, other int) float64 {
	var rows []int
	for r := range len(x) / width {
		if groups == nil || groups[r] >= 0 {
			rows = append(rows, r)
		}
	}
	n := len(rows)
	if n < 2 {
		return 0
	}
	a, b, sum := centred(similarities(kx, x, rows, width)), similarities(ky, y, rows, other), 0.0
	for i := range a {
		for j := range a {
			sum += a[i][j] * b[j][i]
		}
	}
	return sum / float64(n*n)
}

// centred is H K H.
func centred(m [][]float64) [][]float64 {
	n := float64(len(m))
	sums, total := make([]float64, len(m)), 0.0
	for i := range m {
		for _, v := range m[i] {
			sums[i] += v
		}
		total += sums[i]
	}
	for i := range m {
		for j := range m[i] {
			m[i][j] += total/(n*n) - sums[i]/n - sums[j]/n
		}
	}
	return m
}

func TestHSIC(t *testing.T) {
	hsic := func(name string, kx, ky graph.Kernel, x, y gradcheck.Input, groups []float64) gradcheck.Case {
		x.Constant, y.Constant = kx.Kind != graph.GaussianKernel, ky.Kind != graph.GaussianKernel
		c := gradcheck.Case{Name: name, Inputs: []gradcheck.Input{x, y},
			Build: func(in nodes) (*gorgonia.Node, error) {
				if groups != nil {
					return graph.HSIC(in[0], in[1], in[2], kx, ky)
				}
				return graph.HSIC(in[0], in[1], nil, kx, ky)
			},
			Want: func(in [][]float64) []float64 {
				var g []float64
				if groups != nil {
					g = in[2]
				}
				return []float64{hsicOf(kx, ky, in[0], in[1], g, x.Shape[1], y.Shape[1])}
			},
			Tolerance32: 1e-4, Floor32: 1e-3, Samples: 16}
		if groups != nil {
			c.Inputs = append(c.Inputs, gradcheck.Input{Shape: []int{x.Shape[0]}, Values: groups, Constant: true})
		}
		return c
	}
	gauss, equal := graph.Kernel{Bandwidth: 0.8}, graph.Kernel{Kind: graph.EqualKernel}
	median, circle := graph.Kernel{}, graph.Kernel{Kind: graph.CircularKernel}
	levels := gradcheck.Input{Values: []float64{0, 1, 2, 1, 0, 3}}
	shaped := func(in gradcheck.Input, shape ...int) gradcheck.Input {
		in.Shape = shape
		return in
	}
	unknown := []float64{0, 1, -1, 2, 0, -1, 3}
	check(t, []gradcheck.Case{
		hsic("given bandwidths", gauss, graph.Kernel{Bandwidth: 2}, in(6, 2), in(6, 3), nil),
		hsic("median bandwidths", median, median, in(7, 2), in(7, 3), nil),
		hsic("many rows", median, gauss, in(150, 3), in(150, 1), nil),
		hsic("pairs for the median", median, gauss, in(400, 2), in(400, 1), nil),
		hsic("some columns", graph.Kernel{Columns: []int{2, 0}}, graph.Kernel{Columns: []int{1}, Bandwidth: 1}, in(9, 3), in(9, 2), nil),
		hsic("categories", median, equal, in(12, 2), shaped(levels, 12, 1), nil),
		hsic("turns", median, circle, in(12, 2), gradcheck.Input{Shape: []int{12, 1}, Lo: 0, Hi: 1}, nil),
		hsic("turns of a given bandwidth", circle, gauss, gradcheck.Input{Shape: []int{70, 2}, Lo: 0, Hi: 1}, in(70, 1), nil),
		hsic("known rows", median, gauss, in(14, 2), in(14, 1), unknown),
		hsic("known rows of many", median, median, in(140, 2), in(140, 1), unknown),
		hsic("no known row", median, gauss, in(4, 2), in(4, 1), []float64{-1}),
		hsic("one known row", median, gauss, in(4, 2), in(4, 1), []float64{-1, -1, 2, -1}),
		hsic("one row", median, gauss, in(1, 2), in(1, 1), nil),
		hsic("two rows", gauss, gauss, in(2, 2), in(2, 1), nil),
		hsic("constant codes", gauss, gauss, gradcheck.Input{Shape: []int{6, 2}, Values: []float64{0.5}}, in(6, 1), nil),
		hsic("repeated rows", graph.Kernel{Bandwidth: 0.5}, gauss, gradcheck.Input{Shape: []int{9, 1}, Values: []float64{0, 1, 1}}, in(9, 1), nil),
	})
}

// Constant codes have no median distance: their gradient is finite, and 0.
func TestHSICConstant(t *testing.T) {
	value, slopes := runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return graph.HSIC(in[0], in[1], nil, graph.Kernel{}, graph.Kernel{})
	}, [][]float64{{2, 2, 2, 2}, {0, 1, 2, 4}}, []int{4, 1}, []int{4, 1})
	if !(math.Abs(value) <= 1e-15) || slices.ContainsFunc(slopes, func(v float64) bool { return v != 0 }) {
		t.Errorf("value %v, gradient %v, want 0", value, slopes)
	}
	x, y := []float64{0, 0, 0, 0, 3}, []float64{0, 1, 2, 4, 4} // most points are one
	value, slopes = runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return graph.HSIC(in[0], in[1], nil, graph.Kernel{}, graph.Kernel{})
	}, [][]float64{x, y}, []int{5, 1}, []int{5, 1})
	if want := hsicOf(graph.Kernel{Bandwidth: 1}, graph.Kernel{}, x, y, nil, 1, 1); !(math.Abs(value-want) <= 1e-12) || slices.ContainsFunc(slopes, math.IsNaN) {
		t.Errorf("value %v, gradient %v, want %v", value, slopes, want)
	}
}

func TestHSICErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(fmt.Sprint(shape)))
	}
	for _, c := range []struct {
		x, y, groups *gorgonia.Node
		k            graph.Kernel
		want         string
	}{
		{node(4), node(4, 1), nil, graph.Kernel{}, "x of shape"},
		{node(4, 1), node(3, 1), nil, graph.Kernel{}, "as many rows"},
		{node(4, 1), node(4, 1), node(3), graph.Kernel{}, "one of each row"},
		{node(4, 1), node(4, 2), nil, graph.Kernel{Columns: []int{1}}, "different columns from 0 to 0"},
		{node(4, 1), node(4, 1), nil, graph.Kernel{Bandwidth: -1}, "bandwidth"},
		{node(4, 1), node(4, 1), nil, graph.Kernel{Kind: 7}, "known kernel"},
	} {
		if _, err := graph.HSIC(c.x, c.y, c.groups, c.k, graph.Kernel{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}

func BenchmarkHSIC(b *testing.B) {
	benchmarkLoss(b, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
		return graph.HSIC(z, y, nil, graph.Kernel{}, graph.Kernel{})
	})
}
