package losses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/losses"
)

type goldenNumber struct {
	Value     []float64
	Tolerance float64
}

// golden holds the expected values of the paper's encoders; see testdata/README.md.
type golden struct {
	Encoders map[string]struct {
		SubCodes [][]int
		Rad      goldenNumber `json:"rad_raw"`
		MAD      goldenNumber `json:"mad_raw"`
		Var      goldenNumber `json:"var_raw"`
		Diam     goldenNumber `json:"diam_raw"`
		MPD      goldenNumber `json:"mpd_raw"`
		MSE      goldenNumber
		MAE      goldenNumber
		ME       goldenNumber `json:"me_chebyshev_l2"`
	}
	Weakly struct {
		Subsets   [][]int
		PerSubset map[string][][]float64 `json:"per_subset"`
		Tolerance float64
	}
}

func loadGolden(t *testing.T) golden {
	t.Helper()
	b, err := os.ReadFile("testdata/modularity.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// encoded returns the codes of a paper's encoder, and the grid's levels.
func encoded(t *testing.T, encoder string) (z []float64, columns int, levels []float64) {
	t.Helper()
	z, columns, err := (&drawn.Entangled{Encoder: encoder, Levels: 11}).Codes(0)
	if err != nil {
		t.Fatal(err)
	}
	if encoder == "random" {
		a, err := npy.ReadFile[float64]("testdata/random.npy")
		if err != nil {
			t.Fatal(err)
		}
		z = a.Data
	}
	for i := range 11 * 11 * 11 {
		levels = append(levels, float64(i/121), float64(i/11%11), float64(i%11))
	}
	return z, columns, levels
}

// values runs nodes of a graph of float64 scalars.
func values(t *testing.T, nodes ...*gorgonia.Node) []float64 {
	t.Helper()
	m, err := machine.New(nodes[0].Graph(), nodes...)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var v []float64
	for _, n := range nodes {
		v = append(v, m.Value(n).Data().(float64))
	}
	return v
}

type modularity = func(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error)

// plain is a deviation of the rows themselves, as the paper's tables have it.
func plain(d factor.Deviation, a factor.Aggregate) modularity {
	return func(z, groups *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
		return losses.Modularity(d, a, losses.Plain, z, groups, blocks...)
	}
}

// fiveOf returns radius, MAD, variance, diameter and MPD of codes.
func fiveOf(t *testing.T, z []float64, columns int, levels []float64, subCodes [][]int) []float64 {
	t.Helper()
	g := gorgonia.NewGraph()
	codes := matrix(g, "z", len(z)/columns, columns, z...)
	labels := matrix(g, "groups", len(levels)/3, 3, levels...)
	var blocks []factor.Block
	for i, c := range subCodes {
		blocks = append(blocks, factor.Block{Factor: i, Columns: c})
	}
	var nodes nodes
	for _, f := range []modularity{losses.Radius, losses.MAD, plain(factor.Variance, factor.Mean), losses.Diameter, plain(factor.MPD, factor.Mean)} {
		n, err := f(codes, labels, blocks...)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return values(t, nodes...)
}

func TestPaperModularity(t *testing.T) {
	for encoder, want := range loadGolden(t).Encoders {
		z, columns, levels := encoded(t, encoder)
		got := fiveOf(t, z, columns, levels, want.SubCodes)
		for i, w := range []goldenNumber{want.Rad, want.MAD, want.Var, want.Diam, want.MPD} {
			if math.Abs(got[i]-w.Value[0]) > w.Tolerance {
				t.Errorf("%s: radius, MAD, variance, diameter, MPD are %v; number %d should be %v", encoder, got, i, w.Value[0])
			}
		}
	}
}

// Some levels of a factor are absent, and some have one row.
func TestPaperModularityOfSubsets(t *testing.T) {
	g := loadGolden(t)
	for encoder, perSubset := range g.Weakly.PerSubset {
		z, columns, levels := encoded(t, encoder)
		for s, rows := range g.Weakly.Subsets {
			var some, labels []float64
			for _, i := range rows {
				some = append(some, z[i*columns:(i+1)*columns]...)
				labels = append(labels, levels[i*3:i*3+3]...)
			}
			for i, x := range fiveOf(t, some, columns, labels, g.Encoders[encoder].SubCodes) {
				if want := perSubset[s][i]; math.Abs(math.Exp(-x)-want) > g.Weakly.Tolerance {
					t.Errorf("%s, subset %d: e^-x of number %d is %v, want %v", encoder, s, i, math.Exp(-x), want)
				}
			}
			// All rows, those outside the subset unknown, come to the same.
			if s > 0 {
				continue
			}
			partly := make([]float64, len(levels))
			for i := range partly {
				partly[i] = -1
			}
			for k, i := range rows {
				copy(partly[i*3:], labels[k*3:k*3+3])
			}
			for i, x := range fiveOf(t, z, columns, partly, g.Encoders[encoder].SubCodes) {
				if want := perSubset[s][i]; math.Abs(math.Exp(-x)-want) > g.Weakly.Tolerance {
					t.Errorf("%s, subset 0 among unknown rows: e^-x of number %d is %v, want %v", encoder, i, math.Exp(-x), want)
				}
			}
		}
	}
}

func TestModularityGradients(t *testing.T) {
	groups := gradcheck.Input{Shape: []int{18, 2}, Values: []float64{0, 0, 1, 2, 0, 1, 1, 0, 2, -1, -1, 1, 2, 2}, Constant: true}
	for name, f := range map[string]modularity{
		"variance": losses.Variance, "diameter": losses.Diameter, "mpd": losses.MPD, "radius": losses.Radius, "mad": losses.MAD,
		"plain variance": plain(factor.Variance, factor.Mean), "plain mpd": plain(factor.MPD, factor.Mean),
	} {
		for shape, blocks := range map[string][]factor.Block{"even": nil, "named": {{Factor: 1, Columns: []int{3, 0, 1}}}} {
			c := gradcheck.Case{Name: name + " of " + shape + " blocks", Inputs: []gradcheck.Input{{Shape: []int{18, 4}}, groups}, Floor32: 0.1,
				Build: func(n nodes) (*gorgonia.Node, error) { return f(n[0], n[1], blocks...) }}
			t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
		}
	}
}

// Without blocks, one column of labels goes with all codes, and K go with equal shares.
func TestEvenBlocks(t *testing.T) {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 2, 0, 0, 2, 4, 1, 1, 1, 1)
	one := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("one"), gorgonia.WithShape(4),
		gorgonia.WithValue(tensor.New(tensor.WithBacking([]float64{0, 0, 1, 1}))))
	two := matrix(g, "two", 4, 2, 0, 0, 0, 1, 1, 0, 1, 1)
	all, err := losses.Variance(z, one)
	if err != nil {
		t.Fatal(err)
	}
	each, err := losses.Variance(z, two)
	if err != nil {
		t.Fatal(err)
	}
	// Group 0 has variances 2 and 8; the second column has 0, 1 and 4, 1 in its groups.
	if v := values(t, all, each); v[0] != (2+8)/2. || v[1] != 2/2.+(0.5+4.5)/2 {
		t.Errorf("variances %v, want 5 and 3.5", v)
	}
	wide := matrix(g, "wide", 2, 4, 0, 0, 0, 0, 2, 4, 6, 8)
	shared, err := losses.Variance(wide, matrix(g, "half", 2, 2, 0, 0, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if v := values(t, shared); v[0] != 18+32 {
		t.Errorf("variance %v, want that of the last two columns, 50", v)
	}
	three := matrix(g, "three", 4, 3, make([]float64, 12)...)
	for _, c := range []struct {
		z, groups *gorgonia.Node
		want      string
	}{
		{z, three, "variance: 2 code columns cannot be shared out evenly to 3 factors; want blocks"},
		{one, one, "want codes [n, d] and groups [n] or [n, K], got (4) and (4)"},
		{z, nil, "got (4, 2) and nothing"},
		{nil, one, "got nothing and (4)"},
	} {
		if _, err := losses.Variance(c.z, c.groups); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one that says %q", err, c.want)
		}
	}
}

// labelled has codes of two factors, the second unknown for one image.
func labelled() *losses.Input {
	g := gorgonia.NewGraph()
	return &losses.Input{Outputs: losses.Outputs{
		Codes:  matrix(g, "codes", 4, 2, 0, 3, 2, 3, 5, 6, 5, 8),
		Sample: matrix(g, "sample", 4, 2, 0, 3, 4, 3, 5, 6, 5, 8),
		Rows:   4,
	}, Batch: losses.Batch{Labels: &losses.Labels{
		Factors: []factor.Factor{{Name: "shape", Size: 2}, {Name: "x", Size: 2}},
		Groups:  func() (*gorgonia.Node, error) { return matrix(g, "groups", 4, 2, 0, -1, 0, 0, 1, 0, 1, 1), nil },
		Values: func(losses.Units) (values, known *gorgonia.Node, err error) {
			return matrix(g, "values", 4, 2, 0, 0, 0, 0, 1, 0, 1, 1), matrix(g, "levels", 4, 2, 0, -1, 0, 0, 1, 0, 1, 1), nil
		},
	}}}
}

func TestModularityLoss(t *testing.T) {
	for _, c := range []struct {
		loss   *losses.ModularityLoss
		source string
		want   float64 // the first column: groups {0, 2} and {5, 5}; the second: {3, 6} and {8}
	}{
		{losses.NewVariance(), "{}", (2+0)/2. + 4.5}, // single images take no part
		{losses.NewVariance(), "{estimator: plain}", (1+0)/2. + (2.25+0)/2.},
		{losses.NewVariance(), "{aggregate: sum, estimator: plain, groups: similarity}", 1 + 2.25},
		{losses.NewVariance(), "{aggregate: mean-square, estimator: plain}", 1/2. + 2.25*2.25/2},
		{losses.NewVariance(), "{aggregate: max, estimator: plain, codes: {x: [1]}}", 2.25},
		{losses.NewVariance(), "{codes: {shape: [0, 1]}}", (2 + 2) / 2.},
		{losses.NewVariance(), "{on: sample}", (8+0)/2. + 4.5},
		{losses.NewDiameter(), "{}", 2 + 3},
		{losses.NewMPD(), "{}", (1+0)/2. + 1.5},
		{losses.NewMPD(), "{estimator: plain}", (0.5+0)/2. + (0.75+0)/2.},
		{losses.NewRadius(), "{}", 1 + 1.5},
		{losses.NewMAD(), "{weight: 3}", (1+0)/2. + (1.5+0)/2.},
	} {
		if err := config.Load("l.yaml", []byte(c.source), c.loss); err != nil {
			t.Fatal(err)
		}
		n, err := c.loss.Add(labelled())
		if err != nil {
			t.Fatal(err)
		}
		if v := values(t, n); math.Abs(v[0]-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.source, v[0], c.want)
		}
		weight := 1.0
		if strings.Contains(c.source, "weight") {
			weight = 3
		}
		if c.loss.Weighting() != losses.Constant(weight) {
			t.Errorf("%s: weight %v, want %v", c.source, c.loss.Weighting(), weight)
		}
	}
}

// TestDefaultEstimator checks that a config which names no estimator has the unbiased one where there is such an
// estimate.
func TestDefaultEstimator(t *testing.T) {
	for source, want := range map[string]string{"{}": "unbiased", "{aggregate: max}": "plain", "{estimator: plain}": "plain"} {
		o := labelled()
		l := losses.NewVariance()
		if err := config.Load("l.yaml", []byte(source), l); err != nil {
			t.Fatal(err)
		}
		got, err := l.Add(o)
		if err != nil {
			t.Fatal(err)
		}
		e := losses.Unbiased
		if want == "plain" {
			e = losses.Plain
		}
		groups, err := o.Labels.Groups()
		if err != nil {
			t.Fatal(err)
		}
		same, err := losses.Modularity(factor.Variance, l.Aggregate, e, o.Codes, groups)
		if err != nil {
			t.Fatal(err)
		}
		machine := gorgonia.NewTapeMachine(got.Graph())
		if err := machine.RunAll(); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got.Value()) != fmt.Sprint(same.Value()) {
			t.Errorf("%s: %v, want %v", source, got.Value(), same.Value())
		}
	}
}

func TestModularityLossErrors(t *testing.T) {
	for source, want := range map[string]string{
		"{weight: -1}":            "weight",
		"{aggregate: median}":     `unknown aggregate "median"`,
		"{on: images}":            `unknown codes "images"`,
		"{groups: colours}":       `unknown source of groups "colours"; known: factors, similarity`,
		"{codes: {x: []}}":        "want at least one",
		"{deviation: 1}":          "deviation",
		"{codes: {x: [0, 0]}}":    "different columns",
		"{weight: 1, weights: 2}": "weights",
	} {
		if err := config.Load("l.yaml", []byte(source), losses.NewVariance()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one that says %q", source, err, want)
		}
	}
	for _, c := range []struct {
		loss         *losses.ModularityLoss
		source, want string
	}{
		{losses.NewMAD(), "{estimator: unbiased}", "l.yaml:1:2: estimator: mad has no unbiased estimator; want estimator plain (unbiased is for variance and mpd)"},
		{losses.NewRadius(), "{estimator: unbiased}", "l.yaml:1:2: estimator: radius has no unbiased estimator"},
		{losses.NewDiameter(), "{aggregate: mean, estimator: unbiased}", "l.yaml:1:19: estimator: diameter has no unbiased estimator"},
		{losses.NewVariance(), "{aggregate: sum, estimator: unbiased}", "l.yaml:1:2: aggregate: the sum over values has no unbiased estimator; want aggregate mean, or estimator plain"},
		{losses.NewMPD(), "{weight: 2, aggregate: max, estimator: unbiased}", "l.yaml:1:13: aggregate: the max over values"},
		{losses.NewMPD(), "{estimator: exact}", `unknown estimator "exact"; known: unbiased, plain`},
	} {
		if err := config.Load("l.yaml", []byte(c.source), c.loss); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.source, err, c.want)
		}
	}
	broken := errors.New("no groups")
	for want, change := range map[string]func(l *losses.ModularityLoss, o *losses.Input){
		"labels of the factors": func(_ *losses.ModularityLoss, o *losses.Input) { o.Labels = nil },
		"it needs codes":        func(_ *losses.ModularityLoss, o *losses.Input) { o.Codes = nil },
		"needs codes":           func(l *losses.ModularityLoss, o *losses.Input) { l.On, o.Sample = losses.OnSample, nil },
		"no groups": func(_ *losses.ModularityLoss, o *losses.Input) {
			o.Labels.Groups = func() (*gorgonia.Node, error) { return nil, broken }
		},
		`no factor "colour"`: func(l *losses.ModularityLoss, _ *losses.Input) { l.Codes = factor.SubCodes{"colour": {0}} },
		"column 2":           func(l *losses.ModularityLoss, _ *losses.Input) { l.Codes = factor.SubCodes{"x": {2}} },
	} {
		l, o := losses.NewMAD(), labelled()
		change(l, o)
		if _, err := l.Add(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func ExampleRadius() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 2, 0, 0, 2, 0, 1, 0.5, 7, 7) // two groups: three points, and one
	groups := matrix(g, "groups", 4, 1, 0, 0, 0, 1)
	radius, err := losses.Radius(z, groups)
	if err != nil {
		fmt.Println(err)
		return
	}
	grad, err := gorgonia.Grad(radius, z)
	if err != nil {
		fmt.Println(err)
		return
	}
	run(g)
	fmt.Println(radius.Value(), grad[0].Value().Data())
	// Output: 1 [-0.5 0 0.5 0 0 0 0 0]
}
