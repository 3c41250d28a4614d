package tables

import (
	"cmp"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/results/tables/internal/codes"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
	"github.com/unravel-ml/unravel/results/tables/internal/summary"
	"github.com/unravel-ml/unravel/train"
)

// Timed reports whether the values are computation times of metrics. Tables show our times next to the printed times,
// but times never count as reproduced. A value is then the median over seeds instead of the mean.
func (t *Table) Timed() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.From.Value.(*codes.Timed); return ok })
}

func (p view) cell(row Row, column Column, d cellValues) Cell {
	printed := p.printedCell(&row, column.Label)
	c := Cell{Column: p.cellName(column), Draws: d.count(&column), Exact: d.exact, Notes: d.notes, Unlearned: d.unlearned,
		printed: printed}
	if printed.Mean.Text != "" {
		c.Theirs, c.Printed, c.PrintedStd = &printed.Mean.Value, printed.Mean.Text, printed.Std.Text
	}
	values, err := column.values(d)
	if err = cmp.Or(d.err, err); err != nil {
		c.Status, c.Reason, c.Unlearned = Missing, err.Error(), 0
		return c
	}
	aggregate := summary.Mean
	if p.Timed() {
		aggregate = summary.Median
	}
	c.Ours, c.Deviation = new(aggregate(values)), summary.Deviation(values)
	if p.Trains() || p.Quotes() {
		c.Runs = values
	}
	c.Unconverged, c.Converged = d.converged(values)
	for _, f := range d.fits {
		if Unlearned(f) {
			c.Unlearned++
		}
	}
	if p.Timed() {
		c.compareTimes()
	} else {
		c.setStatus(p.Printed.Draws, p.note(row.Label, column.Label), column.Label)
	}
	if c.Unlearned > 0 && 2*c.Unlearned >= c.Draws && c.Status.Reproduced() {
		c.Status = Unfit // at least half of its runs have not learned the images
	}
	if len(d.stale) > 0 && c.Status != Unprinted && c.Status != Measured {
		c.Status = Outdated
	}
	return c
}

func (d *cellValues) count(c *Column) int {
	switch {
	case c.unmeasured():
		return len(d.fits)
	case d.quoted != nil:
		return len(d.quoted)
	}
	return len(d.results)
}

// compareTimes sets the ratio of the printed time to ours, unless all printed digits are 0.
func (c *Cell) compareTimes() {
	c.Status = Measured
	switch {
	case c.Theirs == nil:
		c.Status = Unprinted
	case *c.Theirs > 0 && *c.Ours > 0:
		c.Ratio = new(*c.Theirs / *c.Ours)
	}
}

// setStatus compares our value, the mean of Draws values, with the printed value, the mean of draws values. n is the
// note on the cell, or nil. A note without a move explains the whole difference. A note with a move explains a
// difference of at most the move; the rest is judged like any other difference.
func (c *Cell) setStatus(draws int, n *Note, column string) {
	if c.Theirs == nil {
		c.Status = Unprinted
		return
	}
	difference := *c.Ours - *c.Theirs
	c.Difference = &difference
	noise := c.noise(c.printed, draws)
	var move float64
	moved := false
	if n != nil {
		move, moved = n.Moves[column]
	}
	switch rounding := c.printed.Rounding(); {
	case math.Abs(difference) <= rounding:
		c.Status = Same
	case math.Abs(difference) <= rounding+2*noise:
		c.Status = Near
	case n == nil || moved && (move*difference > 0 || math.Abs(difference) > math.Abs(move)+rounding+2*noise):
		c.Status = Differs
	default:
		c.Status, c.Reason = Known, n.Reason
	}
	if n != nil && !moved && c.Status != Known {
		c.Status, c.Reason = Stale, n.Reason
	}
}

// noise returns the standard error of the difference between our value and a printed mean of draws runs.
func (c *Cell) noise(p *reference.Cell, draws int) float64 {
	if c.Exact {
		return 0
	}
	ours, theirs := c.Deviation, c.Deviation
	if p.Std.Text != "" {
		theirs = p.Std.Value
		if c.Draws == 1 { // a single value has no standard deviation
			ours = theirs
		}
	}
	return math.Sqrt(ours*ours/float64(c.Draws) + theirs*theirs/float64(draws))
}

// PrintedDeviation returns the printed standard deviation, or false if the paper prints none.
func (c *Cell) PrintedDeviation() (float64, bool) {
	if c.PrintedStd == "" {
		return 0, false
	}
	return c.printed.Std.Value, true
}

// mostUnlearned is the maximum fraction of the images' variance in the errors of a model that has learned the images.
const mostUnlearned = 0.6

// Unlearned reports whether a run has not learned the images: more than 60 % of the variance remains in the
// reconstruction errors, or the decoder is black ([train.Fit.Black]). If a run lacks these numbers, the ledger may
// contain them. Such a run reproduces nothing. For a model without a decoder (nil), Unlearned returns false.
func Unlearned(f *train.Fit) bool {
	return f != nil && (f.Black() || f.Reconstruction > mostUnlearned*f.Variance || f.Images == 0 && f.Why != "")
}

// converged returns the number of runs that did not converge. With both kinds of runs, mean is the mean of the
// converged runs.
func (d *cellValues) converged(values []float64) (unconverged int, mean *float64) {
	var good []float64
	for i, f := range d.fits {
		if f != nil && !f.Converged {
			unconverged++
		} else {
			good = append(good, values[i])
		}
	}
	if unconverged == 0 || len(good) == 0 {
		return unconverged, nil
	}
	return unconverged, new(summary.Mean(good))
}

// Shuffled returns a fraction for every compared cell: of the other rows with a printed value in the column, the
// fraction that agrees with our value, by rounding or within two standard errors. The sum of these fractions is the
// expected number of cells that would agree if rows were shuffled. Other cells have 0.
func (r *Result) Shuffled() [][]float64 {
	compared := func(c *Cell) bool { return c.Ours != nil && c.Theirs != nil && c.Status != Measured }
	list := make([][]float64, len(r.Rows))
	for i := range r.Rows {
		list[i] = make([]float64, len(r.Rows[i].Cells))
		for c := range r.Rows[i].Cells {
			cell, agree, others := &r.Rows[i].Cells[c], 0, 0
			for j := range r.Rows {
				other := &r.Rows[j].Cells[c]
				if i == j || !compared(cell) || !compared(other) {
					continue
				}
				others++
				if p := other.printed; math.Abs(*cell.Ours-p.Mean.Value) <= p.Rounding()+2*cell.noise(p, r.Table.Printed.Draws) {
					agree++
				}
			}
			list[i][c] = float64(agree) / float64(max(others, 1))
		}
	}
	return list
}
