package hierarchy

import "fmt"

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
		open := w.onCategorical(w.categorical, active)
		w.categorical++
		for o, option := range n.Options {
			w.walk(option, active && o == open)
		}
	}
}

// Masks sets mask to the active continuous dimensions. choice holds the chosen option of every categorical dimension,
// from 0, or -1 if the dimension is inactive or the option unknown. A dimension is active if all its enclosing options
// are chosen. mask has one element for each continuous dimension.
func (h Hierarchy) Masks(choice []int, mask []bool) {
	w := walker{
		onCategorical: func(at int, _ bool) int { return choice[at] },
		onContinuous:  func(at int, active bool) { mask[at] = active },
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
		return fmt.Errorf("hierarchy: %d choices and %d values; want %d and %d", len(choice), len(values), len(options), continuous)
	}
	if len(row) != len(choice)+len(values) {
		return fmt.Errorf("hierarchy: a row of %d numbers; want %d", len(row), len(choice)+len(values))
	}
	for at, c := range choice {
		if c < -1 || c >= options[at] {
			return fmt.Errorf("hierarchy: option %d of categorical dimension %d; want 0 to %d, or -1 (inactive)", c, at, options[at]-1)
		}
	}
	clear(row)
	w := walker{
		onCategorical: func(at int, active bool) int {
			if active {
				row[at] = float64(choice[at] + 1)
			}
			return choice[at]
		},
		onContinuous: func(at int, active bool) {
			if active {
				row[len(choice)+at] = values[at]
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
	var walk func(h Hierarchy, under int)
	walk = func(h Hierarchy, under int) {
		for _, n := range h {
			if !n.Categorical() {
				continuous = append(continuous, under)
				continue
			}
			categorical = append(categorical, under)
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
