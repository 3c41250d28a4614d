package engine

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// near compares float32 results.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 2e-6*max(1e-3, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Two steps of Adam agree with the formulas in double precision.
func TestAdam(t *testing.T) {
	a := &Adam{LR: 0.1, Beta1: 0.8, Beta2: 0.95, Epsilon: 1e-3, Decay: 0.2}
	start := []float64{1, -2, 3, 0.5, -0.25}
	x := [][]float32{{1, -2}, {3, 0.5, -0.25}}
	o := a.New([]Parameter{{Name: "one", Value: x[0]}, {Name: "two", Value: x[1]}})
	gradients := [][][]float32{{{0.5, -1}, {2, 0, 0.125}}, {{-0.5, 3}, {0.25, 1, -4}}}
	rate, clip := []float64{0.5, 1}, []float64{1, 0.25}
	mean, square := make([]float64, 5), make([]float64, 5)
	for step, g := range gradients {
		flat := append(append([]float32{}, g[0]...), g[1]...)
		var sum float64
		for _, v := range flat {
			sum += float64(v) * float64(v)
		}
		near(t, "norm", o.Norm(g), math.Sqrt(sum))
		o.Update(g, rate[step], clip[step])
		for i := range start {
			v := float64(flat[i]) * clip[step]
			mean[i] = a.Beta1*mean[i] + (1-a.Beta1)*v
			square[i] = a.Beta2*square[i] + (1-a.Beta2)*v*v
			k := float64(step + 1)
			lr := a.LR * rate[step]
			start[i] -= lr*(mean[i]/(1-math.Pow(a.Beta1, k)))/(math.Sqrt(square[i]/(1-math.Pow(a.Beta2, k)))+a.Epsilon) + lr*a.Decay*start[i]
		}
		for i, v := range append(append([]float32{}, x[0]...), x[1]...) {
			near(t, fmt.Sprintf("step %d, parameter %d", step+1, i), float64(v), start[i])
		}
	}
	steps, tensors := o.State()
	if *steps != 2 || len(tensors) != 4 || tensors[0].Name != "mean/one" || tensors[3].Name != "square/two" {
		t.Fatalf("%d steps, state %v", *steps, tensors)
	}
	near(t, "mean/one", float64(tensors[0].Value[1]), mean[1])
	near(t, "square/two", float64(tensors[3].Value[2]), square[4])

	// the state is complete: a new optimiser with this state continues equally
	y := [][]float32{append([]float32{}, x[0]...), append([]float32{}, x[1]...)}
	p := a.New([]Parameter{{Name: "one", Value: y[0]}, {Name: "two", Value: y[1]}})
	at, copies := p.State()
	*at = *steps
	for i := range tensors {
		copy(copies[i].Value, tensors[i].Value)
	}
	o.Update(gradients[0], 1, 1)
	p.Update(gradients[0], 1, 1)
	must.Equal(t, fmt.Sprint(x), fmt.Sprint(y), "a restored optimiser goes to")
}

// recorder is an optimiser that records the norm of the applied gradient.
type recorder struct {
	Optimizer
	norms []float64
}

func (r *recorder) Update(gradients [][]float32, rate, clip float64) {
	var sum float64
	for _, g := range gradients {
		for _, v := range g {
			sum += float64(v) * float64(v) * clip * clip
		}
	}
	r.norms = append(r.norms, math.Sqrt(sum))
	r.Optimizer.Update(gradients, rate, clip)
}

func TestClip(t *testing.T) {
	for _, limit := range []float64{0, 60} {
		loop := loopOf(t, tiny, "train.epochs=1", fmt.Sprint("train.clip=", limit))
		r := &recorder{Optimizer: named(loop, "supervised").optimizer}
		u := &recorder{Optimizer: named(loop, "unsupervised").optimizer}
		named(loop, "supervised").optimizer, named(loop, "unsupervised").optimizer = r, u
		for _, p := range loop.programs {
			p.learner.optimizer = named(loop, p.objective.Name).optimizer
		}
		var norms []float64
		loop.AddHook(Hook{Name: "norms", OnStep: func(_ context.Context, _ *Loop, s *StepReport) error {
			norms = append(norms, s.GradientNorm)
			return nil
		}})
		must.OK(t, loop.Run(context.Background()))
		clipped := 0
		for i, applied := range append(r.norms, u.norms...) {
			want := norms[i]
			if limit > 0 && want > limit {
				want = limit
				clipped++
			}
			if !(math.Abs(applied-want) <= 1e-5*want) {
				t.Errorf("limit %v, step %d: applied a gradient of norm %v, want %v", limit, i+1, applied, want)
			}
		}
		if limit > 0 && (clipped == 0 || clipped == len(norms)) {
			t.Errorf("%d of %d gradients were clipped: the test says nothing about one of the cases; norms %v", clipped, len(norms), norms)
		}
	}
}

// trajectory is a reference optimisation: ten steps of an optimiser with given gradients.
type trajectory struct {
	Settings string
	Scale    []float64 // scale of the learning rate
	W, B     []float64 // parameters after the last step
}

// Optimisers take the steps of PyTorch, or of their papers' formulas.
func TestOptimizersGolden(t *testing.T) {
	var golden struct {
		Start     map[string][]float64
		Gradients []map[string][]float64
		Cases     []trajectory
	}
	must.ReadJSON(t, "testdata/optimizers.json", &golden)
	tested := map[string]bool{"adam": true} // tested by TestAdam
	for _, c := range golden.Cases {
		t.Run(c.Settings, func(t *testing.T) {
			var choice struct{ O OptimizerChoice }
			must.OK(t, config.Load("", []byte("o: {"+c.Settings+"}"), &choice))
			tested[choice.O.Name] = true
			w, b := numeric.Convert[float32](golden.Start["w"]), numeric.Convert[float32](golden.Start["b"])
			o := choice.O.Value.New([]Parameter{{"w", w, []int{3, 4}}, {"b", b, []int{5}}})
			for i, g := range golden.Gradients {
				gw, gb := numeric.Convert[float32](g["w"]), numeric.Convert[float32](g["b"])
				clip := 1.0
				if i%3 == 1 { // gradients times their scale are equal
					clip = 0.25
					kernel.Scale(gw, 4, gw)
					kernel.Scale(gb, 4, gb)
				}
				o.Update([][]float32{gw, gb}, c.Scale[i], clip)
			}
			for i, want := range append(c.W, c.B...) {
				if got := float64(append(w, b...)[i]); !(math.Abs(got-want) <= 4e-6*max(1, math.Abs(want))) {
					t.Errorf("parameter %d is %v, want %v", i, got, want)
				}
			}
		})
	}
	for _, e := range Optimizers.Entries {
		if !tested[e.Name] {
			t.Errorf("no trajectory tests %s", e.Name)
		}
	}
}

// Weights stay finite if a gradient vanishes: the moments decay until the ratio of the norms overflows.
func TestTrustOverflow(t *testing.T) {
	for name, s := range map[string]OptimizerSettings{
		"lamb": &LAMB{LR: 1e-3, Beta1: 0.5, Beta2: 0.999, Epsilon: 1e-6},
		"lars": &LARS{LR: 0.2, Momentum: 0.9, Trust: 1e-3},
	} {
		w := []float32{1, 2, 3, 4}
		o := s.New([]Parameter{{"w", w, []int{2, 2}}})
		for g := float32(1); g > 0; g /= 2 {
			o.Update([][]float32{{g, 0, -g, g}}, 1, 1)
		}
		for range 200 {
			o.Update([][]float32{{0, 0, 0, 0}}, 1, 1)
		}
		for i, v := range w {
			if !finite(float64(v)) {
				t.Errorf("%s: weight %d is %v", name, i, v)
			}
		}
	}
}
