package tables

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables/internal/analysis"
	"github.com/unravel-ml/unravel/results/tables/internal/reference"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train/sweep"
)

// DataSet is a data set on which a table can train its rows. Every column is shown for each data set.
type DataSet struct {
	Label   string          `yaml:"label" doc:"label of the data set in the table and the reference file; overrides reference.dataset"`
	Values  sweep.Settings  `yaml:"values" doc:"name: value; replaces $name in the rows' configs and settings; list elements replace $name... in a list"`
	Codes   factor.SubCodes `yaml:"codes" doc:"columns of each factor's sub-code, for metrics of sub-codes and for $codes in the rows' settings"`
	Set     sweep.Settings  `yaml:"set" doc:"key.path: value; overrides the rows' settings"`
	ByScale ScaleSettings   `yaml:"by_scale" doc:"scale: {key.path: value}; overrides all settings but a row's by_scale"`
	Scales  []string        `yaml:"scales" doc:"scales that show the data set, such as [full]; none: all"`
	Real    bool            `yaml:"real" doc:"compute it only with --real: a public data set without a twin"`

	Components int `yaml:"components" doc:"number of principal components in metrics with components; 0: the metric's setting"`
}

// Validate checks the settings.
func (d *DataSet) Validate() error {
	if d.Label == "" {
		return config.Invalid("label", "the data set has no label")
	}
	if len(d.Codes) > 0 && slices.ContainsFunc(d.Values, func(v sweep.Setting) bool { return v.Key == "codes" }) {
		return config.Invalid("values.codes", "$codes are the codes of the data set; want another name")
	}
	if d.Components < 0 {
		return config.Invalid("components", "%d is negative; want 0 (the metrics' own) or more", d.Components)
	}
	return d.Codes.Validate()
}

// fill replaces $name by its value, and $name... by the elements of its value. Without a data set, it replaces nothing.
func (d *DataSet) fill(text string) (string, error) {
	if d.Label == "" {
		return text, nil
	}
	values := d.Values
	if len(d.Codes) > 0 && strings.Contains(text, "$") {
		values = append(slices.Clone(values), sweep.Setting{Key: "codes", Value: d.codesText()})
	}
	return runconfig.Fill(text, values, d.Label)
}

// codesText returns the sub-codes in config format, sorted.
func (d *DataSet) codesText() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(d.Codes)) {
		parts = append(parts, fmt.Sprintf("%s: [%s]", name,
			strings.ReplaceAll(strings.Trim(fmt.Sprint(d.Codes[name]), "[]"), " ", ", ")))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// adaptMetrics returns metrics with the data set's sub-codes and number of principal components.
func (d *DataSet) adaptMetrics(list []metrics.Choice) []metrics.Choice {
	list = slices.Clone(list)
	for i, c := range list {
		if _, ok := c.Value.(metrics.SubCoded); ok && len(d.Codes) > 0 {
			list[i].Value = clone(c.Value)
			list[i].Value.(metrics.SubCoded).SetCodes(d.Codes, metrics.AssignAuto)
		}
		if d.Components > 0 {
			list[i].Value = analysis.WithComponents(list[i].Value, d.Components)
		}
	}
	return list
}

// view is a table on one of its data sets.
type view struct {
	*Table
	data *DataSet // with an empty label if the table lists none
}

// views returns one view per data set of a table. A table without a list of data sets has one view.
func (t *Table) views() []view {
	if len(t.DataSets) == 0 {
		return []view{{t, &DataSet{}}}
	}
	var list []view
	for i := range t.DataSets {
		list = append(list, view{t, &t.DataSets[i]})
	}
	return list
}

func (p view) cellName(c Column) string {
	if p.data.Label == "" {
		return c.Label
	}
	return c.Label + ", " + p.data.Label
}

// row returns a row at a scale on the data set. If it is not computed there, its source is missing, with the reason.
func (p view) row(r Row, scale string) Row {
	if reason := p.absent(r, scale); reason != "" && r.Missing == "" {
		r.From, r.Missing = SourceChoice{}, reason
	}
	return r
}

// absent says why a row is not computed at a scale and on the data set, or returns "" if it is computed.
func (p view) absent(r Row, scale string) string {
	switch {
	case !inScales(scale, r.Scales) && len(r.Scales) == 1:
		return "only at the scale " + r.Scales[0]
	case !inScales(scale, r.Scales):
		return "only at the scales " + strings.Join(r.Scales, ", ")
	case len(r.On) > 0 && !slices.Contains(r.On, p.data.Label):
		return "only on " + strings.Join(r.On, ", ")
	case p.data.Real && !p.real:
		return fmt.Sprintf("%s has no twin; computed with --real", p.data.Label)
	}
	return ""
}

// note returns the note on a cell of the data set, or nil if there is none.
func (p view) note(row, column string) *Note {
	for i := range p.Notes {
		n := &p.Notes[i]
		if slices.Contains(n.Rows, row) && slices.Contains(n.columns(), column) &&
			(len(n.On) == 0 || slices.Contains(n.On, p.data.Label)) {
			return n
		}
	}
	return nil
}

func (p view) printedSet(r *Row) string { return cmp.Or(r.Dataset, p.data.Label, p.Printed.Dataset) }

func (p view) printedCell(r *Row, column string) *reference.Cell {
	return p.reference.Find(p.printedSet(r), r.name(), column)
}

// printedNumber is printedCell. It returns an error for a cell without a printed number.
func (p view) printedNumber(r *Row, column string) (*reference.Cell, error) {
	cell := p.printedCell(r, column)
	if cell == nil || cell.Mean.Text == "" {
		return nil, fmt.Errorf("the paper prints no number for %q, %q in %s", r.Label, column, p.Name)
	}
	return cell, nil
}
