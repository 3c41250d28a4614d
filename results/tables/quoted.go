package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics/ranking"
)

// quoting is a Source that shows values of other tables' cells at the same scale. It does not compute metrics.
type quoting interface {
	Source

	// quoted lists the tables; $name means a value of a data set.
	quoted() []string

	// quote returns the values of a column: one per run, or a single one. The error noValue leaves the cell empty.
	quote(ctx context.Context, o *otherTables, p view, c Column) (cellValues, error)
}

type noValue string // reason for a quoted cell without a value

func (n noValue) Error() string { return string(n) }

// quotedValues returns the values of a row from other tables, by column.
func (f *computation) quotedValues(ctx context.Context, p view, row Row, source quoting) ([]cellValues, error) {
	list := make([]cellValues, len(f.table.Columns))
	for i, c := range f.table.Columns {
		d, err := source.quote(ctx, f.others, p, c)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.As(err, new(noValue)) {
			return nil, fmt.Errorf("row %q: %w", row.Label, err)
		}
		d.err = err
		list[i] = d
	}
	return list, nil
}

// otherTables computes the tables that sources quote, each once.
type otherTables struct {
	options Options
	results map[*Table]*Result
}

// result returns a table at the scale of the options, or, with anyScale, at some scale.
func (o *otherTables) result(ctx context.Context, p view, name string, anyScale bool) (*Result, error) {
	t, err := p.other(name)
	if err != nil {
		return nil, err
	}
	options := o.options
	options.Progress = nil
	if _, _, err := t.atScale(options.Scale); err != nil && anyScale {
		options.Scale = QuickScale
	} else if err != nil {
		return nil, noValue(err.Error())
	}
	if r := o.results[t]; r != nil {
		return r, nil
	}
	options.Runs = t.siblingFolder(options.Runs)
	r, err := t.Compute(ctx, options)
	if err == nil {
		o.results[t] = r
	}
	return r, err
}

// siblingFolder returns the folder of the table's runs next to another table's folder.
func (t *Table) siblingFolder(runs string) string {
	if runs == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Clean(runs)), t.RunsFolder())
}

func (p view) other(name string) (*Table, error) {
	name, err := p.data.fill(name)
	if err != nil {
		return nil, err
	}
	return p.shared().tables.Get(otherTable{"", name, p.real}, func() (*Table, error) {
		other, err := Open(name)
		if err != nil {
			return nil, err
		}
		if other.Quotes() {
			return nil, fmt.Errorf("the table %s quotes cells itself; want a table with computed cells", name)
		}
		if p.real {
			other = other.OnReal()
		}
		return other, nil
	})
}

// Quotes reports whether a row shows cells of other tables.
func (t *Table) Quotes() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.From.Value.(quoting); return ok })
}

func (t *Table) quotedTables() ([]*Table, error) {
	var list []*Table
	for _, p := range t.views() {
		for _, row := range t.Rows {
			source, ok := row.From.Value.(quoting)
			if !ok {
				continue
			}
			for _, name := range source.quoted() {
				other, err := p.other(name)
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

// RunsFolders lists the folders of the runs behind the table: its own if it trains, and the folders of quoted tables.
func (t *Table) RunsFolders() ([]string, error) {
	var list []string
	if t.Trains() {
		list = append(list, t.RunsFolder())
	}
	quoted, err := t.quotedTables()
	for _, other := range quoted {
		if other.Trains() {
			list = append(list, other.RunsFolder())
		}
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// cellsSource is a source that shows the cells of a row of another table.
type cellsSource struct {
	Table string `yaml:"table" doc:"table with the cells"`
	Row   string `yaml:"row" doc:"label of the row"`
}

func (*cellsSource) Random() bool { return true }

// Validate checks the settings.
func (s *cellsSource) Validate() error {
	if s.Table == "" {
		return config.Invalid("table", "want the name of a table")
	}
	if s.Row == "" {
		return config.Invalid("row", "want the label of a row")
	}
	return nil
}

func (s *cellsSource) quoted() []string { return []string{s.Table} }

func (s *cellsSource) quote(ctx context.Context, o *otherTables, p view, c Column) (d cellValues, err error) {
	r, err := o.result(ctx, p, s.Table, false)
	if err != nil {
		return d, err
	}
	if !slices.ContainsFunc(r.Rows, func(row ResultRow) bool { return row.Label == s.Row }) {
		return d, noValue("no such row in " + r.Name)
	}
	cell := r.Cell(s.Row, c.Label)
	if cell == nil {
		return d, fmt.Errorf("the table %s has no column %q", r.Name, c.Label)
	}
	if cell.Ours == nil {
		return d, noValue(cell.Reason)
	}
	if d.quoted, d.unlearned = cell.Runs, cell.Unlearned; len(d.quoted) == 0 { // not from runs
		d.quoted = []float64{*cell.Ours}
	}
	if cell.Status == Outdated {
		d.stale = []string{strings.Join(cell.Notes, "; ")}
		d.notes = d.stale
	}
	return d, nil
}

// point is a run or row of a table: x is its value in the column on the axis, and y its value in another column.
type point struct{ x, y float64 }

// Over has the settings that sources comparing two columns of several tables share.
type Over struct {
	Tables []string `yaml:"tables" doc:"tables with the cells"`
	Column string   `yaml:"column" doc:"column to compare the other columns with"`
	Of     string   `yaml:"of" doc:"values to compare: runs, rows (means over runs) or printed (printed means)"`
}

// Values of the field Of.
const (
	ofRuns    = "runs"
	ofRows    = "rows"
	ofPrinted = "printed"
)

// Random implements Source.
func (*Over) Random() bool { return true }

// Validate checks the settings.
func (s *Over) Validate() error {
	switch {
	case len(s.Tables) == 0:
		return config.Invalid("tables", "want the names of tables")
	case s.Column == "":
		return config.Invalid("column", "want the label of a column")
	case !slices.Contains([]string{ofRuns, ofRows, ofPrinted}, s.Of):
		return config.Invalid("of", "%q is unknown; want runs, rows or printed", s.Of)
	}
	return nil
}

func (s *Over) quoted() []string { return s.Tables }

// itemNames names the compared items for messages.
func (s *Over) itemNames() string {
	if s.Of == ofPrinted {
		return "printed means"
	}
	return s.Of
}

// points returns the runs or rows of all tables with the scale.
func (s *Over) points(ctx context.Context, o *otherTables, p view, c Column) ([]point, error) {
	var points []point
	var missing noValue
	for _, name := range s.Tables {
		r, err := o.result(ctx, p, name, s.Of == ofPrinted)
		if errors.As(err, &missing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range r.Rows {
			x, y := r.Cell(row.Label, s.Column), r.Cell(row.Label, c.Label)
			if x == nil || y == nil {
				return nil, fmt.Errorf("the table %s has no column %q or %q", r.Name, s.Column, c.Label)
			}
			points = append(points, pairsOf(s.Of, x, y)...)
		}
	}
	if len(points) == 0 && missing != "" {
		return nil, missing
	}
	return points, nil
}

// pairsOf pairs the values of two cells. Cells without values, or with values of different runs, give no pairs.
func pairsOf(kind string, x, y *Cell) (list []point) {
	switch {
	case kind == ofPrinted && x.Theirs != nil && y.Theirs != nil:
		return []point{{*x.Theirs, *y.Theirs}}
	case kind == ofPrinted || x.Ours == nil || y.Ours == nil:
		return nil
	case kind == ofRows:
		return []point{{*x.Ours, *y.Ours}}
	case len(x.Runs) != len(y.Runs):
		return nil
	}
	for i := range x.Runs {
		list = append(list, point{x.Runs[i], y.Runs[i]})
	}
	return list
}

// binned selects the runs or rows with one column in a range, and shows the mean of each other column.
type binned struct {
	Over `yaml:",inline"`
	From float64 `yaml:"from" doc:"smallest value of the column"`
	To   float64 `yaml:"to" doc:"upper bound of the column, excluded"`
}

// Validate checks the settings.
func (s *binned) Validate() error {
	if !(s.From < s.To) {
		return config.Invalid("to", "%v is not above from, %v", s.To, s.From)
	}
	return s.Over.Validate()
}

func (s *binned) quote(ctx context.Context, o *otherTables, p view, c Column) (d cellValues, err error) {
	points, err := s.points(ctx, o, p, c)
	if err != nil {
		return d, err
	}
	for _, pt := range points {
		if s.From <= pt.x && pt.x < s.To {
			d.quoted = append(d.quoted, pt.y)
		}
	}
	if len(d.quoted) == 0 {
		return d, noValue(fmt.Sprintf("none of %d %s has a value in this range", len(points), s.itemNames()))
	}
	return d, nil
}

// ranked is Kendall's tau-b between one column and each other column, 1 if both order equally from good to bad.
type ranked struct {
	Over `yaml:",inline"`
}

func (s *ranked) quote(ctx context.Context, o *otherTables, p view, c Column) (d cellValues, err error) {
	points, err := s.points(ctx, o, p, c)
	if err != nil {
		return d, err
	}
	index := slices.IndexFunc(p.Columns, func(pt Column) bool { return pt.Label == s.Column })
	if index < 0 {
		return d, fmt.Errorf("the table %s has no column %q", p.Name, s.Column)
	}
	sign := 1.0
	if p.Columns[index].Better() != c.Better() {
		sign = -1
	}
	var x, y []float64
	for _, pt := range points {
		x, y = append(x, pt.x), append(y, sign*pt.y)
	}
	tau := ranking.KendallTau(x, y)
	if tau != tau {
		return d, noValue(fmt.Sprintf("%d %s have no order", len(points), s.itemNames()))
	}
	d.quoted = []float64{tau}
	return d, nil
}
