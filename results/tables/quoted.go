package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
)

// quoting is a Source that shows values of other tables' cells at the same scale. Its own metrics are not computed.
type quoting interface {
	Source

	// quoted lists the tables; $name stands for values of a data set.
	quoted() []string

	// quote returns the values of a column: one for each run, or one in all.
	quote(ctx context.Context, o *others, place *Table, c Column) (values, error)
}

// values belong to one cell.
type values struct {
	unlearned int       // runs that have not learned the images
	list      []float64 // by run
	stale     string    // reason if values come from stale runs; empty: no value does
}

// others opens and computes the tables quoted by sources, each once.
type others struct {
	options Options
	opened  map[string]*Table
	known   map[*Table]*Result
}

// newOthers shares opened tables with other scales if the options have plans for them.
func newOthers(o Options) *others {
	x := &others{options: o, opened: map[string]*Table{}, known: map[*Table]*Result{}}
	if o.plans != nil {
		x.opened = o.plans.quoted
	}
	return x
}

// open opens a table that a row quotes.
func (o *others) open(place *Table, name string) (*Table, error) {
	name, err := place.quotedName(name)
	if err != nil {
		return nil, err
	}
	if t := o.opened[name]; t != nil {
		return t, nil
	}
	t, err := place.other(name)
	if err == nil {
		o.opened[name] = t
	}
	return t, err
}

// result returns a table at the scale of the options; the table may lack it. With anyScale only printed values count,
// and any scale will do.
func (o *others) result(ctx context.Context, place *Table, name string, anyScale bool) (*Result, error) {
	t, err := o.open(place, name)
	if err != nil {
		return nil, err
	}
	options := o.options
	options.Progress = nil
	if _, err := t.scale(options.Scale); err != nil && anyScale {
		options.Scale = QuickScale
	} else if err != nil {
		return nil, noValue(err.Error())
	}
	if r := o.known[t]; r != nil {
		return r, nil
	}
	options.Runs = t.beside(options.Runs)
	r, err := t.Compute(ctx, options)
	if err != nil {
		return nil, err
	}
	o.known[t] = r
	return r, nil
}

// beside returns the folder of the table's runs next to another table's folder.
func (t *Table) beside(runs string) string {
	if runs == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Clean(runs)), t.RunsFolder())
}

// quotedHeld returns the largest scale with results of a quoted table; empty without results.
func (t *Table) quotedHeld(o Options) (string, error) {
	quoted, err := t.quotedTables()
	if err != nil {
		return "", err
	}
	best := -1
	for _, other := range quoted {
		own := o
		own.Runs = other.beside(o.Runs)
		held, err := other.Held(own)
		if err != nil {
			return "", err
		}
		best = max(best, slices.Index(t.Scales.Names(), held))
	}
	if best < 0 {
		return "", nil
	}
	return t.Scales[best].Name, nil
}

// quotedName fills in values of the data set.
func (t *Table) quotedName(name string) (string, error) {
	if t.at == nil {
		return name, nil
	}
	return t.at.fill(name)
}

// other opens a table that a row quotes.
func (t *Table) other(name string) (*Table, error) {
	name, err := t.quotedName(name)
	if err != nil {
		return nil, err
	}
	other, err := Open(name)
	if err != nil {
		return nil, err
	}
	if other.Quotes() {
		return nil, fmt.Errorf("the table %s quotes cells itself; want one whose cells are computed", name)
	}
	if t.real {
		other = other.OnReal()
	}
	return other, nil
}

// Quotes reports whether a row has cells of other tables.
func (t *Table) Quotes() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.From.Value.(quoting); return ok })
}

// quotedTables lists the distinct tables that rows quote.
func (t *Table) quotedTables() ([]*Table, error) {
	var list []*Table
	for _, place := range t.places() {
		for _, row := range t.Rows {
			source, ok := row.From.Value.(quoting)
			if !ok {
				continue
			}
			for _, name := range source.quoted() {
				other, err := place.other(name)
				if err != nil {
					return nil, fmt.Errorf("row %q: %w", row.Label, err)
				}
				if !slices.ContainsFunc(list, func(known *Table) bool { return known.Name == other.Name }) {
					list = append(list, other)
				}
			}
		}
	}
	return list, nil
}

// quotedRow fills the cells of a row from other tables.
func (t *Table) quotedRow(ctx context.Context, o *others, row Row, line []Cell) error {
	source := row.From.Value.(quoting)
	for i, c := range t.Columns {
		v, err := source.quote(ctx, o, t, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var none noValue
		if err != nil && !errors.As(err, &none) {
			return fmt.Errorf("row %q: %w", row.Label, err)
		}
		line[i] = t.quotedCell(row, c, v, err)
	}
	return nil
}

// quotedCell makes a cell from values.
func (t *Table) quotedCell(row Row, column Column, v values, failed error) Cell {
	p := t.printedCell(&row, column.Label)
	c := Cell{Column: t.cellName(column), Draws: len(v.list), printed: p}
	if v.stale != "" {
		c.Notes = []string{v.stale}
	}
	if p.Mean.Text != "" {
		c.Theirs = &p.Mean.Value
	}
	if failed != nil {
		c.Status, c.Reason = Missing, failed.Error()
		return c
	}
	ours := column.Aggregate.of(v.list)
	c.Ours, c.Deviation, c.Runs, c.Unlearned = &ours, deviation(v.list), v.list, v.unlearned
	c.judge(t.Printed.Draws, t.note(row.Label, column.Label), column.Label)
	c.spoil()
	if v.stale != "" && c.Status != Unprinted {
		c.Status = Outdated
	}
	return c
}

// noValue is the reason for a quoted cell without a value.
type noValue string

func (n noValue) Error() string { return string(n) }

// Cells shows the cells of a row of another table.
type Cells struct {
	Table string `yaml:"table" doc:"table of the cells"`
	Row   string `yaml:"row" doc:"label of its row"`
}

// Random implements Source.
func (*Cells) Random() bool { return true }

// Validate checks the settings.
func (s *Cells) Validate() error {
	if s.Table == "" {
		return config.Invalid("table", "want the name of a table")
	}
	if s.Row == "" {
		return config.Invalid("row", "want the label of one of its rows")
	}
	return nil
}

func (s *Cells) quoted() []string { return []string{s.Table} }

func (s *Cells) quote(ctx context.Context, o *others, place *Table, c Column) (values, error) {
	r, err := o.result(ctx, place, s.Table, false)
	if err != nil {
		return values{}, err
	}
	if !slices.ContainsFunc(r.Rows, func(row ResultRow) bool { return row.Label == s.Row }) {
		return values{}, noValue("no such row in " + r.Name)
	}
	cell := r.Cell(s.Row, c.Label)
	if cell == nil {
		return values{}, fmt.Errorf("the table %s has no column %q", r.Name, c.Label)
	}
	if cell.Ours == nil {
		return values{}, noValue(cell.Reason)
	}
	v := values{list: cell.Runs, unlearned: cell.Unlearned}
	if cell.Status == Outdated {
		v.stale = strings.Join(cell.Notes, "; ")
	}
	return v, nil
}
