// Package hierarchy describes hierarchical dimensions: groups of continuous and categorical dimensions. Each value
// (option) of a categorical dimension has a group, which is active only for that value (Ross and Doshi-Velez 2021,
// section 3).
//
// Dimensions are numbered in pre-order: a group's dimensions in the order of its list, and after a categorical
// dimension the dimensions of its options.
package hierarchy

import (
	"errors"
	"fmt"
	"slices"
)

// Hierarchy is an ordered list of nodes: one group of dimensions.
type Hierarchy []Node

// Node is a dimension. It is continuous if Options is nil, otherwise categorical, with one group for each of its
// values. An option may be an empty group.
type Node struct {
	Options []Hierarchy
}

// Limits of [Hierarchy.Validate].
const (
	maxDepth = 64   // groups within groups
	maxNodes = 4096 // dimensions and options
)

// Categorical reports whether the dimension is categorical.
func (n Node) Categorical() bool { return n.Options != nil }

// Validate checks that every categorical dimension has an option, that groups are nested at most 64 deep, and that
// there are at most 4096 dimensions and options. [Read] and [Parse] return valid hierarchies.
func (h Hierarchy) Validate() error {
	nodes := 0
	return h.validate("$", 1, &nodes)
}

func (h Hierarchy) validate(path string, depth int, nodes *int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: %w", path, errTooDeep)
	}
	for i, n := range h {
		at := fmt.Sprintf("%s[%d]", path, i)
		if *nodes += 1 + len(n.Options); *nodes > maxNodes {
			return fmt.Errorf("%s: %w", at, errTooMany)
		}
		if n.Categorical() && len(n.Options) == 0 {
			return fmt.Errorf("%s: %w", at, errNoOptions)
		}
		for o, option := range n.Options {
			if err := option.validate(fmt.Sprintf("%s.options[%d]", at, o), depth+1, nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// Errors of a node.
var (
	errTooDeep   = fmt.Errorf("groups are nested more than %d deep", maxDepth)
	errTooMany   = fmt.Errorf("there are more than %d dimensions and options up to here", maxNodes)
	errNoOptions = errors.New("a categorical dimension has no options; want at least one, [] for an empty one")
)

// Continuous returns the number of continuous dimensions in all groups.
func (h Hierarchy) Continuous() int {
	count := 0
	for _, n := range h {
		if !n.Categorical() {
			count++
		}
		for _, option := range n.Options {
			count += option.Continuous()
		}
	}
	return count
}

// Categoricals returns the number of options of every categorical dimension, in pre-order.
func (h Hierarchy) Categoricals() []int { return h.categoricals(nil) }

func (h Hierarchy) categoricals(list []int) []int {
	for _, n := range h {
		if n.Categorical() {
			list = append(list, len(n.Options))
		}
		for _, option := range n.Options {
			list = option.categoricals(list)
		}
	}
	return list
}

// Dimensions returns the number of dimensions, categorical and continuous. This is the number of columns in the
// layout for metrics ([Hierarchy.Row]).
func (h Hierarchy) Dimensions() int { return len(h.Categoricals()) + h.Continuous() }

// Equal reports whether two hierarchies have the same groups in the same order.
func (h Hierarchy) Equal(other Hierarchy) bool {
	return slices.EqualFunc(h, other, func(n, m Node) bool {
		return n.Categorical() == m.Categorical() && slices.EqualFunc(n.Options, m.Options, Hierarchy.Equal)
	})
}
