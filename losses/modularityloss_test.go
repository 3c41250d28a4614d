package losses_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// labelled has codes of two factors. The second factor is unknown for one image.
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
		want   float64 // first column: groups {0, 2} and {5, 5}; second column: {3, 6} and {8}
	}{
		{losses.NewVariance(), "{}", (2+0)/2. + 4.5}, // single images do not count
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
		must.OK(t, config.Load("l.yaml", []byte(c.source), c.loss))
		n := must.Get(c.loss.Add(labelled()))(t)
		if v := values(t, n); !(math.Abs(v[0]-c.want) <= 1e-12) {
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

// TestDefaultEstimator checks that a config without an estimator gets the unbiased estimator if it exists.
func TestDefaultEstimator(t *testing.T) {
	for source, want := range map[string]string{"{}": "unbiased", "{aggregate: max}": "plain", "{estimator: plain}": "plain"} {
		o := labelled()
		l := losses.NewVariance()
		must.OK(t, config.Load("l.yaml", []byte(source), l))
		got := must.Get(l.Add(o))(t)
		e := losses.Unbiased
		if want == "plain" {
			e = losses.Plain
		}
		groups := must.Get(o.Labels.Groups())(t)
		same := must.Get(losses.Modularity(factor.Variance, l.Aggregate, e, o.Codes, groups))(t)
		machine := gorgonia.NewTapeMachine(got.Graph())
		must.OK(t, machine.RunAll())
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
		"{codes: {x: [0, 0]}}":    "distinct columns",
		"{weight: 1, weights: 2}": "weights",
	} {
		must.Error(t, config.Load("l.yaml", []byte(source), losses.NewVariance()), want, source)
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
		must.Error(t, config.Load("l.yaml", []byte(c.source), c.loss), c.want, c.source)
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
		must.ErrorOf(l.Add(o))(t, want)
	}
}

func ExampleRadius() {
	g := gorgonia.NewGraph()
	z := matrix(g, "z", 4, 2, 0, 0, 2, 0, 1, 0.5, 7, 7) // a group of three points and a group of one
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
