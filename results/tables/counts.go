package tables

import (
	"context"

	"github.com/unravel-ml/unravel/results/tables/internal/reference"
)

// Counts counts the cells of a table with printed values, at one scale.
type Counts struct {
	Scale      string `json:"scale"`
	Printed    int    `json:"printed"`
	Computable int    `json:"computable"` // printed cells in rows that are computed at the scale
	Computed   int    `json:"computed"`   // cells for which we have a value
	Reproduced int    `json:"reproduced"`
	Stale      int    `json:"stale"`  // cells from stale runs of the ledger
	Ledger     int    `json:"ledger"` // number of runs from the ledger
}

// Counts counts the printed cells at all scales.
func (t *Table) Counts(ctx context.Context, o Options) (list []Counts, err error) {
	o.RunsOnly = true
	for _, o.Scale = range t.Scales.Names() {
		c, err := t.count(ctx, o)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// count counts the printed cells at a scale, using only existing runs. A table without training would have to be
// computed; for such a table, cells without a note count as reproduced.
func (t *Table) count(ctx context.Context, o Options) (Counts, error) {
	c := Counts{Scale: o.Scale}
	if !t.Trains() && !t.Quotes() {
		c.Reproduced, c.Printed = t.Coverage()
		c.Computable = t.computable(o.Scale)
		if c.Computed = c.Computable; t.Timed() {
			c.Computed = 0 // times depend on the machine
		}
		return c, nil
	}
	r, err := t.Compute(ctx, o)
	if err != nil {
		return c, err
	}
	c.Printed, c.Reproduced, c.Computable, c.Stale = r.Printed, r.Reproduced, t.computable(o.Scale), r.Count(Outdated)
	if r.Ledger != nil {
		c.Ledger = r.Ledger.Runs
	}
	for _, row := range r.Rows {
		for _, cell := range row.Cells {
			if cell.Ours != nil && cell.Theirs != nil {
				c.Computed++
			}
		}
	}
	return c, nil
}

// computable returns the number of printed cells in rows that are computed at a scale.
func (t *Table) computable(scale string) (n int) {
	t, named, err := t.atScale(scale)
	if err != nil {
		return 0
	}
	t.eachPrinted(func(p view, row *Row, _ string, _ *reference.Cell) {
		if p.row(*row, named.Name).Missing == "" {
			n++
		}
	})
	return n
}

// eachPrinted calls f for each cell of the table with a printed number.
func (t *Table) eachPrinted(f func(p view, row *Row, column string, printed *reference.Cell)) {
	for _, p := range t.views() {
		for i := range t.Rows {
			for _, c := range t.Columns {
				if printed, err := p.printedNumber(&t.Rows[i], c.Label); err == nil {
					f(p, &t.Rows[i], c.Label, printed)
				}
			}
		}
	}
}

// Coverage returns the number of printed cells without computing anything: the cells that are reproduced according to
// the table's notes, and all cells of its data sets. Times never count as reproduced.
func (t *Table) Coverage() (reproduced, printed int) {
	sets := map[string]bool{}
	for _, p := range t.views() {
		for _, r := range t.Rows {
			sets[p.printedSet(&r)] = true
		}
	}
	for _, c := range t.reference.Cells {
		if sets[c.Dataset] && c.Mean.Text != "" {
			printed++
		}
	}
	if t.Timed() {
		return 0, printed
	}
	expected := map[*reference.Cell]bool{} // cells that the table can compute and that have no note
	t.eachPrinted(func(p view, row *Row, column string, printed *reference.Cell) {
		if row.Missing == "" && p.note(row.Label, column) == nil {
			expected[printed] = true
		}
	})
	return len(expected), printed
}
