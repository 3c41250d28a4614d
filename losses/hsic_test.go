package losses_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// similarities computes a kernel matrix by definition.
func similarities(k losses.Kernel, x []float64, rows []int, width int) [][]float64 {
	square := func(r, s int) float64 {
		sum := 0.0
		for c := range width {
			if len(k.Columns) > 0 && !slices.Contains(k.Columns, c) {
				continue
			}
			a, b := x[r*width+c], x[s*width+c]
			if k.Kind == losses.CircularKernel { // chord of a circle of circumference 1
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
			if k.Kind == losses.EqualKernel {
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

// hsicOf computes 1/n^2 trace(K H L H) by definition.
func hsicOf(kx, ky losses.Kernel, x, y, groups []float64, width, other int) float64 {
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

// centred returns H K H.
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
	long.NotShort(t)
	hsic := func(name string, kx, ky losses.Kernel, x, y gradcheck.Input, groups []float64) gradcheck.Case {
		x.Constant, y.Constant = kx.Kind != losses.GaussianKernel, ky.Kind != losses.GaussianKernel
		c := gradcheck.Case{Name: name, Inputs: []gradcheck.Input{x, y},
			Build: func(in nodes) (*gorgonia.Node, error) {
				if groups != nil {
					return losses.HSIC(in[0], in[1], in[2], kx, ky)
				}
				return losses.HSIC(in[0], in[1], nil, kx, ky)
			},
			Want: func(in [][]float64) []float64 {
				var g []float64
				if groups != nil {
					g = in[2]
				}
				return []float64{hsicOf(kx, ky, in[0], in[1], g, x.Shape[1], y.Shape[1])}
			},
			Tolerance32: 1e-4, Floor32: 1e-3, Samples: 16}
		if x.Shape[0] > 100 && !long.Enabled() {
			c.Samples = 3
		}
		if x.Hi > 0 {
			c.Step = 1e-6 * min(x.Hi, 1)
		}
		if groups != nil {
			c.Inputs = append(c.Inputs, gradcheck.Input{Shape: []int{x.Shape[0]}, Values: groups, Constant: true})
		}
		return c
	}
	gauss, equal := losses.Kernel{Bandwidth: 0.8}, losses.Kernel{Kind: losses.EqualKernel}
	median, circle := losses.Kernel{}, losses.Kernel{Kind: losses.CircularKernel}
	levels := gradcheck.Input{Values: []float64{0, 1, 2, 1, 0, 3}}
	shaped := func(in gradcheck.Input, shape ...int) gradcheck.Input {
		in.Shape = shape
		return in
	}
	unknown := []float64{0, 1, -1, 2, 0, -1, 3}
	cases := []gradcheck.Case{
		hsic("given bandwidths", gauss, losses.Kernel{Bandwidth: 2}, gradcheck.In(6, 2), gradcheck.In(6, 3), nil),
		hsic("median bandwidths", median, median, gradcheck.In(7, 2), gradcheck.In(7, 3), nil),
		hsic("many rows", median, gauss, gradcheck.In(150, 3), gradcheck.In(150, 1), nil),
		hsic("pairs for the median", median, gauss, gradcheck.In(400, 2), gradcheck.In(400, 1), nil),
		hsic("some columns", losses.Kernel{Columns: []int{2, 0}}, losses.Kernel{Columns: []int{1}, Bandwidth: 1},
			gradcheck.In(9, 3), gradcheck.In(9, 2), nil),
		hsic("categories", median, equal, gradcheck.In(12, 2), shaped(levels, 12, 1), nil),
		hsic("turns", median, circle, gradcheck.In(12, 2), gradcheck.Input{Shape: []int{12, 1}, Lo: 0, Hi: 1}, nil),
		hsic("turns of a given bandwidth", circle, gauss, gradcheck.Input{Shape: []int{70, 2}, Lo: 0, Hi: 1}, gradcheck.In(70, 1), nil),
		hsic("known rows", median, gauss, gradcheck.In(14, 2), gradcheck.In(14, 1), unknown),
		hsic("known rows of many", median, median, gradcheck.In(140, 2), gradcheck.In(140, 1), unknown),
		hsic("no known row", median, gauss, gradcheck.In(4, 2), gradcheck.In(4, 1), []float64{-1}),
		hsic("one known row", median, gauss, gradcheck.In(4, 2), gradcheck.In(4, 1), []float64{-1, -1, 2, -1}),
		hsic("one row", median, gauss, gradcheck.In(1, 2), gradcheck.In(1, 1), nil),
		hsic("two rows", gauss, gauss, gradcheck.In(2, 2), gradcheck.In(2, 1), nil),
		hsic("constant codes", gauss, gauss, gradcheck.Input{Shape: []int{6, 2}, Values: []float64{0.5}}, gradcheck.In(6, 1), nil),
		hsic("repeated rows", losses.Kernel{Bandwidth: 0.5}, gauss,
			gradcheck.Input{Shape: []int{9, 1}, Values: []float64{0, 1, 1}}, gradcheck.In(9, 1), nil),
	}
	if gpu, err := vulkan.Open(0); err == nil {
		gpu.Close() // its kernels do not scale codes whose squares leave float32
	} else {
		cases = append(cases,
			hsic("median bandwidths of tiny codes", median, median, gradcheck.Input{Shape: []int{7, 2}, Lo: -1e-21, Hi: 1e-21},
				gradcheck.In(7, 3), nil),
			hsic("median bandwidths of huge codes", median, median, gradcheck.Input{Shape: []int{7, 2}, Lo: -1e20, Hi: 1e20},
				gradcheck.In(7, 3), nil))
	}
	gradcheck.CheckAll(t, cases)
}

// Constant codes have no median distance. Their gradient is 0.
func TestHSICConstant(t *testing.T) {
	value, slopes := runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return losses.HSIC(in[0], in[1], nil, losses.Kernel{}, losses.Kernel{})
	}, [][]float64{{2, 2, 2, 2}, {0, 1, 2, 4}}, []int{4, 1}, []int{4, 1})
	if !(math.Abs(value) <= 1e-15) || slices.ContainsFunc(slopes, func(v float64) bool { return v != 0 }) {
		t.Errorf("value %v, gradient %v, want 0", value, slopes)
	}
	x, y := []float64{0, 0, 0, 0, 3}, []float64{0, 1, 2, 4, 4} // most points are equal
	value, slopes = runScalar(t, func(in nodes) (*gorgonia.Node, error) {
		return losses.HSIC(in[0], in[1], nil, losses.Kernel{}, losses.Kernel{})
	}, [][]float64{x, y}, []int{5, 1}, []int{5, 1})
	if want := hsicOf(losses.Kernel{Bandwidth: 1}, losses.Kernel{}, x, y, nil, 1, 1); !(math.Abs(value-want) <= 1e-12) ||
		slices.ContainsFunc(slopes, math.IsNaN) {
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
		k            losses.Kernel
		want         string
	}{
		{node(4), node(4, 1), nil, losses.Kernel{}, "x of shape"},
		{node(4, 1), gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("y")), nil, losses.Kernel{}, "y of shape"},
		{node(4, 1), node(3, 1), nil, losses.Kernel{}, "equal numbers of rows"},
		{node(4, 1), node(4, 1), node(3), losses.Kernel{}, "a number for each row"},
		{node(4, 1), node(4, 2), nil, losses.Kernel{Columns: []int{1}}, "different columns from 0 to 0"},
		{node(4, 1), node(4, 1), nil, losses.Kernel{Bandwidth: -1}, "bandwidth"},
		{node(4, 1), node(4, 1), nil, losses.Kernel{Kind: 7}, "known kernel"},
	} {
		must.ErrorOf(losses.HSIC(c.x, c.y, c.groups, c.k, losses.Kernel{}))(t, c.want)
	}
}

func BenchmarkHSIC(b *testing.B) {
	benchmarkLoss(b, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
		return losses.HSIC(z, y, nil, losses.Kernel{}, losses.Kernel{})
	})
}
