//go:build gpu

package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/train/engine"
)

func normals(seed uint64, n int) []float32 {
	x := make([]float32, n)
	rng.New(seed, "").Normals(x)
	return x
}

func zeros(n int) []float32 { return make([]float32, n) }

func hostNumbers(t *testing.T, d *vulkan.Device) vulkan.Buffer {
	t.Helper()
	b := must.Get(d.AllocHost(4 * kernels.Numbers))(t)
	t.Cleanup(func() { d.Free(b) })
	return b
}

// trained returns the elements after several steps of an optimiser on the device. The gradients change.
func trained(t *testing.T, d *vulkan.Device, w vulkan.Buffer, n, steps int, g vulkan.Buffer,
	record func(*vulkan.Tape), set func(step int)) []float32 {
	t.Helper()
	tape := d.NewTape()
	defer tape.Close()
	record(tape)
	must.OK(t, tape.Compile())
	for step := range steps {
		must.OK(t, d.Upload(g, normals(uint64(100+step), n)))
		set(step)
		must.OK(t, tape.Run())
	}
	return download(t, d, w, n)
}

func near(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	for i, w := range want {
		if e := math.Abs(float64(got[i] - w)); !(e <= tolerance*max(1, math.Abs(float64(w)))) {
			t.Fatalf("%s, element %d: %v; want %v, within %v", what, i, got[i], w, tolerance)
		}
	}
}

func TestOptimisers(t *testing.T) {
	d := open(t)
	const steps = 5
	for _, n := range []int{1, 1000, 70000} {
		for name, c := range map[string]struct {
			settings engine.OptimizerSettings
			shape    []int
			record   func(t *vulkan.Tape, w, m, v, g, numbers vulkan.Buffer)
			set      func(numbers vulkan.Buffer, step int, rate, clip float64)
		}{
			"adam": {engine.NewAdam(), []int{n}, func(t *vulkan.Tape, w, m, v, g, numbers vulkan.Buffer) {
				kernels.Adam(t, w, m, v, g, numbers, n, false)
			}, func(numbers vulkan.Buffer, step int, rate, clip float64) {
				kernels.SetAdam(numbers, kernel.AdamConstants{LearningRate: 1e-3 * rate, Beta1: 0.9, Beta2: 0.999,
					Epsilon: 1e-7, Clip: clip}, step+1, 0)
			}},
			"adamw": {engine.NewAdamW(), []int{n}, func(t *vulkan.Tape, w, m, v, g, numbers vulkan.Buffer) {
				kernels.Adam(t, w, m, v, g, numbers, n, true)
			}, func(numbers vulkan.Buffer, step int, rate, clip float64) {
				kernels.SetAdam(numbers, kernel.AdamConstants{LearningRate: 1e-3 * rate, Beta1: 0.9, Beta2: 0.999,
					Epsilon: 1e-8, Clip: clip}, step+1, 0.01)
			}},
			"sgd without momentum": {&engine.SGD{LR: 0.1, Decay: 0.2}, []int{n}, func(t *vulkan.Tape, w, m, _, g,
				numbers vulkan.Buffer) {
				kernels.SGD(t, w, vulkan.Buffer{}, g, numbers, n, false, true)
			}, func(numbers vulkan.Buffer, _ int, rate, clip float64) {
				kernels.Descent{Rate: 0.1 * rate, Clip: clip, Decay: 0.2}.Set(numbers)
			}},
			"sgd with dampening": {&engine.SGD{LR: 0.1, Momentum: 0.9, Dampening: 0.5, Decay: 0.2}, []int{n},
				func(t *vulkan.Tape, w, m, _, g, numbers vulkan.Buffer) {
					kernels.SGD(t, w, m, g, numbers, n, false, true)
				}, func(numbers vulkan.Buffer, step int, rate, clip float64) {
					fresh := 0.5
					if step == 0 {
						fresh = 1
					}
					kernels.Descent{Rate: 0.1 * rate, Momentum: 0.9, Fresh: fresh, Clip: clip, Decay: 0.2}.Set(numbers)
				}},
			"nesterov without decay": {&engine.SGD{LR: 0.1, Momentum: 0.9, Nesterov: true}, []int{n}, func(t *vulkan.Tape, w,
				m, _, g, numbers vulkan.Buffer) {
				kernels.SGD(t, w, m, g, numbers, n, true, false)
			}, func(numbers vulkan.Buffer, _ int, rate, clip float64) {
				kernels.Descent{Rate: 0.1 * rate, Momentum: 0.9, Fresh: 1, Clip: clip, Decay: 3}.Set(numbers)
			}},
			"lars": {&engine.LARS{LR: 0.2, Momentum: 0.9, Trust: 0.5, Decay: 0.01, Exclude: "biases-and-norms"},
				[]int{n, 1}, func(t *vulkan.Tape, w, m, _, g, numbers vulkan.Buffer) {
					kernels.LARS(t, w, m, g, numbers, n)
				}, func(numbers vulkan.Buffer, _ int, rate, clip float64) {
					kernels.Descent{Rate: 0.2 * rate, Momentum: 0.9, Fresh: 1, Clip: clip, Decay: 0.01, Trust: 0.5}.Set(numbers)
				}},
			"lars of a bias": {&engine.LARS{LR: 0.2, Momentum: 0.9, Trust: 0.5, Decay: 0.01,
				Exclude: "biases-and-norms"}, []int{n}, func(t *vulkan.Tape, w, m, _, g, numbers vulkan.Buffer) {
				kernels.SGD(t, w, m, g, numbers, n, false, false)
			}, func(numbers vulkan.Buffer, _ int, rate, clip float64) {
				kernels.Descent{Rate: 0.2 * rate, Momentum: 0.9, Fresh: 1, Clip: clip, Decay: 0.01, Trust: 0.5}.Set(numbers)
			}},
		} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				want := normals(1, n)
				o := c.settings.New([]engine.Parameter{{Name: "w", Value: want, Shape: c.shape}})
				rates := []float64{1, 0.5, 2, 0, 1}
				for step := range steps {
					o.Update([][]float32{normals(uint64(100+step), n)}, rates[step], 1/float64(step+1))
				}
				numbers := hostNumbers(t, d)
				var runs [2][]float32
				for i := range runs {
					w, m, v, g := upload(t, d, normals(1, n)), upload(t, d, zeros(n)), upload(t, d, zeros(n)), upload(t, d, zeros(n))
					runs[i] = trained(t, d, w, n, steps, g, func(t *vulkan.Tape) { c.record(t, w, m, v, g, numbers) },
						func(step int) { c.set(numbers, step, rates[step], 1/float64(step+1)) })
				}
				near(t, "weights", runs[0], want, 2e-6)
				near(t, "a second run", runs[1], runs[0], 0)
			})
		}
	}
}

// A tensor of zeros, and gradients of zeros, have no ratio of norms.
func TestOptimisersWithoutNorm(t *testing.T) {
	d := open(t)
	const n = 300
	for name, c := range map[string]struct{ w, g []float32 }{"weights": {zeros(n), normals(2, n)},
		"gradients": {normals(1, n), zeros(n)}} {
		want := append([]float32(nil), c.w...)
		o := (&engine.LARS{LR: 0.2, Momentum: 0.9, Trust: 0.5}).New([]engine.Parameter{{Name: "w", Value: want,
			Shape: []int{n, 1}}})
		o.Update([][]float32{c.g}, 1, 1)
		w, numbers, tape := upload(t, d, c.w), hostNumbers(t, d), d.NewTape()
		kernels.LARS(tape, w, upload(t, d, zeros(n)), upload(t, d, c.g), numbers, n)
		kernels.Descent{Rate: 0.2, Momentum: 0.9, Fresh: 1, Clip: 1, Trust: 0.5}.Set(numbers)
		play(t, tape)
		near(t, name, download(t, d, w, n), want, 1e-6)
		tape.Close()
		want = append([]float32(nil), c.w...)
		(&engine.LAMB{LR: 0.2, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-6}).New([]engine.Parameter{{Name: "w", Value: want,
			Shape: []int{n, 1}}}).Update([][]float32{c.g}, 1, 1)
		w, tape = upload(t, d, c.w), d.NewTape()
		kernels.LAMB(tape, w, upload(t, d, zeros(n)), upload(t, d, zeros(n)), upload(t, d, c.g), numbers, n, true, false)
		kernels.SetLAMB(numbers, kernel.AdamConstants{LearningRate: 0.2, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-6, Clip: 1}, 1, 0)
		play(t, tape)
		near(t, "lamb, "+name, download(t, d, w, n), want, 1e-5)
		tape.Close()
	}
}

// RMSProp and LAMB agree with the CPU and with the formulas in float64.
func TestOptimisersOfMoments(t *testing.T) {
	d := open(t)
	lamb := func(decay, excluded bool) func(*vulkan.Tape, vulkan.Buffer, []vulkan.Buffer, vulkan.Buffer, vulkan.Buffer, int) {
		return func(t *vulkan.Tape, w vulkan.Buffer, s []vulkan.Buffer, g, numbers vulkan.Buffer, n int) {
			kernels.LAMB(t, w, s[0], s[1], g, numbers, n, decay, excluded)
		}
	}
	rms := func(centred, moving, decay bool) func(*vulkan.Tape, vulkan.Buffer, []vulkan.Buffer, vulkan.Buffer, vulkan.Buffer, int) {
		return func(t *vulkan.Tape, w vulkan.Buffer, s []vulkan.Buffer, g, numbers vulkan.Buffer, n int) {
			var m, v vulkan.Buffer
			if centred {
				m = s[1]
			}
			if moving {
				v = s[2]
			}
			kernels.RMSProp(t, w, s[0], m, v, g, numbers, n, decay)
		}
	}
	for name, c := range map[string]struct {
		settings engine.OptimizerSettings
		axes     int
		record   func(t *vulkan.Tape, w vulkan.Buffer, states []vulkan.Buffer, g, numbers vulkan.Buffer, n int)
	}{
		"rmsprop":         {engine.NewRMSProp(), 2, rms(false, false, false)},
		"rmsprop decayed": {&engine.RMSProp{LR: 0.01, Alpha: 0.9, Epsilon: 1e-6, Decay: 0.3}, 2, rms(false, false, true)},
		"rmsprop centred": {&engine.RMSProp{LR: 0.01, Alpha: 0.9, Epsilon: 1e-3, Centred: true}, 2, rms(true, false, false)},
		"rmsprop moving": {&engine.RMSProp{LR: 0.01, Alpha: 0.9, Epsilon: 1e-3, Centred: true, Momentum: 0.8, Decay: 0.3}, 2,
			rms(true, true, true)},
		"lamb":               {engine.NewLAMB(), 2, lamb(true, false)},
		"lamb of a bias":     {engine.NewLAMB(), 1, lamb(true, true)},
		"lamb without decay": {&engine.LAMB{LR: 0.1, Beta1: 0.5, Beta2: 0.9, Epsilon: 1e-3}, 2, lamb(false, false)},
	} {
		for _, n := range []int{1, 257, 70001} {
			t.Run(fmt.Sprint(name, " ", n), func(t *testing.T) {
				double, want := numeric.Convert[float64](normals(1, n)), normals(1, n)
				o := c.settings.New([]engine.Parameter{{Name: "w", Value: want, Shape: []int{n, 1}[:c.axes]}})
				states, numbers := [3][]float64{make([]float64, n), make([]float64, n), make([]float64, n)}, hostNumbers(t, d)
				rates, clip := []float64{1, 0.5, 2, 0, 1}, func(step int) float64 { return 1 / float64(step+1) }
				var runs [2][]float32
				for step, rate := range rates {
					g := normals(uint64(100+step), n)
					o.Update([][]float32{g}, rate, clip(step))
					inFloat64(c.settings, double, states, numeric.Convert[float64](g), step+1, rate, clip(step), c.axes == 1)
				}
				for i := range runs {
					w, g := upload(t, d, normals(1, n)), upload(t, d, zeros(n))
					buffers := []vulkan.Buffer{upload(t, d, zeros(n)), upload(t, d, zeros(n)), upload(t, d, zeros(n))}
					runs[i] = trained(t, d, w, n, len(rates), g, func(t *vulkan.Tape) { c.record(t, w, buffers, g, numbers, n) },
						func(step int) { setMoments(c.settings, numbers, step, rates[step], clip(step)) })
				}
				near(t, "weights", runs[0], want, 1e-5)
				near(t, "weights in float64", runs[0], numeric.Convert[float32](double), 1e-5)
				near(t, "a second run", runs[1], runs[0], 0)
			})
		}
	}
}

func setMoments(settings engine.OptimizerSettings, numbers vulkan.Buffer, step int, rate, clip float64) {
	switch s := settings.(type) {
	case *engine.RMSProp:
		kernels.RootSquare{Rate: s.LR * rate, Alpha: s.Alpha, Clip: clip, Decay: s.Decay, Epsilon: s.Epsilon,
			Momentum: s.Momentum}.Set(numbers)
	case *engine.LAMB:
		kernels.SetLAMB(numbers, kernel.AdamConstants{LearningRate: s.LR * rate, Beta1: s.Beta1, Beta2: s.Beta2,
			Epsilon: s.Epsilon, Clip: clip}, step+1, s.Decay)
	}
}

// inFloat64 takes a step of RMSProp or LAMB with the documented formulas.
func inFloat64(settings engine.OptimizerSettings, w []float64, states [3][]float64, g []float64, step int,
	rate, clip float64, excluded bool) {
	switch s := settings.(type) {
	case *engine.RMSProp:
		for i := range w {
			x := clip*g[i] + s.Decay*w[i]
			states[0][i] = s.Alpha*states[0][i] + (1-s.Alpha)*x*x
			root := states[0][i]
			if s.Centred {
				states[1][i] = s.Alpha*states[1][i] + (1-s.Alpha)*x
				root -= states[1][i] * states[1][i]
			}
			states[2][i] = s.Momentum*states[2][i] + x/(math.Sqrt(max(root, 0))+s.Epsilon)
			w[i] -= s.LR * rate * states[2][i]
		}
	case *engine.LAMB:
		u, weights, norm := make([]float64, len(w)), 0.0, 0.0
		for i := range w {
			x := clip * g[i]
			states[0][i] = s.Beta1*states[0][i] + (1-s.Beta1)*x
			states[1][i] = s.Beta2*states[1][i] + (1-s.Beta2)*x*x
			u[i] = states[0][i] / (1 - math.Pow(s.Beta1, float64(step))) /
				(math.Sqrt(states[1][i]/(1-math.Pow(s.Beta2, float64(step)))) + s.Epsilon)
			if !excluded {
				u[i] += s.Decay * w[i]
			}
			weights, norm = weights+w[i]*w[i], norm+u[i]*u[i]
		}
		ratio := math.Sqrt(weights) / math.Sqrt(norm)
		if excluded || weights == 0 || norm == 0 {
			ratio = 1
		}
		for i := range w {
			w[i] -= s.LR * rate * ratio * u[i]
		}
	}
}

// The old content of a sum's memory has no effect, even if it is not a number.
func TestAccumulate(t *testing.T) {
	d := open(t)
	for _, n := range []int{1, 257, 70001} {
		before := normals(1, n)
		before[0] = float32(math.NaN())
		sum, g, numbers, want := upload(t, d, before), upload(t, d, zeros(n)), hostNumbers(t, d), make([]float64, n)
		got := trained(t, d, sum, n, 3, g, func(t *vulkan.Tape) { kernels.Accumulate(t, sum, g, numbers, n) },
			func(step int) {
				scale := []float64{1, 1, 1.0 / 96}[step]
				kernels.SetAccumulate(numbers, step == 0, float64(48/(step+1)), scale)
				for i, v := range normals(uint64(100+step), n) {
					want[i] = scale * (want[i] + float64(48/(step+1))*float64(v))
				}
			})
		near(t, fmt.Sprint(n, " elements"), got, numeric.Convert[float32](want), 1e-6)
	}
}

func TestAverage(t *testing.T) {
	d := open(t)
	const n = 20000
	for _, momentum := range []float64{0, 0.99} {
		a, w := normals(1, n), normals(2, n)
		want := make([]float32, n)
		for i := range want {
			want[i] = float32(momentum*float64(a[i]) + (1-momentum)*float64(w[i]))
		}
		average, numbers, tape := upload(t, d, a), hostNumbers(t, d), d.NewTape()
		kernels.Average(tape, average, upload(t, d, w), numbers, n)
		kernels.SetAverage(numbers, momentum)
		play(t, tape)
		near(t, fmt.Sprint("momentum ", momentum), download(t, d, average, n), want, 1e-6)
		tape.Close()
	}
}

func TestSums(t *testing.T) {
	d := open(t)
	for _, n := range []int{1, 255, 1025, 70000, 300007} {
		x, y := normals(1, n), normals(2, n)
		var sum, dot, squares float64
		for i, v := range x {
			sum += float64(v)
			dot += float64(v) * float64(y[i])
			squares += float64(v)*float64(v) + float64(y[i])*float64(y[i])
		}
		bx, by := upload(t, d, x), upload(t, d, y)
		tape := d.NewTape()
		out := []vulkan.Buffer{blank(t, d, 1), blank(t, d, 1), blank(t, d, 1)}
		kernels.Sum(tape, bx, out[0], 0.5, n)
		tape.EndOperation()
		kernels.KLCategorical(tape, bx, by, out[1], 3, 2, n)
		tape.EndOperation()
		kernels.SquaredNorm(tape, []vulkan.Buffer{bx, by}, []int{n, n}, out[2])
		play(t, tape)
		for i, want := range []float64{0.5 * sum, 3 + dot/2, squares} {
			got := result(t, d, "sum", out[i], 1)[0]
			if e := math.Abs(got - want); !(e <= 1e-7*squares) {
				t.Errorf("sum %d of %d elements: %v; want %v", i, n, got, want)
			}
			must.OK(t, tape.Run())
			if again := result(t, d, "sum", out[i], 1)[0]; again != got {
				t.Errorf("sum %d of %d elements: %v, and %v in another run", i, n, got, again)
			}
		}
		tape.Close()
	}
}
