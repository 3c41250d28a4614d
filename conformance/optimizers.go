package conformance

import (
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/train/engine"
)

// CheckOptimizer returns the faults of an entry of the registry of optimisers, with its defaults:
//
//   - a quadratic function of parameters of several sizes that does not fall to a hundredth in 3000 steps;
//   - a step that differs for equal parameters and gradients: when repeated later, or with 1, 2 or 5 threads;
//   - a state from which a new optimiser does not continue with the same bits;
//   - state tensors with equal names, state tensors that differ at the next call, or a count that does not
//     increase by 1 per step;
//   - a step of rate 0 that changes a parameter, or a step of rate 1 that changes none;
//   - a clip that does not scale the gradients: clip 1/2 must equal clip 1 of halved gradients, to the bit;
//   - a norm with a relative error above 1e-5 against the Euclidean norm of all gradients; changed gradients.
func CheckOptimizer(e registry.Entry[engine.OptimizerSettings]) error {
	return faultsOfEntry("optimizer", e, func(f *findings, s engine.OptimizerSettings) {
		x := &optimizerCheck{findings: f, settings: s}
		x.run(x.descends, x.repeats, x.restores, x.scales, x.norms)
	})
}

// optimizerSizes are the sizes of the optimised tensors, smaller and larger than the blocks of a kernel and a thread.
var optimizerSizes = []int{1, 7, 33, 70000}

type optimizerCheck struct {
	*findings
	settings engine.OptimizerSettings
}

// quadratic is the sum of a (x - c)^2 / 2 over all elements, with 0.5 <= a <= 2, and the optimiser that minimises it.
type quadratic struct {
	parameters []engine.Parameter
	a, c       [][]float32
	gradients  [][]float32
	optimizer  engine.Optimizer
}

func (x *optimizerCheck) quadratic(sizes []int) *quadratic {
	q, s := &quadratic{}, rng.New(1, "optimizer")
	for i, n := range sizes {
		a, c, start := make([]float32, n), make([]float32, n), make([]float32, n) // not 0: a step may be a fraction of a parameter
		for j := range a {
			a[j], c[j], start[j] = 0.5+1.5*s.Float32(), s.Float32()-0.5, 2*s.Float32()-1
		}
		q.parameters = append(q.parameters,
			engine.Parameter{Name: fmt.Sprint("tensor", i), Value: start, Shape: []int{1, n}[1-i%2:]}) // two axes, or one
		q.a, q.c, q.gradients = append(q.a, a), append(q.c, c), append(q.gradients, make([]float32, n))
	}
	q.optimizer = x.settings.New(q.parameters)
	return q
}

func (q *quadratic) value() (sum float64) {
	for i, p := range q.parameters {
		for j, v := range p.Value {
			d := v - q.c[i][j]
			q.gradients[i][j] = q.a[i][j] * d
			sum += float64(q.a[i][j]) * float64(d) * float64(d) / 2
		}
	}
	return sum
}

func (q *quadratic) step(rate, clip float64) {
	q.value()
	q.optimizer.Norm(q.gradients)
	q.optimizer.Update(q.gradients, rate, clip)
}

func (q *quadratic) bits() (list [][]float32) {
	for _, p := range q.parameters {
		list = append(list, slices.Clone(p.Value))
	}
	return list
}

func sameRows(a, b [][]float32) bool { return slices.EqualFunc(a, b, sameBits) }

func (x *optimizerCheck) descends() {
	q := x.quadratic([]int{1, 7, 33})
	initial := q.value()
	for range 3000 {
		q.step(1, 1)
	}
	if final := q.value(); !(final <= initial/100) {
		x.add("a quadratic function falls from %.3g to %.3g in 3000 steps; want a hundredth or less", initial, final)
	}
}

func (x *optimizerCheck) repeats() {
	var want [][]float32
	for _, threads := range []int{1, 1, 2, 5} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			q := x.quadratic(optimizerSizes)
			for range 3 {
				q.step(1, 1)
			}
			switch got := q.bits(); {
			case want == nil:
				want = got
			case !sameRows(got, want) && threads == 1:
				x.add("the same steps lead to other parameters the second time; want steps that depend on parameters, gradients and state alone")
			case !sameRows(got, want):
				x.add("steps lead to other parameters with %d threads than with 1; want the same bits", threads)
			}
		}()
	}
}

func (x *optimizerCheck) restores() {
	q := x.quadratic(optimizerSizes)
	for i := range 4 {
		if count, _ := q.optimizer.State(); *count != i {
			x.fatal("after %d steps its state says %d", i, *count)
		}
		q.step(1, 1)
	}
	steps, tensors := q.optimizer.State()
	_, repeated := q.optimizer.State()
	names := map[string]bool{}
	for i, p := range tensors {
		if names[p.Name] {
			x.add("two tensors of its state are called %q; want different names", p.Name)
		}
		names[p.Name] = true
		if len(repeated) != len(tensors) || repeated[i].Name != p.Name ||
			len(p.Value) > 0 && &repeated[i].Value[0] != &p.Value[0] {
			x.fatal("State returns new tensors at every call; want the tensors that the optimiser uses, because callers write to them")
		}
	}
	second := x.quadratic(optimizerSizes)
	for i, p := range q.parameters {
		copy(second.parameters[i].Value, p.Value)
	}
	count, restored := second.optimizer.State()
	if len(restored) != len(tensors) {
		x.fatal("a new optimiser of the same parameters has %d state tensors, not %d", len(restored), len(tensors))
	}
	*count = *steps
	for i, p := range tensors {
		copy(restored[i].Value, p.Value)
	}
	for range 2 {
		q.step(1, 1)
		second.step(1, 1)
	}
	if !sameRows(q.bits(), second.bits()) {
		x.add("an optimiser that is restored from its state does not take the same steps; want all that steps depend on in State")
	}
}

func (x *optimizerCheck) scales() {
	q := x.quadratic(optimizerSizes)
	q.step(1, 1)
	original := q.bits()
	q.step(0, 1)
	if !sameRows(q.bits(), original) {
		x.add("a step with a learning-rate multiplier of 0 moves parameters")
	}
	q.step(1, 1)
	if sameRows(q.bits(), original) {
		x.add("a step with a learning-rate multiplier of 1 moves no parameter")
	}
	full, halves := x.quadratic(optimizerSizes), x.quadratic(optimizerSizes)
	for range 2 {
		full.step(1, 0.5)
		halves.value()
		for _, g := range halves.gradients {
			for j := range g {
				g[j] *= 0.5
			}
		}
		halves.optimizer.Update(halves.gradients, 1, 1)
	}
	if !sameRows(full.bits(), halves.bits()) {
		x.add("a clip of 1/2 and halved gradients with a clip of 1 have different results; want the clip as a factor of the gradients")
	}
}

func (x *optimizerCheck) norms() {
	q := x.quadratic(optimizerSizes)
	q.value()
	var original [][]float32
	for _, g := range q.gradients {
		original = append(original, slices.Clone(g))
	}
	want := length(numeric.Convert[float64](slices.Concat(original...)))
	if got := q.optimizer.Norm(q.gradients); !(math.Abs(got-want) <= 1e-5*want) {
		x.add("Norm is %v; want %v, the root of the sum of all squares", got, want)
	}
	q.optimizer.Update(q.gradients, 1, 1)
	if !sameRows(q.gradients, original) {
		x.add("a step changes the gradients that it is given")
	}
}

// CheckSchedule returns the faults of an entry of the registry of schedules, with its defaults. It runs trainings of
// 1 to 1000 epochs, from the start to an epoch after the end. Faults are:
//
//   - a negative or non-finite rate, or one outside its range (for an [engine.Ranged]);
//   - a rate that differs at the next call;
//   - rates that are all 0;
//   - a jump in an [engine.Continuous] schedule.
func CheckSchedule(e registry.Entry[engine.Schedule]) error {
	return faultsOfEntry("schedule", e, func(f *findings, s engine.Schedule) {
		for _, epochs := range []float64{1, 2, 20, 1000} {
			f.run(func() { checkRates(f, s, e.New(), epochs) })
		}
	})
}

// checkRates checks the rates of a training. other has the same settings, but computes its rates in another order.
func checkRates(f *findings, s, second engine.Schedule, epochs float64) {
	const parts = 997 // a prime: no point falls on a round fraction
	low, high := 0.0, math.Inf(1)
	if r, ok := s.(engine.Ranged); ok {
		low, high = r.Range()
	}
	rates := make([]float64, parts+2)
	positive := false
	for i := range rates {
		progress := epochs * float64(i) / parts
		if i > parts {
			progress = epochs + 1
		}
		r := s.Rate(progress, epochs)
		rates[i] = r
		switch {
		case math.IsNaN(r) || math.IsInf(r, 0) || r < 0:
			f.fatal("the rate at %v of %v epochs is %v; want a finite number from 0 on", progress, epochs, r)
			return
		case r < low-1e-12 || r > high+1e-12:
			f.add("the rate at %v of %v epochs is %v; its range is %v to %v", progress, epochs, r, low, high)
		}
		positive = positive || r > 0
	}
	if !positive {
		f.add("all rates of %v epochs are 0: nothing is trained", epochs)
	}
	for i := parts; i >= 0; i-- {
		progress := epochs * float64(i) / parts
		if a, b := s.Rate(progress, epochs), second.Rate(progress, epochs); a != rates[i] || b != rates[i] {
			f.fatal("the rate at %v of %v epochs is %v, and then %v and %v; want a rate that depends only on the progress",
				progress, epochs, rates[i], a, b)
		}
	}
	if _, ok := s.(engine.Continuous); !ok {
		return
	}
	for i := range parts {
		start, end := epochs*float64(i)/parts, epochs*float64(i+1)/parts
		if jump := largestJump(s, start, end, epochs); jump > 1e-6 {
			f.fatal("the rate jumps by %.3g between %v and %v of %v epochs; want none where it is continuous",
				jump, start, end, epochs)
		}
	}
}

// largestJump returns the change of the rate over a tiny interval. It finds the interval by halving, always towards
// the larger change. A continuous schedule has hardly any change there.
func largestJump(s engine.Schedule, start, end, epochs float64) float64 {
	for range 40 {
		middle := (start + end) / 2
		if math.Abs(s.Rate(middle, epochs)-s.Rate(start, epochs)) >= math.Abs(s.Rate(end, epochs)-s.Rate(middle, epochs)) {
			end = middle
		} else {
			start = middle
		}
	}
	return math.Abs(s.Rate(end, epochs) - s.Rate(start, epochs))
}
