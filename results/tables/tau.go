package tables

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/results/tables/internal/summary"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Compared names a column of another table. A row compares this column with its table's metrics.
type Compared struct {
	Table  string `yaml:"table" doc:"other table: a .yaml file or the name of a built-in table"`
	Column string `yaml:"column" doc:"column of the other table to compare"`
	Raw    bool   `yaml:"raw" doc:"order rows by raw values, which flips the sign for metrics where less is better; false: from good to bad"`
}

// Validate checks the settings.
func (c *Compared) Validate() error {
	if c.Table == "" {
		return config.Invalid("table", "want a .yaml file, or a name that unravel table lists")
	}
	if c.Column == "" {
		return config.Invalid("column", "want a column of the table %s", c.Table)
	}
	return nil
}

// open opens the other table. It looks for files in this table's folder.
func (c *Compared) open(folder string) (*Table, error) {
	name := c.Table
	if in := filepath.Join(folder, name); folder != "" {
		if _, err := os.Stat(in); err == nil {
			name = in
		}
	}
	return Open(name)
}

func (c *Compared) column(other *Table) (*Column, error) {
	var known []string
	for i := range other.Columns {
		column := &other.Columns[i]
		if column.Label == c.Column && !column.unmeasured() {
			return column, nil
		}
		known = append(known, column.Label)
	}
	return nil, fmt.Errorf("table %s has no column %q of a metric%s", c.Table, c.Column, registry.Suggest(c.Column, known))
}

// sign returns the factor that converts values of a metric to the compared order.
func (c *Compared) sign(m metrics.Choice) float64 {
	if !c.Raw && m.Value.Better() == metrics.LowerIsBetter {
		return -1
	}
	return 1
}

// tau compares a column of another table with this table's metrics, on the runs of the other table. For each seed, it
// is the mean over data sets of Kendall's tau-b between the two orders of rows. It skips a data set if the column or
// the metric is constant over all rows.
type tau struct {
	Compared `yaml:",inline"`

	compared *comparedRuns // set by Plan
}

// comparedRuns plans the runs of another table.
type comparedRuns struct {
	planner *Planner
	texts   []string               // texts of the metrics that the runs measure
	bySeed  map[uint64][]sweep.Run // by row and then by data set
}

func (t *tau) Random() bool { return true }

// Plan implements Trained. It returns the other table's runs for a seed.
func (t *tau) Plan(p *Planner, _ string, seed uint64) ([]sweep.Run, error) {
	compared := p.compared[t.Table]
	if compared == nil {
		var err error
		if compared, err = t.compare(p); err != nil {
			return nil, err
		}
		p.compared[t.Table] = compared
	}
	t.compared = compared
	other := compared.planner.table
	if _, err := t.column(other); err != nil {
		return nil, err
	}
	if runs, ok := compared.bySeed[seed]; ok {
		return runs, nil
	}
	var all []sweep.Run
	for _, row := range other.Rows {
		for _, view := range other.views() {
			source, ok := view.row(row, p.scale.Name).From.Value.(Trained)
			if !ok {
				return nil, fmt.Errorf("row %q of table %s is not trained at the scale %s; want a run for every row and seed",
					row.Label, t.Table, p.scale.Name)
			}
			runs, err := source.Plan(compared.planner.onDataSet(view.data), row.Label, seed)
			if err != nil {
				return nil, fmt.Errorf("row %q of table %s: %w", row.Label, t.Table, err)
			}
			if len(runs) != 1 {
				return nil, fmt.Errorf("row %q of table %s has %s for a seed; want one",
					row.Label, t.Table, wording.Count(len(runs), "run"))
			}
			all = append(all, runs[0])
		}
	}
	compared.bySeed[seed] = all
	return all, nil
}

// compare opens the other table and prepares the planning of its runs.
func (t *tau) compare(p *Planner) (*comparedRuns, error) {
	open := func() (*Table, error) { return t.open(p.table.folder) }
	other, err := p.cache.tables.Get(otherTable{p.table.folder, t.Table, false}, open)
	if err != nil {
		return nil, err
	}
	if p.table.real {
		other = other.OnReal()
	}
	planner, err := other.planner(p.scale.Name)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Table, err)
	}
	planner.planned, planner.outline, planner.unhashed = p.planned, p.outline, p.unhashed
	texts, err := runconfig.MetricTexts(planner.metrics)
	return &comparedRuns{planner, texts, map[uint64][]sweep.Run{}}, err
}

func (r *comparedRuns) metricIndex(m metrics.Choice) (int, error) {
	text, err := runconfig.MetricText(m)
	if err != nil {
		return 0, err
	}
	if index := slices.Index(r.texts, text); index >= 0 {
		return index, nil
	}
	return 0, fmt.Errorf("the runs of table %s do not measure %s with the same options", r.planner.table.Name, m.Name)
}

// Results implements Trained. The value is tau of the metrics' values. For parts with a single number, the part is tau
// of these numbers.
func (t *tau) Results(_ context.Context, runs []sweep.Entry, choices []metrics.Choice, _ Options) ([]metrics.Result,
	*train.Fit, error) {
	if t.compared == nil {
		return nil, nil, errors.New("there is no plan of runs; want one before their results")
	}
	other := t.compared.planner.table
	column, err := t.column(other)
	if err != nil {
		return nil, nil, err
	}
	index, err := t.compared.metricIndex(column.Metric)
	if err != nil {
		return nil, nil, err
	}
	dataSets := len(other.views())
	compared, err := metricValues(runs, index, column.Part, column.Of, t.sign(column.Metric))
	if err != nil {
		return nil, nil, err
	}
	var results []metrics.Result
	for _, choice := range choices {
		index, err := t.compared.metricIndex(choice)
		if err != nil {
			return nil, nil, err
		}
		r := metrics.Result{Name: choice.Name}
		for _, part := range singleParts(runs[0].Metrics[index]) {
			values, err := metricValues(runs, index, part, "", t.sign(choice))
			if err != nil {
				return nil, nil, err
			}
			addTau(&r, part, compared, values, dataSets)
		}
		results = append(results, r)
	}
	return results, nil, nil
}

// addTau adds the mean over data sets of tau between two lists, as the value or a part of a result.
func addTau(r *metrics.Result, part string, a, b []float64, sets int) {
	if tau := summary.MeanTau(summary.Split(a, sets), summary.Split(b, sets)); part == "" {
		r.Value = tau
	} else {
		r.Parts = append(r.Parts, metrics.Part{Name: part, Values: []float64{tau}})
	}
}

// singleParts lists the parts with a single number, after the value itself, which has no name.
func singleParts(r metrics.Result) []string {
	list := []string{""}
	for _, p := range r.Parts {
		if len(p.Values) == 1 && len(p.Labels) == 0 {
			list = append(list, p.Name)
		}
	}
	return list
}

// metricValues returns one number of a metric for each run, multiplied by sign.
func metricValues(runs []sweep.Entry, index int, part, of string, sign float64) ([]float64, error) {
	var values []float64
	for _, run := range runs {
		if index >= len(run.Metrics) {
			return nil, fmt.Errorf("run %s has %s; want at least %d", run.Name, wording.Count(len(run.Metrics), "metric"),
				index+1)
		}
		r := run.Metrics[index]
		v, err := (&Column{Part: part, Of: of, Metric: metrics.Choice{Name: r.Name}}).number(r)
		if err != nil {
			return nil, err
		}
		values = append(values, sign*v)
	}
	return values, nil
}
