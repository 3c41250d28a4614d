package losses_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/losses"
)

// At points without a derivative, values are right, and gradients finite, the same
// in all runs, and in float32 as in float64.
func TestModularityAtKinks(t *testing.T) {
	long.NotShort(t)
	with := func(shape []int, v ...float64) gradcheck.Input { return gradcheck.Input{Shape: shape, Values: v} }
	whole := []factor.Block{{Columns: []int{0, 1}}}
	for _, c := range []modularityCase{
		{name: "constant codes", z: with([]int{6, 2}, 0.3), labels: with([]int{6}, 0, 1)},
		{name: "repeated points", z: with([]int{6, 2}, 1, 2, 1, 2, 4, 6), labels: with([]int{6}, 0)},
		{name: "a square", z: with([]int{4, 2}, 0, 0, 0, 1, 1, 0, 1, 1), labels: with([]int{4}, 0)},
		{name: "equal groups", z: with([]int{4, 2}, 0, 0, 3, 4), labels: with([]int{4}, 1, 1, 0, 0)},
		{name: "points on a line", z: with([]int{4, 2}, 0, 0, 1, 1, 2, 2, 5, 5), labels: with([]int{4}, 0)},
		{name: "single members", z: gradcheck.In(4, 2), labels: with([]int{4}, 0, 1, 2, 3)},
		{name: "nothing known", z: gradcheck.In(4, 2), labels: with([]int{4, 1}, -1)},
		{name: "far from 0", z: with([]int{4, 2}, 4096, 4096.5, 4097, 4096, 4096, 4096), labels: with([]int{4}, 0)},
		{name: "one row", z: gradcheck.In(1, 2), labels: with([]int{1}, 0)},
	} {
		c.blocks, c.kinks = whole, true
		c.check(t)
	}
}

// gradientOf returns the gradient of Modularity at z, for one factor and one block.
func gradientOf(t *testing.T, m measure, columns int, z, labels []float64) (value float64, dz []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	rows := len(z) / columns
	x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(rows, columns),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(z))))
	y := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(rows),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows), tensor.WithBacking(labels))))
	b := factor.Block{}
	for j := range columns {
		b.Columns = append(b.Columns, j)
	}
	n, err := modularityOn(m.d, m.a, m.e, []factor.Block{b}, x, y)
	if err != nil {
		t.Fatal(err)
	}
	return valueAndGradient(t, n, x)
}

func TestModularityGradientsAtKinks(t *testing.T) {
	third := 1.0 / 3
	for _, c := range []struct {
		name      string
		d         factor.Deviation
		a         factor.Aggregate
		e         losses.DeviationEstimator
		columns   int
		z, labels []float64
		want      []float64
	}{
		{"first of equal maxima", factor.Diameter, factor.Max, losses.Plain, 1, []float64{0, 2, 5, 7}, []float64{1, 1, 0, 0}, []float64{0, 0, -1, 1}},
		{"first of equal pairs", factor.Diameter, factor.Mean, losses.Plain, 1, []float64{0, 2, 0, 2}, []float64{0, 0, 0, 0}, []float64{-1, 1, 0, 0}},
		{"zero diameter", factor.Diameter, factor.Mean, losses.Plain, 1, []float64{3, 3}, []float64{0, 0}, []float64{0, 0}},
		{"zero distances", factor.MPD, factor.Mean, losses.Plain, 1, []float64{3, 3, 5}, []float64{0, 0, 0}, []float64{-1. / 9, -1. / 9, 2. / 9}},
		{"zero radius", factor.Radius, factor.Sum, losses.Plain, 2, []float64{1, 2, 1, 2}, []float64{0, 0}, []float64{0, 0, 0, 0}},
		{"ball held by a repeated point", factor.Radius, factor.Sum, losses.Plain, 1, []float64{0, 4, 4, 1}, []float64{0, 0, 0, 0}, []float64{-0.5, 0.5, 0, 0}},
		{"median held by a repeated point", factor.MAD, factor.Sum, losses.Plain, 1, []float64{0, 0, 5}, []float64{0, 0, 0}, []float64{-third / 2, -third / 2, third}},
		{"median held by a point", factor.MAD, factor.Sum, losses.Plain, 1, []float64{1, 0, 5}, []float64{0, 0, 0}, []float64{0, -third, third}},
		{"zero mean deviation", factor.MAD, factor.Mean, losses.Plain, 2, []float64{1, 2, 1, 2}, []float64{0, 0}, []float64{0, 0, 0, 0}},
		{"zero variance", factor.Variance, factor.MeanSquare, losses.Plain, 1, []float64{0.1, 0.1, 0.1}, []float64{0, 0, 0}, []float64{0, 0, 0}},
		{"mean square", factor.Variance, factor.MeanSquare, losses.Plain, 1, []float64{0, 2, 9}, []float64{0, 0, 5}, []float64{-1, 1, 0}},
		{"first of equal pairs in a group without a level", factor.Diameter, factor.Mean, losses.Plain, 1, []float64{0, 2, 0, 2}, []float64{0.5, 0.5, 0.5, 0.5}, []float64{-1, 1, 0, 0}},
		{"unbiased variance without single members", factor.Variance, factor.Mean, losses.Unbiased, 1, []float64{0, 2, 9, 5, 5, 8}, []float64{0, 0, 5, 7, 7, 7}, []float64{-1, 1, 0, -0.5, -0.5, 1}},
		{"unbiased mpd without single members", factor.MPD, factor.Mean, losses.Unbiased, 1, []float64{0, 2, 9, 5, 5, 8}, []float64{0, 0, 5, 7, 7, 7}, []float64{-0.25, 0.25, 0, -1. / 12, -1. / 12, 1. / 6}},
		{"only single members", factor.Variance, factor.Mean, losses.Unbiased, 1, []float64{0, 2, 9}, []float64{0, 1, 2}, []float64{0, 0, 0}},
		{"not a label", factor.Variance, factor.Sum, losses.Plain, 1, []float64{0, 2, 9}, []float64{0, 0, math.NaN()}, []float64{-1, 1, 0}},
	} {
		_, got := gradientOf(t, measure{c.d, c.a, c.e}, c.columns, c.z, c.labels)
		for i, w := range c.want {
			if math.Abs(got[i]-w) > 1e-15 {
				t.Errorf("%s: gradient %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// NaN in codes is not hidden.
func TestModularityOfNaN(t *testing.T) {
	for _, d := range deviations {
		for _, a := range aggregates {
			v, dz := gradientOf(t, measure{d, a, losses.Plain}, 1, []float64{1, 2, math.NaN(), 1, 5, 9}, []float64{0, 0, 1, 1, 2, 2})
			if !math.IsNaN(v) {
				t.Errorf("%v %v of NaN is %v", a, d, v)
			}
			if (d == factor.Radius || d == factor.MAD) && a != factor.Max && (!math.IsNaN(dz[3]) || math.IsNaN(dz[0])) {
				t.Errorf("%v %v of NaN has the gradient %v", a, d, dz)
			}
		}
	}
}

// A run leaves no trace in the next run with other labels.
func TestModularityOfOtherLabels(t *testing.T) {
	stream := rng.New(1, "labels")
	for _, s := range measures() {
		g := gorgonia.NewGraph()
		z, labels := make([]float64, 60), make([]float64, 30)
		x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(30, 2),
			gorgonia.WithValue(tensor.New(tensor.WithShape(30, 2), tensor.WithBacking(z))))
		y := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(30),
			gorgonia.WithValue(tensor.New(tensor.WithShape(30), tensor.WithBacking(labels))))
		n, err := modularityOn(s.d, s.a, s.e, []factor.Block{{Columns: []int{0, 1}}}, x, y)
		if err != nil {
			t.Fatal(err)
		}
		grads, err := gorgonia.Grad(n, x)
		if err != nil {
			t.Fatal(err)
		}
		m, err := machine.New(n.Graph(), n, grads[0])
		if err != nil {
			t.Fatal(err)
		}
		for run, levels := range []int{2, 40, 1, 8, 0} {
			for i := range z {
				z[i] = stream.NormFloat64()
			}
			for i := range labels {
				labels[i] = float64(stream.IntN(levels+1)) - float64(run%2)
			}
			if err := m.RunAll(); err != nil {
				t.Fatal(err)
			}
			got, dz := m.Value(n).Data().(float64), m.Value(grads[0]).Data().([]float64)
			want, dwant := gradientOf(t, s, 2, slices.Clone(z), slices.Clone(labels))
			if got != want || !slices.Equal(dz, dwant) {
				t.Errorf("%v, run %d: %v with gradient %v, want %v with %v", s, run, got, dz, want, dwant)
			}
		}
	}
}

// Nodes of other settings are other nodes.
func TestModularityKeys(t *testing.T) {
	g := gorgonia.NewGraph()
	z, y := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(4, 3)),
		gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(4, 2))
	seen := map[*gorgonia.Node]string{}
	add := func(what string, n *gorgonia.Node, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if seen[n] != "" {
			t.Errorf("%s is the node of %s", what, seen[n])
		}
		seen[n] = what
	}
	for _, m := range measures() {
		for _, b := range [][]factor.Block{{{Factor: 0, Columns: []int{0}}}, {{Factor: 1, Columns: []int{0}}}, {{Factor: 0, Columns: []int{0, 1}}}, {{Factor: 0, Columns: []int{0}}, {Factor: 1, Columns: []int{1}}}} {
			n, err := modularityOn(m.d, m.a, m.e, b, z, y)
			add(fmt.Sprint(m, b), n, err)
		}
	}
	for _, kind := range inverses {
		n, err := losses.LeftInverse(kind, 0, z, y, nil)
		add(kind.String(), n, err)
	}
	n, err := losses.LeftInverse(losses.LeastSquares, 0.5, z, y, nil)
	add("a ridge", n, err)
}

// Offsets do not cancel.
func TestVarianceFarFromZero(t *testing.T) {
	v, g := gradientOf(t, measure{factor.Variance, factor.Mean, losses.Plain}, 1, []float64{1e12 + 1, 1e12 - 1}, []float64{0, 0})
	if v != 1 || g[0] != 1 || g[1] != -1 {
		t.Errorf("variance of 1e12 +- 1 is %v with gradient %v, want 1 and 1, -1", v, g)
	}
}
