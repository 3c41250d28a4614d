package losses_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/losses"
)

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
			n, err := losses.LeftInverse(kind, 0, codes, factors, nil)
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, n)
		}
		got := values(t, nodes...)
		for i, w := range []goldenNumber{want.MSE, want.MAE, want.ME} {
			if math.Abs(math.Exp(-got[i])-w.Value[0]) > w.Tolerance {
				t.Errorf("%s: mse, mae and largest error are %v; e^-x of number %d should be %v", encoder, got, i, w.Value[0])
			}
		}
	}
}

func TestLeftInverseLoss(t *testing.T) {
	for source, want := range map[string]float64{
		// Rows 1 to 3, in which both factors are known: codes (2,3), (5,6), (5,8) and
		// factors (0,0), (1,0), (1,1) are three points in general position.
		"{}":                        0,
		"{kind: least-absolute}":    0,
		"{kind: minimax}":           0,
		"{kind: minimax-by-factor}": 0,
		// The penalty is so large that the weights are 0: variances 2/9 and 2/9.
		"{ridge: 1.0e+9, weight: 2}": 2. / 9,
		"{on: sample}":               0,
	} {
		l := losses.NewLeftInverse()
		if err := config.Load("l.yaml", []byte(source), l); err != nil {
			t.Fatal(err)
		}
		n, err := l.Add(labelled())
		if err != nil {
			t.Fatal(err)
		}
		if v := values(t, n); math.Abs(v[0]-want) > 1e-8 {
			t.Errorf("%s: %v, want %v", source, v[0], want)
		}
		if w := l.Weighting(); w != 1 && !strings.Contains(source, "weight") {
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
		if err := config.Load("l.yaml", []byte(source), losses.NewLeftInverse()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", source, err, want)
		}
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
		if _, err := losses.NewLeftInverse().Add(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
}

func ExampleLeftInverse() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 1, 0, 0, 1, 1)
	y := matrix(g, "y", 4, 1, 0, 0, 1, 3) // the last two have the same code
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
