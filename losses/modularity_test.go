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
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
)

var (
	deviations = []factor.Deviation{factor.Variance, factor.Diameter, factor.MPD, factor.Radius, factor.MAD}
	aggregates = []factor.Aggregate{factor.Mean, factor.Max, factor.Sum, factor.MeanSquare}
)

// measure is a deviation with an aggregate and an estimator.
type measure struct {
	d factor.Deviation
	a factor.Aggregate
	e losses.DeviationEstimator
}

func (m measure) String() string {
	if m.e == losses.Plain {
		return fmt.Sprintf("%v %v", m.a, m.d)
	}
	return fmt.Sprintf("%v %v %v", m.e, m.a, m.d)
}

// measures lists all combinations.
func measures() []measure {
	list := []measure{{factor.Variance, factor.Mean, losses.Unbiased}, {factor.MPD, factor.Mean, losses.Unbiased}}
	for _, d := range deviations {
		for _, a := range aggregates {
			list = append(list, measure{d, a, losses.Plain})
		}
	}
	return list
}

// deviationOf computes a deviation by definition.
func deviationOf(d factor.Deviation, points [][]float64) float64 {
	var flat []float64
	sum, most, squares := 0.0, 0.0, 0.0
	for _, p := range points {
		flat = append(flat, p...)
		for _, q := range points {
			distance := 0.0
			for j := range p {
				distance = math.Hypot(distance, p[j]-q[j])
			}
			sum, most, squares = sum+distance, max(most, distance), squares+distance*distance
		}
	}
	pairs := float64(len(points) * len(points))
	switch d {
	case factor.Variance:
		return squares / 2 / pairs
	case factor.Diameter:
		return most
	case factor.MPD:
		return sum / 2 / pairs
	case factor.Radius:
		var b geometry.Ball
		_ = b.Enclose(flat, len(points[0]))
		return b.Radius
	}
	var m geometry.Median
	_ = m.Fit(flat, len(points[0]))
	return m.MeanDistance
}

// modularityOf computes Modularity by definition.
func modularityOf(m measure, blocks []factor.Block, z, labels []float64, rows int) float64 {
	columns, factors, total := len(z)/rows, len(labels)/rows, 0.0
	for _, b := range blocks {
		groups := map[float64][][]float64{}
		for i := range rows {
			label := labels[i*factors+b.Factor]
			if label < 0 {
				continue
			}
			var p []float64
			for _, c := range b.Columns {
				p = append(p, z[i*columns+c])
			}
			groups[label] = append(groups[label], p)
		}
		sum, most, squares := 0.0, 0.0, 0.0
		for label, g := range groups {
			v := deviationOf(m.d, g)
			if m.e == losses.Unbiased {
				if len(g) == 1 {
					delete(groups, label)
					continue
				}
				v *= float64(len(g)) / float64(len(g)-1)
			}
			sum, most, squares = sum+v, max(most, v), squares+v*v
		}
		if n := float64(len(groups)); n > 0 {
			total += []float64{sum / n, most, sum, squares / n}[m.a]
		}
	}
	return total
}

type modularityCase struct {
	name      string
	z, labels gradcheck.Input
	blocks    []factor.Block
	kinks     bool // some deviations have no derivative here
}

func (c modularityCase) check(t *testing.T) {
	for _, m := range measures() {
		c.checkOne(t, m)
	}
}

func (c modularityCase) checkOne(t *testing.T, m measure) {
	rows := c.z.Shape[0]
	c.labels.Constant = true
	g := gradcheck.Case{
		Name:   fmt.Sprintf("%v %s", m, c.name),
		Inputs: []gradcheck.Input{c.z, c.labels},
		Build: func(n nodes) (*gorgonia.Node, error) {
			return modularityOn(m.d, m.a, m.e, c.blocks, n[0], n[1])
		},
		Want:    func(in [][]float64) []float64 { return []float64{modularityOf(m, c.blocks, in[0], in[1], rows)} },
		Floor32: 0.1,
	}
	if c.kinks && (m.d != factor.Variance || m.a == factor.Max) {
		g.Tolerance = 10 // differences are meaningless at kinks
		v, _ := gradientOf(t, m, c.z.Shape[1], repeated(c.z), repeated(c.labels))
		if want := g.Want([][]float64{repeated(c.z), repeated(c.labels)})[0]; !(math.Abs(v-want) <= 1e-12) {
			t.Errorf("%s: %v, want %v", g.Name, v, want)
		}
	}
	t.Run(g.Name, func(t *testing.T) { gradcheck.Check(t, g) })
}

// repeated returns the values of an input, with 0, 1, 2, ... instead of random values.
func repeated(in gradcheck.Input) []float64 {
	n := 1
	for _, d := range in.Shape {
		n *= d
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
		if in.Values != nil {
			x[i] = in.Values[i%len(in.Values)]
		}
	}
	return x
}

func TestModularity(t *testing.T) {
	long.NotShort(t)
	two := []factor.Block{{Factor: 1, Columns: []int{0, 1}}, {Factor: 0, Columns: []int{2}}}
	strided := []factor.Block{{Factor: 0, Columns: []int{3, 0}}, {Factor: 0, Columns: []int{0, 1, 2}}, {Factor: 2, Columns: []int{4}}}
	permuted := []factor.Block{{Factor: 0, Columns: []int{1, 3, 2, 4}}, {Factor: 1, Columns: []int{0, 2}}}
	gaps := []factor.Block{{Factor: 0, Columns: []int{0, 2}}, {Factor: 1, Columns: []int{0, 3}},
		{Factor: 0, Columns: []int{0, 4}}, {Factor: 1, Columns: []int{0, 1, 4}}}
	known := func(rows, factors, levels int) gradcheck.Input {
		in := gradcheck.Input{Shape: []int{rows, factors}}
		for i := range rows * factors {
			in.Values = append(in.Values, float64((i*i+i/factors)%levels))
		}
		return in
	}
	partly := known(24, 3, 5)
	for i := range partly.Values {
		if i%7 < 3 {
			partly.Values[i] = -1
		}
	}
	odd := gradcheck.Input{Shape: []int{12}, Values: []float64{0.5, 1e6, 0.25, 0.5, 1e6, -3, 0.5, 1e6, 0.5, 0.25, 7, 0.25}}
	growing := gradcheck.Input{Shape: []int{40}, Values: make([]float64, 40)}
	for i := 2; i < 40; i++ {
		growing.Values[i] = 1 + float64(i/8)/8
	}
	for _, c := range []modularityCase{
		{name: "columns in any order", z: gradcheck.In(20, 5), labels: known(20, 2, 3), blocks: permuted},
		{name: "columns with gaps", z: gradcheck.In(20, 5), labels: known(20, 2, 3), blocks: gaps},
		{name: "groups of growing sizes", z: gradcheck.In(40, 1), labels: growing, blocks: []factor.Block{{Columns: []int{0}}}},
		{name: "two factors", z: gradcheck.In(20, 3), labels: known(20, 2, 4), blocks: two},
		{name: "shared columns, unknown labels", z: gradcheck.In(24, 5), labels: partly, blocks: strided},
		{name: "labels of any numbers", z: gradcheck.In(12, 2), labels: odd, blocks: []factor.Block{{Columns: []int{0, 1}}}},
		{name: "one group", z: gradcheck.In(30, 2), labels: gradcheck.Input{Shape: []int{30, 1}, Values: []float64{3}}, blocks: []factor.Block{{Columns: []int{0, 1}}}},
		{name: "one column", z: gradcheck.In(21, 1), labels: known(21, 1, 2), blocks: []factor.Block{{Columns: []int{0}}}},
	} {
		c.check(t)
	}
}

func TestModularityErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	z, y := node("z", 4, 3), node("y", 4, 2)
	for _, c := range []struct {
		d      factor.Deviation
		a      factor.Aggregate
		e      losses.DeviationEstimator
		z, y   *gorgonia.Node
		blocks []factor.Block
		want   string
	}{
		{9, 0, 0, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "Deviation(9) and mean"},
		{0, 9, 0, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "variance and Aggregate(9)"},
		{0, 0, 0, z, y, nil, "want blocks"},
		{0, 0, 0, z, y, []factor.Block{{Factor: 2, Columns: []int{0}}}, "factors 0 to 1"},
		{0, 0, 0, z, y, []factor.Block{{Factor: -1, Columns: []int{0}}}, "factors 0 to 1"},
		{0, 0, 0, z, y, []factor.Block{{Factor: 0, Columns: nil}}, "a code column for factor 0"},
		{0, 0, 0, z, y, []factor.Block{{Factor: 0, Columns: []int{3}}}, "columns from 0 to 2"},
		{0, 0, 0, z, y, []factor.Block{{Factor: 0, Columns: []int{-1}}}, "columns from 0 to 2"},
		{0, 0, 0, z, y, []factor.Block{{Factor: 1, Columns: []int{1, 1}}}, "different code columns"},
		{0, 0, 0, y, node("y3", 3, 2), []factor.Block{{Factor: 0, Columns: []int{0}}}, "labels of shape [4] or [4, factors]"},
		{0, 0, 0, node("v", 4), y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "codes of shape [rows, columns]"},
		{0, 0, 0, z, node("cube", 4, 2, 2), []factor.Block{{Factor: 0, Columns: []int{0}}}, "labels of shape"},
		{factor.Variance, factor.Mean, 9, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "estimator: DeviationEstimator(9) is not known; want unbiased or plain"},
		{factor.MAD, factor.Mean, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "estimator: mad has no unbiased estimator; want estimator plain"},
		{factor.Radius, factor.Max, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "estimator: radius has no"},
		{factor.Diameter, factor.Mean, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "estimator: diameter has no"},
		{factor.MPD, factor.Max, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "estimator: the max over values has no unbiased estimator; want aggregate mean, or estimator plain"},
		{factor.Variance, factor.Sum, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "the sum over values"},
		{factor.Variance, factor.MeanSquare, losses.Unbiased, z, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "the mean-square over values"},
		{0, 0, 0, nil, y, []factor.Block{{Factor: 0, Columns: []int{0}}}, "input 0 is nil"},
	} {
		must.ErrorOf(modularityOn(c.d, c.a, c.e, c.blocks, c.z, c.y))(t, c.want)
	}
}

type modularity = func(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error)

// plain returns the plain deviation, as in the paper's tables.
func plain(d factor.Deviation, a factor.Aggregate) modularity {
	return func(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
		return losses.Modularity(d, a, losses.Plain, z, groups, blocks...)
	}
}

// Without blocks, one column of labels applies to all codes, and K columns apply to equal shares.
func TestEvenBlocks(t *testing.T) {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 2, 0, 0, 2, 4, 1, 1, 1, 1)
	one := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("one"), gorgonia.WithShape(4),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{0, 0, 1, 1}))))
	two := matrix(g, "two", 4, 2, 0, 0, 0, 1, 1, 0, 1, 1)
	all := must.Get(losses.Variance(z, one))(t)
	each := must.Get(losses.Variance(z, two))(t)
	// Group 0 has variances 2 and 8. The groups of the second column have 0, 1 and 4, 1.
	if v := values(t, all, each); v[0] != (2+8)/2. || v[1] != 2/2.+(0.5+4.5)/2 {
		t.Errorf("variances %v, want 5 and 3.5", v)
	}
	wide := matrix(g, "wide", 2, 4, 0, 0, 0, 0, 2, 4, 6, 8)
	shared := must.Get(losses.Variance(wide, matrix(g, "half", 2, 2, 0, 0, 1, 0)))(t)
	if v := values(t, shared); v[0] != 18+32 {
		t.Errorf("variance %v, want that of the last two columns, 50", v)
	}
	three := matrix(g, "three", 4, 3, make([]float64, 12)...)
	for _, c := range []struct {
		z, groups *gorgonia.Node
		want      string
	}{
		{z, three, "variance: 2 code columns cannot be divided evenly among 3 factors; want blocks"},
		{one, one, "want codes [n, d] and groups [n] or [n, K], got (4) and (4)"},
		{z, nil, "got (4, 2) and nothing"},
		{nil, one, "got nothing and (4)"},
	} {
		must.ErrorOf(losses.Variance(c.z, c.groups))(t, c.want)
	}
}

// At points without a derivative, values are correct. Gradients are finite, and equal in all runs and in float32 and
// float64.
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
	b := factor.Block{Columns: numeric.UpTo(columns)}
	n := must.Get(modularityOn(m.d, m.a, m.e, []factor.Block{b}, x, y))(t)
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
			if !(math.Abs(got[i]-w) <= 1e-15) {
				t.Errorf("%s: gradient %v, want %v", c.name, got, c.want)
				break
			}
		}
	}
}

// NaN in codes propagates.
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

// A run does not affect the next run with other labels.
func TestModularityOfOtherLabels(t *testing.T) {
	stream := rng.New(1, "labels")
	for _, s := range measures() {
		g := gorgonia.NewGraph()
		z, labels := make([]float64, 60), make([]float64, 30)
		x := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(30, 2),
			gorgonia.WithValue(tensor.New(tensor.WithShape(30, 2), tensor.WithBacking(z))))
		y := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(30),
			gorgonia.WithValue(tensor.New(tensor.WithShape(30), tensor.WithBacking(labels))))
		n := must.Get(modularityOn(s.d, s.a, s.e, []factor.Block{{Columns: []int{0, 1}}}, x, y))(t)
		grads := must.Get(gorgonia.Grad(n, x))(t)
		m := must.Get(machine.New(n.Graph(), n, grads[0]))(t)
		for run, levels := range []int{2, 40, 1, 8, 0} {
			for i := range z {
				z[i] = stream.NormFloat64()
			}
			for i := range labels {
				labels[i] = float64(stream.IntN(levels+1)) - float64(run%2)
			}
			must.OK(t, m.RunAll())
			got, dz := m.Value(n).Data().(float64), m.Value(grads[0]).Data().([]float64)
			want, dwant := gradientOf(t, s, 2, slices.Clone(z), slices.Clone(labels))
			if got != want || !slices.Equal(dz, dwant) {
				t.Errorf("%v, run %d: %v with gradient %v, want %v with %v", s, run, got, dz, want, dwant)
			}
		}
	}
}

// Nodes with different settings are different nodes.
func TestModularityKeys(t *testing.T) {
	g := gorgonia.NewGraph()
	z, y := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("z"), gorgonia.WithShape(4, 3)),
		gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName("y"), gorgonia.WithShape(4, 2))
	seen := map[*gorgonia.Node]string{}
	add := func(what string, n *gorgonia.Node, err error) {
		must.OK(t, err)
		must.Equal(t, seen[n], "", what, "is the node of")
		seen[n] = what
	}
	for _, m := range measures() {
		for _, b := range [][]factor.Block{{{Factor: 0, Columns: []int{0}}}, {{Factor: 1, Columns: []int{0}}},
			{{Factor: 0, Columns: []int{0, 1}}}, {{Factor: 0, Columns: []int{0}}, {Factor: 1, Columns: []int{1}}}} {
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

// Large offsets do not lose precision.
func TestVarianceFarFromZero(t *testing.T) {
	v, g := gradientOf(t, measure{factor.Variance, factor.Mean, losses.Plain}, 1, []float64{1e12 + 1, 1e12 - 1}, []float64{0, 0})
	if v != 1 || g[0] != 1 || g[1] != -1 {
		t.Errorf("variance of 1e12 +- 1 is %v with gradient %v, want 1 and 1, -1", v, g)
	}
}
