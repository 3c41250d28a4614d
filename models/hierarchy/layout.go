package hierarchy

import "fmt"

// walker visits the dimensions in pre-order, with their numbers in layouts.
type walker struct {
	categorical, continuous int // visited so far

	// onCategorical returns the chosen option, or -1 if it is inactive or not known.
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

// Masks sets mask to the active continuous dimensions, given the chosen option of every categorical dimension, from 0,
// or -1 where it is inactive or not known. A dimension is active if all its enclosing options are chosen. choice has
// one element for each categorical dimension, mask one for each continuous dimension.
func (h Hierarchy) Masks(choice []int, mask []bool) {
	w := walker{
		onCategorical: func(at int, _ bool) int { return choice[at] },
		onContinuous:  func(at int, active bool) { mask[at] = active },
	}
	w.walk(h, true)
}

// Row sets row, of length Dimensions, to the layout of one image for metrics: 1 + the chosen option of every
// categorical dimension, then the value of every continuous dimension; 0 where inactive. choice is as in
// [Hierarchy.Masks]; values has one element for each continuous dimension, ignored where inactive. Errors: a choice out
// of range, and a slice of another length.
func (h Hierarchy) Row(choice []int, values, row []float64) error {
	options := h.Categoricals()
	if err := h.lengths(options, choice, values); err != nil {
		return err
	}
	if len(row) != len(choice)+len(values) {
		return fmt.Errorf("hierarchy: a row of %d numbers; want %d", len(row), len(choice)+len(values))
	}
	if err := choicesInRange(options, choice); err != nil {
		return err
	}
	h.row(choice, values, row)
	return nil
}

func (h Hierarchy) row(choice []int, values, row []float64) {
	w := walker{
		onCategorical: func(at int, active bool) int {
			row[at] = 0
			if active {
				row[at] = float64(choice[at] + 1)
			}
			return choice[at]
		},
		onContinuous: func(at int, active bool) {
			row[len(choice)+at] = 0
			if active {
				row[len(choice)+at] = values[at]
			}
		},
	}
	w.walk(h, true)
}

// Flat sets row, of length Width, to the layout of one image for a decoder: a one-hot block of the chosen option of
// every categorical dimension, then the value of every continuous dimension; 0 where inactive. Arguments and errors are
// those of [Hierarchy.Row].
func (h Hierarchy) Flat(choice []int, values, row []float64) error {
	options := h.Categoricals()
	if err := h.lengths(options, choice, values); err != nil {
		return err
	}
	if len(row) != h.Width() {
		return fmt.Errorf("hierarchy: a row of %d numbers; want %d", len(row), h.Width())
	}
	if err := choicesInRange(options, choice); err != nil {
		return err
	}
	clear(row)
	first := 0
	continuous := row[len(row)-len(values):]
	w := walker{
		onCategorical: func(at int, active bool) int {
			if active && choice[at] >= 0 {
				row[first+choice[at]] = 1
			}
			first += options[at]
			return choice[at]
		},
		onContinuous: func(at int, active bool) {
			if active {
				continuous[at] = values[at]
			}
		},
	}
	w.walk(h, true)
	return nil
}

// Columns returns the layout of n images for metrics ([Hierarchy.Row]): an n x Dimensions matrix, row by row. choices
// is n x categorical dimensions and values n x continuous dimensions, row by row. Errors are those of [Hierarchy.Row].
func (h Hierarchy) Columns(n int, choices []int, values []float64) ([]float64, error) {
	options, continuous := h.Categoricals(), h.Continuous()
	if n < 0 || len(choices) != n*len(options) || len(values) != n*continuous {
		return nil, fmt.Errorf("hierarchy: %d choices and %d values of %d rows; want %d and %d of each row",
			len(choices), len(values), n, len(options), continuous)
	}
	d := len(options) + continuous
	rows := make([]float64, n*d)
	for i := range n {
		choice := choices[i*len(options) : (i+1)*len(options)]
		if err := choicesInRange(options, choice); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		h.row(choice, values[i*continuous:(i+1)*continuous], rows[i*d:(i+1)*d])
	}
	return rows, nil
}

func (h Hierarchy) lengths(options, choice []int, values []float64) error {
	if len(choice) != len(options) || len(values) != h.Continuous() {
		return fmt.Errorf("hierarchy: %d choices and %d values; want %d and %d", len(choice), len(values), len(options), h.Continuous())
	}
	return nil
}

func choicesInRange(options, choice []int) error {
	for at, c := range choice {
		if c < -1 || c >= options[at] {
			return fmt.Errorf("hierarchy: option %d of categorical dimension %d; want 0 to %d, or -1 (inactive)", c, at, options[at]-1)
		}
	}
	return nil
}
