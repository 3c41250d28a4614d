package conformance

import (
	"math"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/train/engine"
)

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
func checkRates(f *findings, s, other engine.Schedule, epochs float64) {
	const parts = 997 // a prime: no point falls on a round fraction
	low, high := 0.0, math.Inf(1)
	if r, ok := s.(engine.Ranged); ok {
		low, high = r.Range()
	}
	rates := make([]float64, parts+2)
	moves := false
	for i := range rates {
		at := epochs * float64(i) / parts
		if i > parts {
			at = epochs + 1
		}
		r := s.Rate(at, epochs)
		rates[i] = r
		switch {
		case math.IsNaN(r) || math.IsInf(r, 0) || r < 0:
			f.fatal("the rate at %v of %v epochs is %v; want a finite number from 0 on", at, epochs, r)
			return
		case r < low-1e-12 || r > high+1e-12:
			f.add("the rate at %v of %v epochs is %v; its range is %v to %v", at, epochs, r, low, high)
		}
		moves = moves || r > 0
	}
	if !moves {
		f.add("all rates of %v epochs are 0: nothing is trained", epochs)
	}
	for i := parts; i >= 0; i-- {
		at := epochs * float64(i) / parts
		if a, b := s.Rate(at, epochs), other.Rate(at, epochs); a != rates[i] || b != rates[i] {
			f.fatal("the rate at %v of %v epochs is %v, and then %v and %v; want one that depends on the progress alone", at, epochs, rates[i], a, b)
		}
	}
	if _, ok := s.(engine.Continuous); !ok {
		return
	}
	for i := range parts {
		from, to := epochs*float64(i)/parts, epochs*float64(i+1)/parts
		if jump := largestJump(s, from, to, epochs); jump > 1e-6 {
			f.fatal("the rate jumps by %.3g between %v and %v of %v epochs; want none where it is continuous", jump, from, to, epochs)
		}
	}
}

// largestJump returns the change of the rate over a tiny interval. It finds the interval by halving, always towards
// the larger change. A continuous schedule has hardly any change there.
func largestJump(s engine.Schedule, from, to, epochs float64) float64 {
	for range 40 {
		middle := (from + to) / 2
		if math.Abs(s.Rate(middle, epochs)-s.Rate(from, epochs)) >= math.Abs(s.Rate(to, epochs)-s.Rate(middle, epochs)) {
			to = middle
		} else {
			from = middle
		}
	}
	return math.Abs(s.Rate(to, epochs) - s.Rate(from, epochs))
}
