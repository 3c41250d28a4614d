package tables

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/metrics"
)

// quoting is a Source whose values are those of other tables' cells, at the same scale; its own metrics are not computed.
type quoting interface {
	Source

	// quoted lists the tables; $name stands for values of a data set.
	quoted() []string

	// quote returns the values of a column: those of runs, or one.
	quote(ctx context.Context, o *others, place *Table, c Column) (values, error)
}

// values are those of a cell.
type values struct {
	list  []float64 // by run
	stale string    // why some of them rest on stale runs; empty: none does
}

// others opens and computes the tables that sources quote, each once.
type others struct {
	options Options
	opened  map[string]*Table
	known   map[*Table]*Result
}

// newOthers shares opened tables with other scales, where the options have plans of these.
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

// result returns a table at the scale of the options, which it may lack; at any if only its printed values count.
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

// beside returns the folder of the table's runs beside that of another table.
func (t *Table) beside(runs string) string {
	if runs == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(filepath.Clean(runs)), t.RunsFolder())
}

// quotedHeld returns the largest scale that a quoted table holds results of; empty without any.
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
	c.Ours, c.Deviation, c.Runs = &ours, deviation(v.list), v.list
	c.Reason = t.reason(row.Label, column.Label)
	c.judge(t.Printed.Draws)
	if v.stale != "" && c.Status != Unprinted {
		c.Status = Outdated
	}
	return c
}

// noValue is why a quoted cell has no value.
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
	v := values{list: cell.Runs}
	if cell.Status == Outdated {
		v.stale = strings.Join(cell.Notes, "; ")
	}
	return v, nil
}

// point is a run, or a row, of a table: the value of a column and that of the one on the axis.
type point struct{ x, y float64 }

// Over is what sources that compare two columns of several tables have in common.
type Over struct {
	Tables []string `yaml:"tables" doc:"tables of the cells"`
	Column string   `yaml:"column" doc:"column to compare the others with"`
	Of     string   `yaml:"of" doc:"what is compared: runs, rows (their means) or printed (the printed means)"`
}

// The values of Over.Of.
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

// whose calls what is compared by name.
func (s *Over) whose() string {
	if s.Of == ofPrinted {
		return "printed means"
	}
	return s.Of
}

// points returns the runs or rows of all tables that have the scale.
func (s *Over) points(ctx context.Context, o *others, place *Table, c Column) ([]point, error) {
	var all []point
	var without noValue
	for _, name := range s.Tables {
		r, err := o.result(ctx, place, name, s.Of == ofPrinted)
		if errors.As(err, &without) {
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
			all = append(all, pairsOf(s.Of, x, y)...)
		}
	}
	if len(all) == 0 && without != "" {
		return nil, without
	}
	return all, nil
}

// pairsOf pairs the values of two cells; cells without values, or with those of other runs, have none.
func pairsOf(of string, x, y *Cell) (list []point) {
	switch {
	case of == ofPrinted && x.Theirs != nil && y.Theirs != nil:
		return []point{{*x.Theirs, *y.Theirs}}
	case of == ofPrinted || x.Ours == nil || y.Ours == nil:
		return nil
	case of == ofRows:
		return []point{{*x.Ours, *y.Ours}}
	case len(x.Runs) != len(y.Runs):
		return nil
	}
	for i := range x.Runs {
		list = append(list, point{x.Runs[i], y.Runs[i]})
	}
	return list
}

// Binned is the mean of each column over the runs or rows whose value of one column is in a range.
type Binned struct {
	Over `yaml:",inline"`
	From float64 `yaml:"from" doc:"the least value of the column"`
	To   float64 `yaml:"to" doc:"the value that is too large"`
}

// Validate checks the settings.
func (s *Binned) Validate() error {
	if !(s.From < s.To) {
		return config.Invalid("to", "%v is not above from, %v", s.To, s.From)
	}
	return s.Over.Validate()
}

func (s *Binned) quote(ctx context.Context, o *others, place *Table, c Column) (values, error) {
	all, err := s.points(ctx, o, place, c)
	if err != nil {
		return values{}, err
	}
	var v values
	for _, p := range all {
		if s.From <= p.x && p.x < s.To {
			v.list = append(v.list, p.y)
		}
	}
	if len(v.list) == 0 {
		return v, noValue(fmt.Sprintf("none of %d %s is in this range", len(all), s.whose()))
	}
	return v, nil
}

// Ranked is Kendall's tau-b between one column and each of the others, over runs or rows: 1 for the same order from good to bad.
type Ranked struct {
	Over `yaml:",inline"`
}

func (s *Ranked) quote(ctx context.Context, o *others, place *Table, c Column) (values, error) {
	all, err := s.points(ctx, o, place, c)
	if err != nil {
		return values{}, err
	}
	at := slices.IndexFunc(place.Columns, func(one Column) bool { return one.Label == s.Column })
	if at < 0 {
		return values{}, fmt.Errorf("the table %s has no column %q", place.Name, s.Column)
	}
	sign := 1.0
	if place.Columns[at].better() != c.better() {
		sign = -1
	}
	var x, y []float64
	for _, p := range all {
		x, y = append(x, p.x), append(y, sign*p.y)
	}
	tau := metrics.KendallTau(x, y)
	if tau != tau {
		return values{}, noValue(fmt.Sprintf("%d %s have no order", len(all), s.whose()))
	}
	return values{list: []float64{tau}}, nil
}
