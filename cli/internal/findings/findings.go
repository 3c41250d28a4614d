// Package findings tests the papers' conclusions against our values of the same tables.
//
// A [Finding] is a claim with its section and tests. A test is an inequality between cells, or a bound on Kendall's
// tau. Only our values, with their spread over seeds, decide a test. The list is papers.yaml.
package findings

import (
	"cmp"
	_ "embed" // for papers.yaml
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/results/tables"
)

// Paper is a paper with its findings.
type Paper struct {
	Name     string    `yaml:"paper" doc:"authors and year"`
	Title    string    `yaml:"title" doc:"title of the paper"`
	Findings []Finding `yaml:"findings" doc:"findings of the paper"`
}

// Finding is a claim of a paper.
type Finding struct {
	Claim   string `yaml:"claim" doc:"the claim, in a sentence"`
	Section string `yaml:"section" doc:"section of the paper with the claim"`
	Tests   []Test `yaml:"tests" doc:"conditions for the claim to hold"`
	Remark  string `yaml:"remark" doc:"limits of the tests"`
}

// Test compares cells of a column with a number or with other cells, or bounds Kendall's tau between two columns.
type Test struct {
	Table  string   `yaml:"table" doc:"name of a table"`
	Column string   `yaml:"column" doc:"label of the column; with data sets, COLUMN, DATA SET"`
	Rows   []string `yaml:"rows" doc:"labels of the rows to compare, each separately"`
	Below  *Bound   `yaml:"below" doc:"strict upper bound on all values of the rows"`
	Above  *Bound   `yaml:"above" doc:"strict lower bound on all values of the rows"`
	Tau    string   `yaml:"tau" doc:"instead of single cells: compare the row order in another column by Kendall's tau; printed: the printed values of column"`
}

// Bound is a number, or the cells of some rows in a column.
type Bound struct {
	Value  *float64 `yaml:"value" doc:"a number"`
	Rows   []string `yaml:"rows" doc:"labels of rows; none: compare each tested row with itself in another column"`
	Column string   `yaml:"column" doc:"label of the column; empty: the test's column"`
	Plus   float64  `yaml:"plus" doc:"added to the rows' values; a row is then not compared with itself"`
}

// printed is the value of Tau for a comparison with the printed values.
const printed = "printed"

//go:embed papers.yaml
var papersText []byte

func Papers() ([]Paper, error) { return load("tables/findings/papers.yaml", papersText) }

// load reads a list of papers. Messages contain the name of the file.
func load(file string, source []byte) ([]Paper, error) {
	var all struct {
		Papers []Paper `yaml:"papers"`
	}
	err := config.Load(file, source, &all)
	return all.Papers, err
}

func (f *Finding) Validate() error {
	if f.Claim == "" || f.Section == "" {
		return errors.New("want a claim and its section")
	}
	if len(f.Tests) == 0 {
		return config.Invalid("tests", "there are none; want conditions for the claim to hold")
	}
	return nil
}

func (t *Test) Validate() error {
	bound := cmp.Or(t.Below, t.Above)
	switch {
	case t.Table == "" || t.Column == "":
		return errors.New("want a table and a column")
	case bound == nil || t.Below != nil && t.Above != nil:
		return errors.New("want below or above")
	case t.Tau != "" && bound.Value == nil:
		return config.Invalid("tau", "a tau is compared with a number; want value")
	case bound.Plus != 0 && bound.Value != nil:
		return config.Invalid("plus", "a number stands alone; want the sum in value")
	case t.Tau == "" && len(t.Rows) == 0:
		return config.Invalid("rows", "there are none")
	}
	return nil
}

func (b *Bound) Validate() error {
	if (b.Value != nil) == (len(b.Rows) > 0 || b.Column != "") {
		return errors.New("want a value, or rows, a column or both")
	}
	return nil
}

// bound returns the bound of a test, and whether values must be below it.
func (t *Test) bound() (b *Bound, below bool) { return cmp.Or(t.Below, t.Above), t.Below != nil }

// cell returns a cell of a result, or nil if we have no value. An unknown label is an error.
func cell(r *tables.Result, row, column string) (*tableCell, error) {
	var rows, columns []string
	for _, one := range r.Rows {
		rows = append(rows, one.Label)
	}
	index := slices.Index(rows, row)
	if index < 0 {
		return nil, fmt.Errorf("table %s has no row %q%s", r.Name, row, registry.Suggest(row, rows))
	}
	for i := range r.Rows[index].Cells {
		c := &r.Rows[index].Cells[i]
		if c.Column != column {
			columns = append(columns, c.Column)
			continue
		}
		if c.Ours == nil {
			return nil, nil
		}
		return &tableCell{c, r, i}, r.FindLengths()
	}
	if otherScaleHas(r.Name, column) {
		return nil, nil
	}
	return nil, fmt.Errorf("table %s has no column %q%s", r.Name, column, registry.Suggest(column, columns))
}

// otherScaleHas reports whether another scale of an Unravel table has the column's data set.
func otherScaleHas(table, column string) bool {
	t, err := tables.Open(table)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(t.DataSets, func(d tables.DataSet) bool {
		return slices.ContainsFunc(t.Columns, func(c tables.Column) bool { return c.Label+", "+d.Label == column })
	})
}
