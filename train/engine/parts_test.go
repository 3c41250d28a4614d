package engine

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// weightsOf copies all parameters of a loop's model.
func weightsOf(l *Loop) map[string][]float32 {
	all := map[string][]float32{}
	for _, name := range l.Params().Names() {
		all[name] = slices.Clone(l.Params().Get(name).Float32s())
	}
	return all
}

func sameWeights(a, b map[string][]float32) bool { return maps.EqualFunc(a, b, slices.Equal) }

// moved returns the change of every parameter in the first step of a task, by gradient descent.
func moved(t *testing.T, overrides ...string) map[string][]float32 {
	t.Helper()
	l := loopOf(t, viewed, append([]string{"views.count=1", "train.epochs=1",
		"train.optimizer={sgd: {lr: 0.125, momentum: 0}}"}, overrides...)...)
	l.AddHook(Hook{OnStep: func(_ context.Context, l *Loop, _ *StepReport) error { l.Stop("one step"); return nil }})
	before := weightsOf(l)
	must.OK(t, l.Run(context.Background()))
	after := weightsOf(l)
	for name, x := range after {
		for i := range x {
			x[i] -= before[name][i]
		}
	}
	return after
}

// Parts have different rates. With plain gradient descent, a step is proportional to the rate.
func TestPartRates(t *testing.T) {
	plain := moved(t)
	for _, c := range []struct {
		parts  string
		factor func(name string) float64
	}{
		{"[{match: decoder/*, lr: 0.5}]", func(name string) float64 {
			if strings.HasPrefix(name, "decoder/") {
				return 4
			}
			return 1
		}},
		{"[{match: ['*'], lr: 0.25}, {match: [decoder/*, '*/bias'], lr: 0.0625}]", func(name string) float64 { // the last match counts
			if strings.HasPrefix(name, "decoder/") || strings.HasSuffix(name, "/bias") {
				return 0.5
			}
			return 2
		}},
	} {
		got := moved(t, "train.parts="+c.parts)
		for name, x := range plain {
			for i, v := range x {
				if want := c.factor(name) * float64(v); !(math.Abs(float64(got[name][i])-want) <= 1e-6+1e-4*math.Abs(want)) {
					t.Fatalf("%s: %s moves by %v, want %v", c.parts, name, got[name][i], want)
				}
			}
		}
	}
}

// Each option comes from the last part with this option.
func TestPartDecay(t *testing.T) {
	parts := []Part{{Match: Patterns{"a*"}, LR: new(float64), Decay: new(float64)}, {Match: Patterns{"*b"}, LR: new(float64)}}
	*parts[0].LR, *parts[0].Decay, *parts[1].LR = 0.5, 0.25, 2
	s := Settings{Optimizer: &SGD{LR: 1}, Parts: parts}
	x := map[string][]float32{"a": {1}, "ab": {1}, "b": {1}, "c": {1}}
	var list []Parameter
	var gradients [][]float32
	for _, name := range []string{"a", "ab", "b", "c"} {
		list, gradients = append(list, Parameter{Name: name, Value: x[name]}), append(gradients, []float32{0.125})
	}
	o := must.Get(s.newOptimizer(list))(t)
	near(t, "norm", o.Norm(gradients), 0.25)
	o.Update(gradients, 1, 1)
	for name, want := range map[string]float32{"a": 1 - 0.5*(0.125+0.25), "ab": 1 - 2*(0.125+0.25), "b": 1 - 2*0.125, "c": 1 - 0.125} {
		must.Equal(t, x[name][0], want, name)
	}
	if steps, _ := o.State(); *steps != 1 {
		t.Errorf("%d steps, want 1", *steps)
	}
}

func TestPartMistakes(t *testing.T) {
	for parts, want := range map[string]string{
		"[{match: encodr/*, lr: 1}]":                     `no parameter fits "encodr/*"`,
		"[{match: '*', lr: 0}]":                          "0 is out of range; want a number above 0",
		"[{match: '*', lr: 1}, {match: '*', decay: -1}]": "-1 is out of range; want a number from 0 on",
	} {
		task, settings := taskOf(t, viewed, "views.count=1", "train.parts="+parts)
		must.ErrorOf(New(task, settings))(t, want, parts)
	}
	task, settings := taskOf(t, viewed, "views.count=1", "train.parts=[{match: '*', decay: 0.1}]")
	settings.Optimizer = &plainRate{}
	must.ErrorOf(New(task, settings))(t, "the optimizer has no option decay")
}

// plainRate is an optimiser with one option.
type plainRate struct {
	LR float64 `yaml:"lr"`
}

func (p *plainRate) New(parameters []Parameter) Optimizer { return (&SGD{LR: p.LR}).New(parameters) }
