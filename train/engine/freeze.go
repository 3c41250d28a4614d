package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/graph/nn"
)

// frozenBy returns a function that reports whether the patterns of a task freeze a parameter; nil without patterns.
func frozenBy(patterns []string) func(name string) bool {
	if len(patterns) == 0 {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return nn.Match(p, name) })
	}
}

// checkFreeze returns an error for a pattern that matches no parameter and no running statistics.
func checkFreeze(patterns []string, params *nn.Params) error {
	for i, pattern := range patterns {
		names, err := params.Matching(pattern)
		if err == nil && !slices.ContainsFunc(names, func(name string) bool {
			return !params.IsState(name) ||
				strings.HasSuffix(name, "/running")
		}) {
			err = fmt.Errorf("%q fits only states such as %s, which no gradient changes; want patterns of parameters",
				pattern, names[0])
		}
		if err != nil {
			return &Error{fmt.Sprintf("freeze.%d", i), err}
		}
	}
	return nil
}

// nothingLearns returns the error for an objective with losses that depend on no trainable parameter.
func (l *plan) nothingLearns() error {
	if l.frozen != nil && slices.ContainsFunc(l.model.Params().Names(), l.frozen) {
		return &Error{"freeze", errors.New("all parameters that the losses depend on are frozen; want some that learn")}
	}
	return &Error{"losses", errors.New("no loss depends on a parameter of the model")}
}

// Frozen lists the frozen parameters, without states.
func (l *Loop) Frozen() []string {
	if l.plan.frozen == nil {
		return nil
	}
	params := l.plan.model.Params()
	return slices.DeleteFunc(params.Names(),
		func(name string) bool { return params.IsState(name) || !l.plan.frozen(name) })
}
