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
	"math"
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
		nodePath := fmt.Sprintf("%s[%d]", path, i)
		if *nodes += 1 + len(n.Options); *nodes > maxNodes {
			return fmt.Errorf("%s: %w", nodePath, errTooMany)
		}
		if n.Categorical() && len(n.Options) == 0 {
			return fmt.Errorf("%s: %w", nodePath, errNoOptions)
		}
		for o, option := range n.Options {
			if err := option.validate(fmt.Sprintf("%s.options[%d]", nodePath, o), depth+1, nodes); err != nil {
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

// walker visits the dimensions in pre-order, with their numbers in layouts.
type walker struct {
	categorical, continuous int // dimensions visited so far

	// onCategorical returns the chosen option, or -1 if the dimension is inactive or the option unknown.
	onCategorical func(at int, active bool) int
	onContinuous  func(at int, active bool)
}

func (w *walker) walk(h Hierarchy, active bool) {
	for _, n := range h {
		if !n.Categorical() {
			w.onContinuous(w.continuous, active)
			w.continuous++
			continue
		}
		chosen := w.onCategorical(w.categorical, active)
		w.categorical++
		for o, option := range n.Options {
			w.walk(option, active && o == chosen)
		}
	}
}

// Masks sets mask to the active continuous dimensions. choice holds the chosen option of every categorical dimension,
// from 0, or -1 if the dimension is inactive or the option unknown. A dimension is active if all its enclosing options
// are chosen. mask has one element for each continuous dimension.
func (h Hierarchy) Masks(choice []int, mask []bool) {
	w := walker{
		onCategorical: func(dimension int, _ bool) int { return choice[dimension] },
		onContinuous:  func(dimension int, active bool) { mask[dimension] = active },
	}
	w.walk(h, true)
}

// Row sets row, of length Dimensions, to the layout of one image for metrics: 1 + the chosen option of every
// categorical dimension, then the value of every continuous dimension. Inactive dimensions are 0. choice is as in
// [Hierarchy.Masks]. values has one element for each continuous dimension; inactive ones are ignored. Errors: a
// choice out of range, and a slice of another length.
func (h Hierarchy) Row(choice []int, values, row []float64) error {
	options, continuous := h.Categoricals(), h.Continuous()
	if len(choice) != len(options) || len(values) != continuous {
		return fmt.Errorf("hierarchy: %d choices and %d values; want %d and %d",
			len(choice), len(values), len(options), continuous)
	}
	if len(row) != len(choice)+len(values) {
		return fmt.Errorf("hierarchy: a row of %d numbers; want %d", len(row), len(choice)+len(values))
	}
	for dimension, c := range choice {
		if c < -1 || c >= options[dimension] {
			return fmt.Errorf("hierarchy: option %d of categorical dimension %d; want 0 to %d, or -1 (inactive)",
				c, dimension, options[dimension]-1)
		}
	}
	clear(row)
	w := walker{
		onCategorical: func(dimension int, active bool) int {
			if active {
				row[dimension] = float64(choice[dimension] + 1)
			}
			return choice[dimension]
		},
		onContinuous: func(dimension int, active bool) {
			if active {
				row[len(choice)+dimension] = values[dimension]
			}
		},
	}
	w.walk(h, true)
	return nil
}

// Places returns the enclosing option of every categorical and every continuous dimension, as the number of a column.
// Columns count the options of all categorical dimensions in pre-order. Dimensions of the outermost group have -1.
func (h Hierarchy) Places() (categorical, continuous []int) {
	columns := 0 // so far
	var walk func(h Hierarchy, parent int)
	walk = func(h Hierarchy, parent int) {
		for _, n := range h {
			if !n.Categorical() {
				continuous = append(continuous, parent)
				continue
			}
			categorical = append(categorical, parent)
			first := columns
			columns += len(n.Options)
			for o, option := range n.Options {
				walk(option, first+o)
			}
		}
	}
	walk(h, -1)
	return categorical, continuous
}

// FloatBits is the length of a number in a description: 32 bits, as a float32.
const FloatBits = 32

// Description is the number of bits for describing codes by a hierarchy (Ross and Doshi-Velez 2021, section 8.1). A
// code is described by the option of each categorical dimension on its path, with log2 K bits for one of K options, and
// by the value of each active continuous dimension, with b bits:
//
//	sum over codes of (b |active continuous dimensions| + sum over active categorical dimensions of log2 K)
//
// Some codes may not belong to the hierarchy, such as codes that MIMOSA discards. All columns of such a code count,
// with b bits each. Every code then needs one more bit, which says whether it belongs to the hierarchy. The paper does
// not treat this case.
type Description struct {
	Codes   int
	Options float64 // options that codes choose
	Values  float64 // values of active continuous dimensions
	Outside float64 // codes outside the hierarchy, and the extra bit of all codes
	Tree    float64 // the hierarchy itself, counted once: log2(3) bits a symbol, 1 bit for each option and end of options; the paper neglects it
	Flat    float64 // the same codes as flat vectors, each as long as the longest code
}

// PerCode returns the mean number of bits of a code, without the tree.
func (d Description) PerCode() float64 {
	return (d.Options + d.Values + d.Outside) / float64(d.Codes)
}

// FlatPerCode returns the mean number of bits of a code as a flat vector.
func (d Description) FlatPerCode() float64 { return d.Flat / float64(d.Codes) }

// Describe returns the length of the description of n codes with the given columns, and bits for each number. choose
// sets every categorical option, as in [Hierarchy.Masks], and reports whether the code has a place in the hierarchy.
func (h Hierarchy) Describe(n, columns int, bits float64, choose func(code int, choice []int) bool) Description {
	options := h.Categoricals()
	choice := make([]int, len(options))
	d := Description{Codes: n, Tree: h.treeBits()}
	activeValues, longest, outside := 0, 0, 0
	w := walker{
		onCategorical: func(dimension int, active bool) int {
			if active {
				d.Options += math.Log2(float64(options[dimension]))
			}
			return choice[dimension]
		},
		onContinuous: func(_ int, active bool) {
			if active {
				activeValues++
			}
		},
	}
	for code := range n {
		if !choose(code, choice) {
			outside++
			longest = max(longest, columns)
			continue
		}
		w.categorical, w.continuous = 0, 0
		start := activeValues
		w.walk(h, true)
		longest = max(longest, activeValues-start)
	}
	d.Values, d.Flat = bits*float64(activeValues), bits*float64(longest)*float64(n)
	if outside > 0 {
		d.Outside = bits*float64(columns)*float64(outside) + float64(n)
	}
	return d
}

// treeBits returns the number of bits for describing the hierarchy itself, in our own encoding. Each dimension of a
// group, and the end of the group, is one of three symbols (continuous, categorical, end), log2 3 bits. Each option of
// a categorical dimension, and the end of the options, is one bit. The group of an option follows the option's bit.
func (h Hierarchy) treeBits() float64 {
	bits := float64(len(h)+1) * math.Log2(3)
	for _, n := range h {
		if n.Categorical() {
			bits += float64(len(n.Options) + 1)
		}
		for _, option := range n.Options {
			bits += option.treeBits()
		}
	}
	return bits
}
