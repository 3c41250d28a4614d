package tables

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
)

// printedTau is Kendall's tau-b between two columns of another table's printed values, as tau is for columns of runs.
// Rows with equal printed numbers are ties, unless a file has further digits.
type printedTau struct {
	Compared `yaml:",inline"`
	Digits   string `yaml:"digits" doc:".csv file in reference form: the other table's numbers with more digits, which round to the printed numbers; empty: the printed numbers"`

	other *Table // set by Score
}

func (*printedTau) Random() bool { return false }

// Score implements Scored. The value and the parts belong to the other table's columns with the metric.
func (p *printedTau) Score(_ context.Context, c metrics.Choice, _ uint64) (metrics.Result, error) {
	r := metrics.Result{Name: c.Name}
	if p.other == nil {
		from, err := p.read()
		if err != nil {
			return r, err
		}
		p.other = from
	}
	compared, err := p.column(p.other)
	if err != nil {
		return r, err
	}
	x, err := p.other.printedOrder(compared, p.Raw)
	if err != nil {
		return r, err
	}
	columns, err := p.other.columnsOf(c)
	if err != nil {
		return r, err
	}
	for _, column := range columns {
		y, err := p.other.printedOrder(column, p.Raw)
		if err != nil {
			return r, err
		}
		addTau(&r, column.Part, x, y, len(p.other.views()))
	}
	return r, nil
}

// read opens the other table, with the further digits if there is a file of them.
func (p *printedTau) read() (*Table, error) {
	other, err := Open(p.Table)
	if err != nil || p.Digits == "" {
		return other, err
	}
	digits, err := reference.Read(configs.Tables(), p.Digits, p.Digits)
	if err != nil {
		return nil, err
	}
	for _, c := range digits.Cells {
		printed := other.reference.Find(c.Dataset, c.Row, c.Column)
		if printed == nil || math.Abs(c.Mean.Value-printed.Mean.Value) > printed.Rounding() {
			return nil, fmt.Errorf("%s:%d: %s does not round to a printed number of %s", p.Digits, c.Line, c.Mean.Text, p.Table)
		}
	}
	other.reference = digits
	return other, nil
}

// columnsOf returns the columns that show a metric with the same options.
func (t *Table) columnsOf(c metrics.Choice) (list []*Column, err error) {
	shown, err := t.distinctMetrics()
	if err != nil {
		return nil, err
	}
	want, err := runconfig.MetricText(c)
	if err != nil {
		return nil, err
	}
	for _, m := range shown {
		if m.text != want {
			continue
		}
		for _, i := range m.columns {
			list = append(list, &t.Columns[i])
		}
	}
	if list == nil {
		return nil, fmt.Errorf("table %s has no column of %s with the same options", t.Name, c.Name)
	}
	return list, nil
}

// printedOrder returns the printed numbers of a column, by row and data set. Unless raw, larger is better.
func (t *Table) printedOrder(c *Column, raw bool) ([]float64, error) {
	sign := 1.0
	if raw && c.Transform == expMinus || !raw && c.Better() == metrics.LowerIsBetter {
		sign = -1
	}
	var values []float64
	for i := range t.Rows {
		for _, view := range t.views() {
			p, err := view.printedNumber(&t.Rows[i], c.Label)
			if err != nil {
				return nil, err
			}
			values = append(values, sign*p.Mean.Value)
		}
	}
	return values, nil
}

// randomDigits returns a printed number with random further digits: uniform over the numbers that round to it.
func (p view) randomDigits(row *Row, column string, seed uint64) (float64, error) {
	cell, err := p.printedNumber(row, column)
	if err != nil {
		return 0, err
	}
	u := rng.New(seed, fmt.Sprintf("printed/%s/%s/%s/%s", p.Name, cell.Dataset, cell.Row, cell.Column)).Float64()
	return cell.Mean.Value + (2*u-1)*cell.Mean.Half(), nil
}

// printedProduct multiplies the printed numbers of a row of another table, over all columns that show a metric, such as
// one per factor. Each seed draws the digits beyond the printed ones, uniformly.
type printedProduct struct {
	Table string `yaml:"table" doc:"the name of the other table"`
	Row   string `yaml:"row" doc:"row of the other table"`

	other *Table // set by Score
}

// Validate checks the settings.
func (p *printedProduct) Validate() error {
	if p.Table == "" || p.Row == "" {
		return config.Invalid("table", "want a table that comes with unravel, and a row of it")
	}
	return nil
}

func (*printedProduct) Random() bool { return true }

func (p *printedProduct) Score(_ context.Context, c metrics.Choice, seed uint64) (metrics.Result, error) {
	r := metrics.Result{Name: c.Name, Value: 1}
	if p.other == nil {
		other, err := Open(p.Table)
		if err != nil {
			return r, err
		}
		p.other = other
	}
	other := p.other
	var labels []string
	for _, row := range other.Rows {
		labels = append(labels, row.Label)
	}
	row := slices.Index(labels, p.Row)
	if row < 0 {
		return r, fmt.Errorf("table %s has no row %q%s", p.Table, p.Row, registry.Suggest(p.Row, labels))
	}
	hasMetric := false
	for _, column := range other.Columns {
		if column.Metric.Name != c.Name {
			continue
		}
		hasMetric = true
		for _, view := range other.views() {
			v, err := view.randomDigits(&other.Rows[row], column.Label, seed)
			if err != nil {
				return r, err
			}
			r.Value *= v
		}
	}
	if !hasMetric {
		return r, fmt.Errorf("table %s has no column of %s", p.Table, c.Name)
	}
	return r, nil
}
