package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"
)

// budget is the maximum time of tests, in units of calibrate.
type budget struct {
	Total    float64            `json:"total"`
	Packages map[string]float64 `json:"packages"` // budgets of packages with at least least units
}

// budgets holds the budget of each test suite.
type budgets map[string]budget

const (
	tolerance = 1.25 // factor by which tests may exceed their budget
	headroom  = 1.6  // factor from the tests' time to a new budget: processors differ, and cores share caches
	least     = 12.0 // budget, in units, of packages without an entry; times of short tests vary most
)

func units(d, unit time.Duration) float64 { return d.Seconds() / unit.Seconds() }

// budget returns a budget for the tests' time, with headroom, rounded up.
func (r *results) budget(unit time.Duration) budget {
	b := budget{math.Ceil(headroom * units(r.total(), unit)), map[string]float64{}}
	for name, p := range r.packages {
		if u := math.Ceil(headroom * units(p.cpu, unit)); u > least {
			b.Packages[name] = u
		}
	}
	return b
}

// check returns an error with the packages above their budget.
func (b budget) check(r *results, unit time.Duration) error {
	var errs []error
	over := func(name string, took time.Duration, budget float64) {
		if u := units(took, unit); u > tolerance*budget {
			errs = append(errs, fmt.Errorf("%s: tests took %.1f units, the budget is %v", name, u, budget))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		own, ok := b.Packages[name]
		if !ok {
			own = least
		}
		over(name, r.packages[name].cpu, own)
	}
	over("all packages", r.total(), b.Total)
	if errs != nil {
		errs = append(errs, errors.New("make tests cheaper, let some run with -long only (internal/long), or raise the budget with -update"))
	}
	return errors.Join(errs...)
}

func readBudgets(name string) (budgets, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w; run testbudget from the root of the module", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	b := budgets{}
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

func (b budgets) write(name string) error {
	text, err := json.MarshalIndent(b, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o666)
}
