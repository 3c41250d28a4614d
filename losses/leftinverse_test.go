package losses_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

var inverses = []losses.Inverse{losses.LeastSquares, losses.LeastAbsolute, losses.Minimax, losses.MinimaxByFactor}

// inverseOf computes LeftInverse by definition.
func inverseOf(kind losses.Inverse, ridge float64, z, y, labels []float64, rows int) float64 {
	columns, targets, factors := len(z)/rows, len(y)/rows, len(labels)/rows
	var x, v []float64
	for i := range rows {
		known := true
		for _, l := range labels[i*factors : (i+1)*factors] {
			known = known && l >= 0
		}
		if known {
			x = append(x, z[i*columns:(i+1)*columns]...)
			v = append(v, y[i*targets:(i+1)*targets]...)
		}
	}
	if len(x) == 0 {
		return 0
	}
	sum, norm := 0.0, 0.0
	var f geometry.Regression
	switch kind {
	case losses.LeastSquares:
		_ = f.LeastSquares(x, columns, v, targets, ridge)
		for _, r := range f.Residuals {
			sum += r * r / float64(len(v))
		}
		for _, w := range f.Weights {
			sum += ridge * w * w
		}
		return sum
	case losses.LeastAbsolute:
		_ = f.LeastAbsolute(x, columns, v, targets)
		for _, r := range f.Residuals {
			sum += math.Abs(r) / float64(len(v))
		}
		return sum
	case losses.Minimax:
		_ = f.JointMinimax(x, columns, v, targets)
		for i := 0; i < len(v); i += targets {
			length := 0.0
			for _, r := range f.Residuals[i : i+targets] {
				length = math.Hypot(length, r)
			}
			norm = max(norm, length)
		}
		return norm
	}
	_ = f.Minimax(x, columns, v, targets)
	for _, e := range f.Errors {
		norm = math.Hypot(norm, e)
	}
	return norm
}

func TestLeftInverse(t *testing.T) {
	partly := gradcheck.Input{Shape: []int{20, 2}, Values: []float64{0, 1, 2, -1, -1, 0, 3, 3, 0, 0, 1, 1, 5, 0, -2, -2, 1, 0}, Constant: true}
	none := gradcheck.Input{Shape: []int{20}, Values: []float64{-1}, Constant: true}
	targets := gradcheck.Input{Shape: []int{20, 2}, Constant: true}
	one := gradcheck.Input{Shape: []int{20, 1}, Constant: true}
	for _, kind := range inverses {
		for name, inputs := range map[string][]gradcheck.Input{
			"all rows":       {gradcheck.In(20, 3), targets},
			"one target":     {gradcheck.In(20, 4), one},
			"rows known":     {gradcheck.In(20, 3), targets, partly},
			"nothing known":  {gradcheck.In(20, 3), targets, none},
			"small codes":    {{Shape: []int{20, 3}, Lo: -1e-2, Hi: 1e-2}, targets},
			"codes far away": {{Shape: []int{20, 3}, Lo: 100, Hi: 104}, targets},
		} {
			for _, ridge := range []float64{0, 0.1} {
				if ridge > 0 && kind != losses.LeastSquares {
					continue
				}
				gradcheckInverse(t, fmt.Sprintf("%v, ridge %v, %s", kind, ridge, name), kind, ridge, inputs, false)
			}
		}
	}
}

func gradcheckInverse(t *testing.T, name string, kind losses.Inverse, ridge float64, inputs []gradcheck.Input, kinks bool) {
	c := gradcheck.Case{
		Name:   name,
		Inputs: inputs,
		Build: func(n nodes) (*gorgonia.Node, error) {
			return losses.LeftInverse(kind, ridge, n[0], n[1], append(n, nil)[2])
		},
		Want: func(in [][]float64) []float64 {
			var labels []float64
			if len(in) == 3 {
				labels = in[2]
			}
			return []float64{inverseOf(kind, ridge, in[0], in[1], labels, inputs[0].Shape[0])}
		},
		Step: 1e-7, Tolerance: 2e-6, Tolerance32: 1e-4, Floor32: 0.1,
	}
	if kinks {
		c.Tolerance = 10
	}
	t.Run(name, func(t *testing.T) { gradcheck.Check(t, c) })
}

// If an optimum is not unique, or exact, gradients are finite and equal in all runs.
func TestLeftInverseAtKinks(t *testing.T) {
	with := func(shape []int, v ...float64) gradcheck.Input {
		return gradcheck.Input{Shape: shape, Values: v, Constant: len(v) > 1 && shape[1] == 1}
	}
	y := with([]int{6, 1}, 0, 0.5, 1)
	for _, kind := range inverses {
		for name, z := range map[string]gradcheck.Input{
			"constant codes":         with([]int{6, 2}, 0.5),
			"repeated columns":       with([]int{6, 2}, 0, 0, 1, 1, 3, 3, 2, 2),
			"exact fit":              with([]int{6, 2}, 1, 2, 1, 3, 1, 4),
			"more columns than rows": gradcheck.In(6, 9),
			"grid":                   with([]int{6, 2}, 0, 0, 0, 1, 1, 0, 1, 1),
		} {
			gradcheckInverse(t, fmt.Sprintf("%v, %s", kind, name), kind, 0, []gradcheck.Input{z, y}, true)
		}
	}
}

// inverseGradient returns value and gradient of LeftInverse.
func inverseGradient(t *testing.T, kind losses.Inverse, columns int, z, y []float64) (float64, []float64) {
	t.Helper()
	g := gorgonia.NewGraph()
	rows := len(z) / columns
	node := func(name string, x []float64) *gorgonia.Node {
		v := tensor.New(tensor.WithShape(rows, len(x)/rows), tensor.WithBacking(x))
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithShape(v.Shape()...), gorgonia.WithValue(v))
	}
	x := node("z", z)
	n := must.Get(losses.LeftInverse(kind, 0, x, node("y", y), nil))(t)
	return valueAndGradient(t, n, x)
}

func TestLeftInverseExact(t *testing.T) {
	for _, kind := range inverses {
		v, g := inverseGradient(t, kind, 1, []float64{0, 1, 2, 3}, []float64{1, 3, 5, 7})
		if !(v <= 1e-14) {
			t.Errorf("%v: an exact fit has the value %v", kind, v)
		}
		for _, d := range g {
			if !(math.Abs(d) <= 1e-14) {
				t.Errorf("%v: an exact fit has the gradient %v, want 0", kind, g)
				break
			}
		}
		if v, _ := inverseGradient(t, kind, 1, []float64{0, 1, math.NaN(), 3}, []float64{1, 3, 5, 7}); !math.IsNaN(v) {
			t.Errorf("%v: codes that are not numbers have the value %v", kind, v)
		}
	}
	// Points at 0, 0, 1, 1 with targets 0, 1, 0, 1: no map helps, and the smallest error is 1/2.
	for kind, want := range []float64{0.25, 0.5, 0.5, 0.5} {
		if v, _ := inverseGradient(t, losses.Inverse(kind), 1, []float64{0, 0, 1, 1}, []float64{0, 1, 0, 1}); !(math.Abs(v-want) <= 1e-15) {
			t.Errorf("%v: %v, want %v", losses.Inverse(kind), v, want)
		}
	}
}

func TestInverseNames(t *testing.T) {
	for _, kind := range inverses {
		text, err := kind.MarshalText()
		var back losses.Inverse = 7
		if err == nil {
			err = back.UnmarshalText(text)
		}
		if err != nil || back != kind {
			t.Errorf("%v becomes %s, and that %v (%v)", kind, text, back, err)
		}
	}
	var v losses.Inverse
	must.Error(t, v.UnmarshalText([]byte("squares")), "known: least-squares, least-absolute, minimax, minimax-by-factor")
	must.Equal(t, losses.Inverse(9).String(), "Inverse(9)")
}

func TestLeftInverseErrors(t *testing.T) {
	g := gorgonia.NewGraph()
	node := func(name string, shape ...int) *gorgonia.Node {
		return gorgonia.NewTensor(g, tensor.Float64, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	}
	z, y := node("z", 4, 3), node("y", 4, 2)
	for _, c := range []struct {
		kind         losses.Inverse
		ridge        float64
		z, y, labels *gorgonia.Node
		want         string
	}{
		{7, 0, z, y, nil, "known kind"},
		{losses.LeastSquares, -1, z, y, nil, "ridge of 0 or more"},
		{losses.LeastSquares, math.NaN(), z, y, nil, "ridge of 0 or more"},
		{losses.LeastSquares, math.Inf(1), z, y, nil, "ridge of 0 or more"},
		{losses.Minimax, 1, z, y, nil, "no ridge"},
		{0, 0, node("v", 4), y, nil, "codes of shape"},
		{0, 0, z, node("w", 4), nil, "targets of shape"},
		{0, 0, z, node("y5", 5, 2), nil, "targets of 4 rows"},
		{0, 0, z, y, node("l5", 5), "labels of shape [4]"},
		{0, 0, z, nil, nil, "input 1 is nil"},
	} {
		must.ErrorOf(losses.LeftInverse(c.kind, c.ridge, c.z, c.y, c.labels))(t, c.want)
	}
}

func TestLeftInverseAllocations(t *testing.T) {
	for _, kind := range inverses {
		m := graphOf(t, 200, 6, 2, 4, func(z, y *gorgonia.Node) (*gorgonia.Node, error) { return losses.LeftInverse(kind, 0, z, y, y) })
		run := func() {
			must.OK(t, m.RunAll())
		}
		run()
		if n := testing.AllocsPerRun(10, run); n >= 1 {
			t.Errorf("%v: %v allocations in a run, want 0", kind, n)
		}
	}
}

func BenchmarkLeftInverse(b *testing.B) {
	for _, kind := range inverses {
		b.Run(kind.String(), func(b *testing.B) {
			m := graphOf(b, 4096, 16, 5, 40, func(z, y *gorgonia.Node) (*gorgonia.Node, error) { return losses.LeftInverse(kind, 0, z, y, nil) })
			for b.Loop() {
				must.OK(b, m.RunAll())
			}
		})
	}
}

func TestPaperLeftInverse(t *testing.T) {
	for encoder, want := range loadGolden(t).Encoders {
		z, columns, levels := encoded(t, encoder)
		y := make([]float64, len(levels))
		for i, l := range levels {
			y[i] = l / 10
		}
		g := gorgonia.NewGraph()
		codes := matrix(g, "z", len(z)/columns, columns, z...)
		factors := matrix(g, "y", len(y)/3, 3, y...)
		var nodes nodes
		for _, kind := range []losses.Inverse{losses.LeastSquares, losses.LeastAbsolute, losses.MinimaxByFactor} {
			n := must.Get(losses.LeftInverse(kind, 0, codes, factors, nil))(t)
			nodes = append(nodes, n)
		}
		got := values(t, nodes...)
		for i, w := range []goldenNumber{want.MSE, want.MAE, want.ME} {
			if !(math.Abs(math.Exp(-got[i])-w.Value[0]) <= w.Tolerance) {
				t.Errorf("%s: mse, mae and largest error are %v; e^-x of number %d should be %v", encoder, got, i, w.Value[0])
			}
		}
	}
}

func TestLeftInverseLoss(t *testing.T) {
	for source, want := range map[string]float64{
		// Both factors are known in rows 1 to 3. Codes (2,3), (5,6), (5,8) and factors (0,0), (1,0), (1,1) are three
		// points in general position.
		"{}":                        0,
		"{kind: least-absolute}":    0,
		"{kind: minimax}":           0,
		"{kind: minimax-by-factor}": 0,
		// The large penalty makes the weights 0: variances 2/9 and 2/9.
		"{ridge: 1.0e+9, weight: 2}": 2. / 9,
		"{on: sample}":               0,
	} {
		l := losses.NewLeftInverse()
		must.OK(t, config.Load("l.yaml", []byte(source), l))
		n := must.Get(l.Add(labelled()))(t)
		if v := values(t, n); !(math.Abs(v[0]-want) <= 1e-8) {
			t.Errorf("%s: %v, want %v", source, v[0], want)
		}
		if w := l.Weighting(); w != losses.Constant(1) && !strings.Contains(source, "weight") {
			t.Errorf("%s: weight %v, want 1", source, w)
		}
	}
}

func TestLeftInverseLossErrors(t *testing.T) {
	for source, want := range map[string]string{
		"{weight: -1}":              "weight",
		"{kind: squares}":           "unknown kind of left inverse",
		"{ridge: -1}":               "ridge",
		"{ridge: .inf}":             "ridge",
		"{kind: minimax, ridge: 1}": "a ridge is for least-squares",
		"{codes: {x: [1]}}":         "codes",
	} {
		must.Error(t, config.Load("l.yaml", []byte(source), losses.NewLeftInverse()), want, source)
	}
	fail := func(losses.Units) (values, known *gorgonia.Node, err error) {
		return nil, nil, fmt.Errorf("no such input")
	}
	for name, c := range map[string]struct {
		change func(o *losses.Input)
		want   string
	}{
		"labels": {func(o *losses.Input) { o.Labels = nil }, "labels of the factors"},
		"codes":  {func(o *losses.Input) { o.Codes = nil }, "it needs codes"},
		"values": {func(o *losses.Input) { o.Labels.Values = fail }, "no such input"},
	} {
		o := labelled()
		c.change(o)
		must.ErrorOf(losses.NewLeftInverse().Add(o))(t, c.want, name)
	}
}

func ExampleLeftInverse() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 1, 0, 0, 1, 1)
	y := matrix(g, "y", 4, 1, 0, 0, 1, 3) // the last two have equal codes
	for _, kind := range []losses.Inverse{losses.LeastSquares, losses.LeastAbsolute, losses.Minimax} {
		n, err := losses.LeftInverse(kind, 0, z, y, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		run(g)
		fmt.Printf("%v: %.3f\n", kind, n.Value().Data())
	}
	// Output:
	// least-squares: 0.500
	// least-absolute: 0.500
	// minimax: 1.000
}
