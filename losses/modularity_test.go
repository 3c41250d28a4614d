package losses_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/long"
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

// measures lists all that there are.
func measures() []measure {
	list := []measure{{factor.Variance, factor.Mean, losses.Unbiased}, {factor.MPD, factor.Mean, losses.Unbiased}}
	for _, d := range deviations {
		for _, a := range aggregates {
			list = append(list, measure{d, a, losses.Plain})
		}
	}
	return list
}

// deviationOf computes a deviation from its definition.
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

// modularityOf computes what Modularity should.
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
	kinks     bool // where some deviations have no derivative
}

// check checks a case for all measures.
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
		g.Tolerance = 10 // differences mean nothing there
		v, _ := gradientOf(t, m, c.z.Shape[1], repeated(c.z), repeated(c.labels))
		if want := g.Want([][]float64{repeated(c.z), repeated(c.labels)})[0]; math.Abs(v-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", g.Name, v, want)
		}
	}
	t.Run(g.Name, func(t *testing.T) { gradcheck.Check(t, g) })
}

// repeated returns the values of an input; drawn ones are replaced by 0, 1, 2, ...
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
		if _, err := modularityOn(c.d, c.a, c.e, c.blocks, c.z, c.y); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}

// graphOf makes a graph of one operation on codes that are drawn, and its gradient.
func graphOf(t testing.TB, rows, columns, factors, levels int, build func(z, labels *gorgonia.Node) (*gorgonia.Node, error)) *machine.Machine {
	t.Helper()
	g, r := gorgonia.NewGraph(), rng.New(1, "codes")
	codes, labels := make([]float32, rows*columns), make([]float32, rows*factors)
	r.Normals(codes)
	for i := range labels {
		labels[i] = float32(r.IntN(levels))
	}
	z := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("z"), gorgonia.WithShape(rows, columns),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(codes))))
	y := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("y"), gorgonia.WithShape(rows, factors),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, factors), tensor.WithBacking(labels))))
	n, err := build(z, y)
	if err != nil {
		t.Fatal(err)
	}
	grads, err := gorgonia.Grad(n, z)
	if err != nil {
		t.Fatal(err)
	}
	m, err := machine.New(n.Graph(), n, grads[0])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func blocksOf(columns, factors int) []factor.Block {
	b := make([]factor.Block, factors)
	for j := range columns {
		f := j * factors / columns
		b[f] = factor.Block{Factor: f, Columns: append(b[f].Columns, j)}
	}
	return b
}

func TestModularityAllocations(t *testing.T) {
	for _, d := range deviations {
		m := graphOf(t, 200, 6, 2, 4, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
			return modularityOn(d, factor.Mean, losses.Plain, blocksOf(6, 2), z, y)
		})
		run := func() {
			if err := m.RunAll(); err != nil {
				t.Fatal(err)
			}
		}
		run()
		run()
		if n := testing.AllocsPerRun(10, run); n >= 1 {
			t.Errorf("%v: %v allocations in a run, want 0", d, n)
		}
	}
}

func BenchmarkModularity(b *testing.B) {
	const rows, columns, factors = 4096, 16, 5
	for _, d := range deviations {
		for _, levels := range []int{1, 4, 40, 1000} {
			b.Run(fmt.Sprintf("%v of %d groups", d, levels), func(b *testing.B) {
				m := graphOf(b, rows, columns, factors, levels, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
					return modularityOn(d, factor.Mean, losses.Plain, blocksOf(columns, factors), z, y)
				})
				for b.Loop() {
					if err := m.RunAll(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
