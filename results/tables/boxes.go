package tables

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/report"
)

// Boxes is a box plot of one column's values over the runs of some rows.
type Boxes struct {
	Title  string   `yaml:"title" doc:"title of the figure"`
	Column string   `yaml:"column" doc:"column to show"`
	Rows   []string `yaml:"rows" doc:"rows with a box each, from left to right"`
	Axis   string   `yaml:"axis" doc:"label of the horizontal axis: what the rows differ in"`
	Labels []string `yaml:"labels" doc:"labels of the boxes; if absent, those of the rows"`
	Best   []string `yaml:"best" doc:"other rows: a line marks the lowest of their means over runs"`
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
	for _, list := range []struct {
		key  string
		rows []string
	}{{"boxes.rows", b.Rows}, {"boxes.best", b.Best}} {
		for i, row := range list.rows {
			if err := among("row", row, rows); err != nil {
				return config.Invalid(fmt.Sprintf("%s.%d", list.key, i), "%w", err)
			}
		}
	}
	return nil
}

// boxes returns the box plot of a result; nil if the table has no plot or its rows have no run.
func (r *Result) boxes() *report.BoxPlot {
	f := r.table.Boxes
	if f == nil {
		return nil
	}
	p := &report.BoxPlot{Title: f.Title, X: f.Axis, Y: f.Column, LineLabel: f.Line}
	some := false
	for i, row := range f.Rows {
		box := report.Box{Label: row}
		if len(f.Labels) > 0 {
			box.Label = f.Labels[i]
		}
		if c := r.Cell(row, f.Column); c != nil {
			box.Values = c.Runs
		}
		some = some || len(box.Values) > 0
		p.Boxes = append(p.Boxes, box)
	}
	for _, row := range f.Best {
		if c := r.Cell(row, f.Column); c != nil && c.Ours != nil && (p.Line == nil || *c.Ours < *p.Line) {
			p.Line = c.Ours
		}
	}
	if !some {
		return nil
	}
	return p
}

// HasFigure reports whether WriteFigure has something to draw.
func (r *Result) HasFigure() bool { return r.boxes() != nil }

// WriteFigure draws the table's box plot as a PNG file.
func (r *Result) WriteFigure(w io.Writer) error {
	p := r.boxes()
	if p == nil {
		return fmt.Errorf("table %s: there is no figure, or none of its rows has a run", r.Name)
	}
	if err := p.WritePNG(w); err != nil {
		return fmt.Errorf("table %s: %w", r.Name, err)
	}
	return nil
}

// boxPage is the box plot on the HTML page, in pixels.
type boxPage struct {
	Title, Axis, Column string
	Width, Height       int
	Left, Right         float64 // ends of horizontal lines
	Bottom              float64
	Ticks               []tick
	Boxes               []boxShape
	Line                *tick
}

type boxShape struct {
	Label                           string
	X, Left, Right                  float64
	Low, First, Median, Third, High float64
	Height                          float64 // of the box
	Dots                            []tick
	Empty                           bool
}

// The height of the figure, and the width of each of its boxes.
const (
	boxesHeight = 320
	boxesStep   = 70
)

// boxPage lays out the box plot; nil if the table has none.
func (r *Result) boxPage() *boxPage {
	p := r.boxes()
	if p == nil {
		return nil
	}
	low, high := p.Range()
	step := tickStep(low, high)
	top := math.Ceil(high/step) * step
	low = math.Floor(low/step) * step
	y := func(v float64) float64 {
		return tenth(boxesHeight - plotMargin - (v-low)/(top-low)*(boxesHeight-2*plotMargin))
	}
	page := &boxPage{Title: p.Title, Axis: p.X, Column: p.Y, Width: 2*plotMargin + boxesStep*len(p.Boxes), Height: boxesHeight + 20, Left: plotMargin, Bottom: y(low)}
	page.Right = float64(page.Width - plotMargin)
	for n := range int(math.Round((top-low)/step)) + 1 {
		v := low + float64(n)*step
		page.Ticks = append(page.Ticks, tick{0, y(v), fmt.Sprintf("%.4g", v)})
	}
	for i, b := range p.Boxes {
		x := plotMargin + boxesStep*(float64(i)+0.5)
		s := boxShape{Label: b.Label, X: x, Left: x - 20, Right: x + 20, Empty: len(b.Values) == 0}
		if !s.Empty {
			n := b.FiveNumbers()
			s.Low, s.First, s.Median, s.Third, s.High = y(n.Low), y(n.First), y(n.Median), y(n.Third), y(n.High)
			s.Height = tenth(s.First - s.Third)
			for _, v := range slices.Sorted(slices.Values(b.Values)) {
				s.Dots = append(s.Dots, tick{x, y(v), fmt.Sprintf("%.4g", v)})
			}
		}
		page.Boxes = append(page.Boxes, s)
	}
	if p.Line != nil {
		page.Line = &tick{0, y(*p.Line), fmt.Sprintf("%s, %.4g", p.LineLabel, *p.Line)}
	}
	return page
}

// tenth rounds to tenths of a pixel.
func tenth(v float64) float64 { return math.Round(10*v) / 10 }
