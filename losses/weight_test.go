package losses_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

func TestRamps(t *testing.T) {
	decayed := math.Pow(0.995, 10)
	for _, c := range []struct {
		ramp losses.Ramp
		at   map[int]float64
	}{
		{losses.Ramp{From: 2, To: 8}, map[int]float64{0: 8, 1: 8}},
		{losses.Ramp{From: 2, To: 8, Steps: 1}, map[int]float64{0: 2, 1: 8}},
		{losses.Ramp{From: 2, To: 8, Steps: 4}, map[int]float64{0: 2, 1: 3.5, 3: 6.5, 4: 8, 5: 8, 1e9: 8}},
		{losses.Ramp{From: 8, To: 0, Steps: 4}, map[int]float64{0: 8, 1: 6, 4: 0, 5: 0}},
		{losses.Ramp{From: 2, To: 8, Steps: 4, Shape: losses.Cosine}, map[int]float64{0: 2, 1: 5 - 3*math.Sqrt2/2, 2: 5, 3: 5 + 3*math.Sqrt2/2, 4: 8, 5: 8}},
		// Fu et al. 2019 with four cycles of 400 steps and R = 0.5: beta is tau / R, tau = mod(t - 1, 100) / 100 for t
		// from 1.
		{losses.Ramp{To: 1, Steps: 50, Cycle: 100}, map[int]float64{0: 0, 25: 0.5, 49: 0.98, 50: 1, 99: 1, 100: 0, 125: 0.5, 399: 1, 400: 0}},
		{losses.Ramp{To: 1, Steps: 4, Cycle: 4}, map[int]float64{0: 0, 3: 0.75, 4: 0, 7: 0.75}},
		{losses.Ramp{To: 1, Cycle: 4}, map[int]float64{0: 1, 4: 1}},
		{losses.Ramp{From: 1, Decay: 0.995}, map[int]float64{0: 1, 1: 0.995, 10: decayed}},
		{losses.Ramp{From: 1, To: 3, Decay: 0.995, Cycle: 100}, map[int]float64{0: 1, 10: 3 - 2*decayed, 100: 1, 110: 3 - 2*decayed}},
	} {
		if err := c.ramp.Validate(); err != nil {
			t.Errorf("%+v: %v", c.ramp, err)
		}
		for step, want := range c.at {
			if got := c.ramp.At(step); !(math.Abs(got-want) <= 1e-14) {
				t.Errorf("%+v: %v in step %d, want %v", c.ramp, got, step, want)
			}
		}
	}
}

// A weight is a number or a ramp, and is written in the form in which it was read.
func TestWeightConfig(t *testing.T) {
	type settings struct {
		Weight losses.Weight `yaml:"weight"`
	}
	for _, c := range []struct {
		source, assignment string
		want               losses.Ramp
		text               string
	}{
		{"", "", losses.Ramp{To: 7}, "7.0"},
		{"4", "", losses.Ramp{To: 4}, "4.0"},
		{"0", "", losses.Ramp{}, "0.0"},
		{"4", "weight={to: 5, steps: 3}", losses.Ramp{To: 5, Steps: 3}, "{from: 0, to: 5, steps: 3}"},
		{"{steps: 100}", "", losses.Ramp{To: 7, Steps: 100}, "{from: 0, to: 7, steps: 100}"},
		{"{from: 1, to: 2, steps: 0}", "", losses.Ramp{From: 1, To: 2}, "2.0"},
		{"{from: 1, to: 2, steps: 10, shape: cosine, cycle: 20}", "weight.to=4", losses.Ramp{From: 1, To: 4, Steps: 10, Shape: losses.Cosine, Cycle: 20},
			"{from: 1, to: 4, steps: 10, shape: cosine, cycle: 20}"},
		{"{from: 1, to: 0, decay: 0.995}", "", losses.Ramp{From: 1, Decay: 0.995}, "{from: 1, to: 0, decay: 0.995}"},
		{"", "weight.decay=0.5", losses.Ramp{To: 7, Decay: 0.5}, "{from: 0, to: 7, decay: 0.5}"},
	} {
		s, source := settings{losses.Constant(7)}, ""
		if c.source != "" {
			source = "weight: " + c.source
		}
		var assignments []string
		if c.assignment != "" {
			assignments = []string{c.assignment}
		}
		if err := config.Load("w.yaml", []byte(source), &s, assignments...); err != nil || s.Weight.Ramp != c.want {
			t.Errorf("%q %q: %+v, %v, want %+v", c.source, c.assignment, s.Weight, err, c.want)
			continue
		}
		text := must.Get(config.Encode(s))(t)
		again := settings{losses.Constant(3)}
		if err := config.Load("again.yaml", text, &again); err != nil || again.Weight.At(2) != s.Weight.At(2) ||
			again.Weight.Constant() != s.Weight.Constant() {
			t.Errorf("%q is written as %s, which reads as %+v, %v", c.source, text, again.Weight, err)
		}
		if strings.HasSuffix(c.text, "}") {
			must.Equal(t, s.Weight.String(), c.text, c.source)
		} else if string(text) != "weight: "+c.text+"\n" {
			t.Errorf("%q is written as %s, want %s", c.source, text, c.text)
		}
	}
}

func TestWeightMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"-1":                                "w.yaml:1:10: weight: want a number from 0 to 1e12, got -1",
		"2e12":                              "weight: want a number from 0 to 1e12",
		"x":                                 "weight: want a number, got the text \"x\"",
		"[1, 2]":                            "weight: want a number, or {from: 0, to: 1, steps: 10000}",
		"{to: 4}":                           "weight: want the number of steps of the change, or a decay",
		"{}":                                "weight: want the number of steps",
		"{form: 1, steps: 3}":               `weight.form: unknown key "form"; did you mean "from"?`,
		"{from: -1, steps: 3}":              "w.yaml:1:11: weight.from: want a number from 0 to 1e12, got -1",
		"{to: .inf, steps: 3}":              "weight.to: want a number from 0",
		"{steps: -3}":                       "weight.steps: want 0 or more, got -3",
		"{steps: 1.5}":                      "weight.steps: want an integer, got 1.5",
		"{steps: 10, cycle: 5}":             "weight.cycle: want at least the 10 steps of the ramp, got 5",
		"{steps: 10, cycle: -5}":            "weight.cycle: want 0 or more, got -5",
		"{steps: 10, shape: square}":        `weight.shape: unknown shape "square"; known: linear, cosine; a geometric decay has no shape: {from: 1, to: 0, decay: 0.995}`,
		"{decay: 1}":                        "weight.decay: want a factor above 0 and below 1, got 1",
		"{decay: 0.5, steps: 10}":           "weight.decay: want steps or decay, got both",
		"{decay: 0.5, shape: cosine}":       "weight.shape: a decay has none",
		"{from: 1, to: 0, decay: 0, to: 1}": "to",
		"{from: 1, to: 0, decay: 0}":        "weight.decay: want a factor above 0 and below 1, got 0",
	} {
		s := struct {
			Weight losses.Weight `yaml:"weight"`
		}{losses.Constant(7)}
		must.Error(t, config.Load("w.yaml", []byte("{weight: "+source+"}"), &s), want, source)
	}
}

// At its capacity a divergence has no gradient, and the gradient changes sign there.
func TestCapacityAtEquality(t *testing.T) {
	for capacity, want := range map[float64]float64{1.5: 2, 2: 0, 2.5: -2} { // KL(N(2, 1) || N(0, 1)) is 2, its slope 2
		g := gorgonia.NewGraph()
		mu, logSigma, c := matrix(g, "mu", 1, 1, 2), matrix(g, "log sigma", 1, 1, 0), matrix(g, "c", 1, 1, capacity)
		kl := must.Get(losses.KLGaussian(mu, logSigma))(t)
		loss := must.Get(losses.Capacity(kl, c))(t)
		slopes := must.Get(gorgonia.Grad(loss, mu, logSigma))(t)
		m := must.Get(machine.New(g, append(slopes, loss)...))(t)
		must.OK(t, m.RunAll())
		slope, scale, value := m.Value(slopes[0]).Data(), m.Value(slopes[1]).Data(), m.Value(loss).Data()
		if slope.([]float64)[0] != want || scale.([]float64)[0] != 0 || value.(float64) != math.Abs(2-capacity) {
			t.Errorf("capacity %v: value %v, slopes %v and %v, want %v and 0", capacity, value, slope, scale, want)
		}
	}
}

// given is a loss with a given node.
type given struct {
	node   *gorgonia.Node
	weight losses.Weight
}

func (l given) Add(*losses.Input) (*gorgonia.Node, error) { return l.node, nil }
func (l given) Weighting() losses.Weight                  { return l.weight }

// weights is a trainer that gives the nodes for schedules.
type weights struct {
	losses.Requests
	nodes []*gorgonia.Node
}

func (w *weights) Schedule(_ string, at func(step int) float64) (*gorgonia.Node, error) {
	n := w.nodes[0]
	w.nodes = w.nodes[1:]
	return n, nil
}

// The total of changing weights is differentiable, even if weights and losses are 0, and equals the total of constant
// weights.
func TestChangingWeights(t *testing.T) {
	ramp := losses.Weight{Ramp: losses.Ramp{To: 1, Steps: 4}}
	build := func(of ...losses.Weight) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			var all []losses.Choice
			for i, w := range of {
				all = append(all, losses.Choice{Name: "given", Value: given{n[i], w}})
			}
			o, err := losses.Compose(&losses.Outputs{}, losses.Batch{}, &weights{nodes: n[len(of):]}, all)
			if err != nil {
				return nil, err
			}
			return o.Total, nil
		}
	}
	value := func(v ...float64) func([][]float64) []float64 { return func([][]float64) []float64 { return v } }
	number := func(v float64, shape ...int) gradcheck.Input {
		return gradcheck.Input{Shape: append([]int{}, shape...), Values: []float64{v}}
	}
	for _, c := range []gradcheck.Case{
		{Name: "one", Inputs: []gradcheck.Input{number(3), number(0.25, 1)}, Build: build(ramp), Want: value(0.75)},
		{Name: "a weight of 0", Inputs: []gradcheck.Input{number(3), number(0, 1)}, Build: build(ramp), Want: value(0)},
		{Name: "among constants", Inputs: []gradcheck.Input{number(3), number(5), number(7), number(0.25, 1)}, Build: build(losses.Constant(2), ramp, losses.Constant(0)), Want: value(7.25)},
		{Name: "two", Inputs: []gradcheck.Input{number(3), number(0), number(7), number(0.25, 1), number(4, 1)}, Build: build(ramp, losses.Constant(1), ramp), Want: value(28.75)},
	} {
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
	}
}

// A changing weight is an input. A weight out of range, or without a trainer to set it, is an error.
func TestWeightsOfParts(t *testing.T) {
	in := outputs()
	o, err := losses.ComposeInput(in, choose(t, "[reconstruction, {kl: {weight: {from: 0.5, to: 1, steps: 4}}}]"))
	must.Error(t, err, "loss kl: it needs the input weight, which a trainer gives", o)
	g := gorgonia.NewGraph()
	x := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithValue(2.0))
	for w, want := range map[float64]string{-1: "loss given: weight: want a number from 0 to 1e12, got -1", math.NaN(): "weight: want a number"} {
		must.ErrorOf(losses.Compose(&losses.Outputs{}, losses.Batch{}, nil,
			[]losses.Choice{{Name: "given", Value: given{x, losses.Constant(w)}}}))(t, want, w)
	}
}
