package tables

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
)

// Result is a computed table.
type Result struct {
	Name       string      `json:"table"`
	Title      string      `json:"title"`
	Source     string      `json:"source"`
	Scale      string      `json:"scale"`
	Seeds      int         `json:"seeds"`
	Reproduced int         `json:"reproduced"` // cells that agree with the printed ones
	Printed    int         `json:"printed"`    // cells that the paper prints
	Rows       []ResultRow `json:"rows"`
	Ledger     *Origin     `json:"ledger,omitempty"`    // nil: no run is from the ledger
	Agreement  *Agreement  `json:"agreement,omitempty"` // nil: the table does not compare columns
	Standing   string      `json:"data,omitempty"`      // data sets behind trained cells if public ones and twins exist; WriteJSON sets it

	Damaged []string `json:"damaged,omitempty"` // runs in the folder with unreadable files, and the reason; they do not count

	Table  *Table `json:"-"` // the table at the scale
	Remark string `json:"-"` // remark on the scale

	origin *Table // the table at all scales

	measured bool    // whether FindLengths has set lengths
	standsOn *string // the text of standing; nil: not made yet
}

// Computed reports whether some cell has a value of ours.
func (r *Result) Computed() bool {
	return slices.ContainsFunc(r.Rows, func(row ResultRow) bool {
		return slices.ContainsFunc(row.Cells, func(c Cell) bool { return c.Ours != nil })
	})
}

// ResultRow is a row of cells.
type ResultRow struct {
	Label string `json:"label"`
	Cells []Cell `json:"cells"`
}

// Cell holds our value and the printed one.
type Cell struct {
	Column     string   `json:"column"`
	Ours       *float64 `json:"ours"`          // nil: no value
	Deviation  float64  `json:"std,omitempty"` // standard deviation of a draw
	Draws      int      `json:"n"`
	Exact      bool     `json:"exact"`           // the value is deterministic
	Theirs     *float64 `json:"theirs"`          // nil: nothing is printed
	Difference *float64 `json:"difference"`      // ours - theirs
	Ratio      *float64 `json:"ratio,omitempty"` // theirs / ours, for times
	Status     Status   `json:"status"`
	Reason     string   `json:"reason,omitempty"` // why the value differs, or is missing
	Notes      []string `json:"notes,omitempty"`  // remarks on missing, failed or unconverged runs

	// Unconverged counts the runs that did not converge; Ours includes them. Converged aggregates the converged runs
	// if the cell has both kinds.
	Unconverged int      `json:"not_converged,omitempty"`
	Converged   *float64 `json:"ours_converged,omitempty"`

	Unlearned int `json:"not_learned,omitempty"` // runs with a decoder that has not learned the images, see Unlearned

	Length float64 `json:"length,omitempty"` // length of training as a share of the paper's, see FindLengths; 0: unknown

	Runs []float64 `json:"runs,omitempty"` // the values of trained rows, by seed
	Rank float64   `json:"rank,omitempty"` // rank among the rows, 1 for the best, in a table that compares columns; 0: no rank

	Printed *Printed `json:"-"` // nil: the paper has no such cell
}

// Status says how a cell agrees with the printed one.
type Status string

// The statuses.
const (
	Same      Status = "same"      // equal to the printed value after rounding
	Near      Status = "near"      // within two standard errors of the difference, apart from rounding
	Known     Status = "known"     // different, with a note that gives the reason
	Differs   Status = "differs"   // different, without a note
	Stale     Status = "stale"     // it agrees, although a note says that it differs
	Unfit     Status = "unfit"     // it would agree, but at least half of its runs have not learned the images
	Outdated  Status = "outdated"  // from stale runs of the ledger, whether or not it agrees
	Missing   Status = "missing"   // we have no value
	Unprinted Status = "unprinted" // the paper has no value
	Measured  Status = "measured"  // a time, which is not compared
)

// Reproduced reports whether the cell agrees with the printed one.
func (s Status) Reproduced() bool { return s == Same || s == Near || s == Stale }

// slack accepts rounding errors in printed values halfway between two of our values.
const slack = 1e-9

// Timed reports whether the values are times of metrics. Times are shown beside the printed ones, but never count as
// reproduced. A value is then the median over seeds, not the mean.
func (t *Table) Timed() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.From.Value.(*Timed); return ok })
}

// cell makes a cell from the values behind it.
func (p place) cell(row Row, column Column, d drawn) Cell {
	printed := p.printedCell(&row, column.Label)
	c := Cell{Column: p.cellName(column), Draws: d.count(&column), Exact: d.exact, Notes: d.notes, Unlearned: d.unlearned, Printed: printed}
	if printed.Mean.Text != "" {
		c.Theirs = &printed.Mean.Value
	}
	values, err := column.values(d)
	if err = cmp.Or(d.failed, err); err != nil {
		c.Status, c.Reason, c.Unlearned = Missing, err.Error(), 0
		return c
	}
	aggregate := mean
	if p.Timed() {
		aggregate = median
	}
	ours := aggregate(values)
	c.Ours, c.Deviation = &ours, deviation(values)
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
		c.set()
	} else {
		c.judge(p.Printed.Draws, p.note(row.Label, column.Label), column.Label)
	}
	c.spoil()
	if len(d.stale) > 0 && c.Status != Unprinted && c.Status != Measured {
		c.Status = Outdated
	}
	return c
}

// count returns the number of values of a column.
func (d *drawn) count(c *Column) int {
	switch {
	case c.unmeasured():
		return len(d.fits)
	case d.quoted != nil:
		return len(d.quoted)
	}
	return len(d.results)
}

// mean returns the mean of values; NaN of none.
func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// median returns the median of values.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// mostUnlearned is the largest fraction of the images' variance that reconstructions of a model leave if it has
// learned the images.
const mostUnlearned = 0.6

// Unlearned reports whether a run has not learned the images: its reconstructions leave more than 60 % of the variance,
// or its decoder is black ([train.Fit.Black]). For a run without these numbers, the ledger can say so. Such a run
// reproduces nothing. A model without a decoder (nil) gives false.
func Unlearned(f *train.Fit) bool {
	return f != nil && (f.Black() || f.Reconstruction > mostUnlearned*f.Variance || f.Images == 0 && f.Why != "")
}

// spoil removes the agreement of a cell if at least half of its runs have not learned the images.
func (c *Cell) spoil() {
	if c.Unlearned > 0 && 2*c.Unlearned >= c.Draws && c.Status.Reproduced() {
		c.Status = Unfit
	}
}

// converged counts the runs that did not converge, and aggregates the converged ones if both kinds exist.
func (d *drawn) converged(values []float64) (not int, of *float64) {
	var good []float64
	for i, f := range d.fits {
		if f != nil && !f.Converged {
			not++
		} else {
			good = append(good, values[i])
		}
	}
	if not == 0 || len(good) == 0 {
		return not, nil
	}
	v := mean(good)
	return not, &v
}

// values returns the shown values of a column, from results or fits.
func (c *Column) values(d drawn) ([]float64, error) {
	if d.quoted != nil {
		return d.quoted, nil
	}
	var values []float64
	if c.Fit != "" {
		for _, f := range d.fits {
			v, ok := c.Fit.of(f)
			if !ok {
				return nil, fmt.Errorf("the runs have no %s", c.Fit)
			}
			values = append(values, c.Transform.of(v))
		}
		return values, nil
	}
	if c.timed() {
		for _, timings := range d.timings {
			v, err := c.time(timings)
			if err != nil {
				return nil, err
			}
			values = append(values, c.Transform.of(v))
		}
		return values, nil
	}
	for _, r := range d.results {
		v := r.Value
		if c.Part != "" {
			var err error
			if v, err = c.number(r); err != nil {
				return nil, err
			}
		}
		if v = c.Transform.of(v); math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("metric %s is %v%s", c.Metric.Name, v, because(r.Notes))
		}
		values = append(values, v)
	}
	return values, nil
}

// because joins the notes of a result.
func because(notes []string) string {
	if len(notes) == 0 {
		return ""
	}
	return ": " + notes[0]
}

// number returns the column's value in a result.
func (c *Column) number(r metrics.Result) (float64, error) {
	for _, part := range r.Parts {
		if part.Name != c.Part {
			continue
		}
		if at := slices.Index(part.Labels, c.Of); c.Of != "" {
			if at < 0 {
				return 0, fmt.Errorf("metric %s: its part %q has no %q%s", c.Metric.Name, c.Part, c.Of, registry.Suggest(c.Of, part.Labels))
			}
			return part.Values[at], nil
		}
		if len(part.Values) == 1 {
			return part.Values[0], nil
		}
		return 0, fmt.Errorf("metric %s: its part %q has %d numbers; want one, or of: its label", c.Metric.Name, c.Part, len(part.Values))
	}
	return 0, fmt.Errorf("metric %s: its part %q has 0 numbers; want one", c.Metric.Name, c.Part)
}

// set compares a time: the ratio of the printed time to ours, unless the printed digits are all 0.
func (c *Cell) set() {
	c.Status = Measured
	switch {
	case c.Theirs == nil:
		c.Status = Unprinted
	case *c.Theirs > 0 && *c.Ours > 0:
		ratio := *c.Theirs / *c.Ours
		c.Ratio = &ratio
	}
}

// judge compares our value, the mean of Draws, with the printed value, the mean of draws. The note on the cell may be
// nil. A note without a move explains the whole difference. A note with a move explains at most the move; the rest is
// judged like any other difference.
func (c *Cell) judge(draws int, n *Note, column string) {
	if c.Theirs == nil {
		c.Status = Unprinted
		return
	}
	difference := *c.Ours - *c.Theirs
	c.Difference = &difference
	noise := c.noise(c.Printed, draws)
	var move float64
	moved := false
	if n != nil {
		move, moved = n.Moves[column]
	}
	switch rounding := c.Printed.rounding(); {
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

// noise returns the standard error of the difference between our value and a printed one. The printed value is the
// mean of draws runs.
func (c *Cell) noise(p *Printed, draws int) float64 {
	if c.Exact {
		return 0
	}
	ours, theirs := c.Deviation, c.Deviation
	if p.Std.Text != "" {
		theirs = p.Std.Value
		if c.Draws == 1 { // one value shows no variation
			ours = theirs
		}
	}
	return math.Sqrt(ours*ours/float64(c.Draws) + theirs*theirs/float64(draws))
}

// rounding returns the largest difference of a value that rounds to the printed one.
func (p *Printed) rounding() float64 { return p.Mean.Half() * (1 + slack) }

// Shuffled returns, for every compared cell, the fraction of other rows whose printed value in the column agrees with
// ours, by rounding or within two standard errors. The sum of these fractions is the mean number of cells that would
// agree if rows were shuffled. Other cells have 0.
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
				if p := other.Printed; math.Abs(*cell.Ours-p.Mean.Value) <= p.rounding()+2*cell.noise(p, r.Table.Printed.Draws) {
					agree++
				}
			}
			list[i][c] = float64(agree) / float64(max(others, 1))
		}
	}
	return list
}

// deviation returns the standard deviation of values (n-1 degrees of freedom); 0 for a single value.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	center, square := mean(values), 0.0
	for _, v := range values {
		square += (v - center) * (v - center)
	}
	return math.Sqrt(square / float64(len(values)-1))
}

// Count counts the cells with a status.
func (r *Result) Count(s Status) int {
	n := 0
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Status == s {
				n++
			}
		}
	}
	return n
}

// Cell returns a cell; nil if the result lacks it.
func (r *Result) Cell(row, column string) *Cell {
	for i := range r.Rows {
		for j := range r.Rows[i].Cells {
			if c := &r.Rows[i].Cells[j]; r.Rows[i].Label == row && c.Column == column {
				return c
			}
		}
	}
	return nil
}

// WriteJSON writes the result as one JSON object.
func (r *Result) WriteJSON(w io.Writer) error {
	_ = r.FindLengths() // without a plan for the scale full, no lengths are known
	named := *r
	named.Standing = r.StandsOn()
	if err := json.NewEncoder(w).Encode(named); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

// Planned lists the runs that the result needs.
func (r *Result) Planned() ([]Planned, error) {
	if !r.Trained() {
		return nil, nil
	}
	return r.Table.Planned(r.Scale)
}

// Trained reports whether rows of the table come from runs.
func (r *Result) Trained() bool { return r.Table.Trains() }

// Quotes reports whether rows of the table quote other tables.
func (r *Result) Quotes() bool { return r.Table.Quotes() }

// PrintedDeviation returns the printed standard deviation; false if the paper prints none.
func (c *Cell) PrintedDeviation() (float64, bool) {
	if c.Printed == nil || c.Printed.Std.Text == "" {
		return 0, false
	}
	return c.Printed.Std.Value, true
}

// Summary returns the result in a line.
func (r *Result) Summary() string {
	if r.Table.Timed() {
		return fmt.Sprintf("%d of %d printed times measured (%s scale, median of %s)", r.Count(Measured), r.Printed, r.Scale, plural(r.Seeds, "time"))
	}
	text := fmt.Sprintf("%d of %d printed cells reproduced (%s scale, %s)", r.Reproduced, r.Printed, r.Scale, plural(r.Seeds, "seed"))
	if r.Printed == 0 {
		text = fmt.Sprintf("No numbers are printed (%s scale, %s)", r.Scale, plural(r.Seeds, "seed"))
	}
	for _, part := range []struct {
		status Status
		what   string
	}{{Known, "different for a known reason"}, {Differs, "different for no known reason"}, {Unfit, "of runs that have not learned the images"}, {Outdated, "of stale runs"}, {Missing, "not computed"}, {Stale, "reproduced against a note"}} {
		if n := r.Count(part.status); n > 0 {
			text += fmt.Sprintf("; %s: %d", part.what, n)
		}
	}
	if r.Ledger != nil {
		text += "; " + r.Ledger.String()
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}
