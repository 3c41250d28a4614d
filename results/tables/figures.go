package tables

import (
	"cmp"

	"github.com/unravel-ml/unravel/configs/config"
)

// Curves plots columns: the rows of each series are points at Row.At.
type Curves struct {
	X       string   `yaml:"x" doc:"label of the horizontal axis"`
	Log     bool     `yaml:"log" doc:"use a logarithmic horizontal axis"`
	Columns []string `yaml:"columns" doc:"columns to plot, one figure each"`
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

// Boxes is a box plot of one column's values over the runs of some rows.
type Boxes struct {
	Title  string   `yaml:"title" doc:"title of the figure"`
	Column string   `yaml:"column" doc:"column to show"`
	Rows   []string `yaml:"rows" doc:"rows, one box each, from left to right"`
	Axis   string   `yaml:"axis" doc:"label of the horizontal axis: the difference between the rows"`
	Labels []string `yaml:"labels" doc:"labels of the boxes; if absent, the row labels"`
	Best   []string `yaml:"best" doc:"other rows; a line marks their lowest mean over runs"`
	Line   string   `yaml:"line" doc:"label of the line"`
}

// Validate checks the settings.
func (b *Boxes) Validate() error {
	switch {
	case b.Column == "":
		return config.Invalid("column", "the figure has no column")
	case len(b.Rows) == 0:
		return config.Invalid("rows", "the figure has no rows")
	case len(b.Labels) > 0 && len(b.Labels) != len(b.Rows):
		return config.Invalid("labels", "there are %d labels for %d rows", len(b.Labels), len(b.Rows))
	case len(b.Best) > 0 && b.Line == "":
		return config.Invalid("line", "the line has no name")
	}
	return nil
}

// among checks that the table has the rows and the column.
func (b *Boxes) among(rows, columns []string) error {
	if err := among("column", b.Column, columns); err != nil {
		return config.Invalid("boxes.column", "%w", err)
	}
	return cmp.Or(allAmong("boxes.rows", "row", b.Rows, rows), allAmong("boxes.best", "row", b.Best, rows))
}
