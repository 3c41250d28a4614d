package tables

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/report"
)

// Curves plots columns: the rows of each series are points at Row.At.
type Curves struct {
	X       string   `yaml:"x" doc:"label of the horizontal axis"`
	Log     bool     `yaml:"log" doc:"use a logarithmic horizontal axis"`
	Columns []string `yaml:"columns" doc:"columns to plot, a figure each"`
}

// Validate checks the settings.
func (c *Curves) Validate() error {
	if c.X == "" {
		return config.Invalid("x", "there is no text for the axis")
	}
	if len(c.Columns) == 0 {
		return config.Invalid("columns", "there are no columns to draw")
	}
	return nil
}

// validCurves checks that the columns exist and that some rows are points of the curves.
func (t *Table) validCurves(columns []string) error {
	for i, r := range t.Rows {
		key := fmt.Sprintf("rows.%d.at", i)
		switch {
		case r.Series == "" && r.At != 0:
			return config.Invalid(key, "row %q is part of no series", r.Label)
		case r.Series != "" && t.Curves == nil:
			return config.Invalid(fmt.Sprintf("rows.%d.series", i), "the table has no curves")
		case r.At-r.At != 0 || r.Series != "" && t.Curves.Log && r.At <= 0:
			return config.Invalid(key, "%v cannot be on the axis", r.At)
		}
	}
	if t.Curves == nil {
		return nil
	}
	for i, name := range t.Curves.Columns {
		if err := among("column", name, columns); err != nil {
			return config.Invalid(fmt.Sprintf("curves.columns.%d", i), "%w", err)
		}
	}
	return nil
}

// CurveFile is a picture of a result.
type CurveFile struct {
	Name  string // name of the file
	Write func(io.Writer) error
}

// CurveFiles returns the plots of a result as PNG files. Each column with a point has one plot for each data set.
// Tables that compare columns add flow charts of ranks.
func (r *Result) CurveFiles() []CurveFile {
	list := r.rankFiles()
	if r.table.Curves == nil {
		return list
	}
	for _, column := range r.table.Curves.Columns {
		for _, place := range r.table.places() {
			title, name := r.Title, plainName(column)
			if place.at != nil {
				title, name = title+": "+place.at.Label, name+"-"+plainName(place.at.Label)
			}
			series := r.series(place.cellName(Column{Label: column}))
			if len(series) == 0 {
				continue
			}
			list = append(list, CurveFile{r.Name + "-" + strings.ToLower(name) + ".png", func(w io.Writer) error {
				return report.Curves(w, report.CurveOptions{Title: title, XLabel: r.table.Curves.X, YLabel: column, LogX: r.table.Curves.Log, Marked: true}, series)
			}})
		}
	}
	return list
}

// series returns the curves of a column. The argument is the column's name in cells.
func (r *Result) series(cells string) (list []report.Series) {
	for i, row := range r.table.Rows {
		c := r.Cell(row.Label, cells)
		if row.Series == "" || c == nil || c.Ours == nil {
			continue
		}
		at := slices.IndexFunc(list, func(s report.Series) bool { return s.Name == row.Series })
		if at < 0 {
			at = len(list)
			list = append(list, report.Series{Name: row.Series})
		}
		list[at].X, list[at].Y = append(list[at].X, r.table.Rows[i].At), append(list[at].Y, *c.Ours)
	}
	return list
}
