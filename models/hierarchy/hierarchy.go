// Package hierarchy describes hierarchical dimensions: groups of continuous and categorical dimensions, where each
// value (option) of a categorical dimension has a group of its own, active only for that value (Ross and Doshi-Velez
// 2021, section 3).
//
// Dimensions are numbered in pre-order: those of a group in the order of its list, and after a categorical dimension
// those of its options.
package hierarchy

import "fmt"

// Hierarchy is an ordered list of nodes: one group of dimensions.
type Hierarchy []Node

// Node is a dimension: continuous if Options is nil, else categorical, with one group for each of its values. An option
// may be an empty group.
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

// Validate checks that every categorical dimension has an option, groups are nested at most 64 deep, and dimensions and
// options number at most 4096. [Read] and [Parse] return valid hierarchies.
func (h Hierarchy) Validate() error {
	nodes := 0
	return h.validate("$", 1, &nodes)
}

func (h Hierarchy) validate(path string, depth int, nodes *int) error {
	if depth > maxDepth {
		return tooDeep(path)
	}
	for i, n := range h {
		at := fmt.Sprintf("%s[%d]", path, i)
		if *nodes += 1 + len(n.Options); *nodes > maxNodes {
			return tooMany(at)
		}
		if n.Categorical() && len(n.Options) == 0 {
			return noOptions(at)
		}
		for o, option := range n.Options {
			if err := option.validate(fmt.Sprintf("%s.options[%d]", at, o), depth+1, nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// Errors in a hierarchy, with the path to the node.
func tooDeep(path string) error {
	return fmt.Errorf("%s: groups are nested more than %d deep", path, maxDepth)
}

func tooMany(path string) error {
	return fmt.Errorf("%s: there are more than %d dimensions and options up to here", path, maxNodes)
}

func noOptions(path string) error {
	return fmt.Errorf("%s: a categorical dimension has no options; want at least one, [] for an empty one", path)
}

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

// Dimensions returns the number of dimensions, categorical and continuous: the columns of the layout for metrics
// ([Hierarchy.Columns]).
func (h Hierarchy) Dimensions() int { return len(h.Categoricals()) + h.Continuous() }

// Width returns the length of the flat layout, the input of a decoder ([Hierarchy.Flat]): the weights of the options of
// every categorical dimension, then every continuous dimension.
func (h Hierarchy) Width() int {
	width := h.Continuous()
	for _, options := range h.Categoricals() {
		width += options
	}
	return width
}

// Empty reports whether there is no dimension.
func (h Hierarchy) Empty() bool { return len(h) == 0 }

// Equal reports whether two hierarchies have the same groups in the same order.
func (h Hierarchy) Equal(other Hierarchy) bool {
	if len(h) != len(other) {
		return false
	}
	for i, n := range h {
		m := other[i]
		if n.Categorical() != m.Categorical() || len(n.Options) != len(m.Options) {
			return false
		}
		for o, option := range n.Options {
			if !option.Equal(m.Options[o]) {
				return false
			}
		}
	}
	return true
}
