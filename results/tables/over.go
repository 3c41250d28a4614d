package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics/ranking"
)

// point is a run or row of a table: y is the value of a column, x the value of the column on the axis.
type point struct{ x, y float64 }

// Over is the shared part of sources that compare two columns of several tables.
type Over struct {
	Tables []string `yaml:"tables" doc:"tables of the cells"`
	Column string   `yaml:"column" doc:"column to compare the others with"`
	Of     string   `yaml:"of" doc:"what is compared: runs, rows (their means) or printed (the printed means)"`
}

// The values of the field Of.
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

// whose names the compared items in messages.
func (s *Over) whose() string {
	if s.Of == ofPrinted {
		return "printed means"
	}
	return s.Of
}

// points returns the runs or rows of all tables with the scale.
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

// pairsOf pairs the values of two cells. Cells without values, or with values of different runs, give no pairs.
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

// Binned takes the runs or rows whose value of one column lies in a range. It shows the mean of each other column
// over them.
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

// Ranked is Kendall's tau-b between one column and each other column, over runs or rows. Equal orders from good to
// bad give 1.
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
	tau := ranking.KendallTau(x, y)
	if tau != tau {
		return values{}, noValue(fmt.Sprintf("%d %s have no order", len(all), s.whose()))
	}
	return values{list: []float64{tau}}, nil
}
