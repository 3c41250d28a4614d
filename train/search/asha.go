package search

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
)

// ASHA is the asynchronous successive halving algorithm. Rung i ends after Min Eta^i epochs, and the last rung after
// Max. The best n/Eta of n results of a rung are promoted to the next rung; with Eta results, this is the best trial.
// Failed trials and NaN count as the worst, and are never promoted. If no trial can be promoted, a new random trial
// begins.
//
// Source: Li et al., "A System for Massively Parallel Hyperparameter Tuning", MLSys 2020, algorithm 2.
type ASHA struct {
	Settings

	Min int `yaml:"min" doc:"epochs of the first rung"`
	Max int `yaml:"max" doc:"epochs of the last rung"`
	Eta int `yaml:"eta" doc:"one trial in eta continues from a rung, to eta times its epochs"`
}

// Validate checks the settings.
func (a *ASHA) Validate() error {
	if a.Max == 0 {
		return config.Invalid("max", "the epochs of the last rung are missing; want max: N")
	}
	errs := errors.Join(atLeast("min", a.Min, 1), atLeast("eta", a.Eta, 2))
	if errs == nil && a.Max <= a.Min {
		return config.Invalid("max", "%d is not above min, %d; want more epochs in the last rung than in the first",
			a.Max, a.Min)
	}
	return errs
}

// Rungs lists the epochs at the ends of rungs.
func (a *ASHA) Rungs() []int {
	list := []int{a.Min}
	for e := a.Min; e <= (a.Max-1)/a.Eta; { // e Eta < Max, without overflow
		e *= a.Eta
		list = append(list, e)
	}
	return append(list, a.Max)
}

// Next promotes a trial, from the highest rung with a promotable trial, or draws a new one.
func (a *ASHA) Next(trials []Trial, fresh bool) (Step, bool) {
	for rung := len(a.Rungs()) - 2; rung >= 0; rung-- {
		if i := a.nextPromotion(trials, rung); i >= 0 {
			return Step{Trial: i, Rung: rung + 1, Point: trials[i].Point}, true
		}
	}
	return a.randomStep(trials, fresh)
}

// nextPromotion returns the trial to promote from a rung, or -1 if there is none.
func (a *ASHA) nextPromotion(trials []Trial, rung int) int {
	type result struct {
		trial int
		value float64
	}
	var results []result
	failed := 0
	for i, t := range trials {
		switch {
		case len(t.Values) > rung:
			results = append(results, result{i, nanAsWorst(t.Values[rung])})
		case t.Failed && len(t.Values) == rung:
			failed++
		}
	}
	slices.SortStableFunc(results, func(x, y result) int { return cmp.Compare(x.value, y.value) })
	for _, r := range results[:min(len(results), (len(results)+failed)/a.Eta)] {
		if t := trials[r.trial]; !math.IsInf(r.value, 1) && len(t.Values) == rung+1 && !t.Running && !t.Failed {
			return r.trial
		}
	}
	return -1
}
