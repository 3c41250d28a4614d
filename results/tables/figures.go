package tables

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/report"
)

// File is a file that shows a result.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Files lists the files that show the result: its text in four formats, ranks and Kendall's tau if the table compares
// columns, and the figures with values.
func (r *Result) Files() []File {
	list := []File{{r.Name + ".md", r.WriteMarkdown}, {r.Name + ".csv", r.WriteCSV}, {r.Name + ".tex", r.WriteLaTeX}, {r.Name + ".html", r.WriteHTML}}
	if r.Agreement != nil {
		list = append(list, File{r.Name + "-ranks.csv", r.writeRanks}, File{r.Name + "-tau.csv", r.writeTau})
	}
	if p := r.boxes(); p != nil {
		list = append(list, File{r.Name + ".png", p.WritePNG})
	}
	return slices.Concat(list, r.rankFiles(), r.curveFiles())
}

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

// curveFiles returns the plots of the curves as PNG files: one for each column with a point and each data set.
func (r *Result) curveFiles() (list []File) {
	if r.table.Curves == nil {
		return nil
	}
	for _, column := range r.table.Curves.Columns {
		for _, place := range r.table.places() {
			if series := r.series(place.cellName(Column{Label: column})); len(series) > 0 {
				options := report.CurveOptions{XLabel: r.table.Curves.X, YLabel: column, LogX: r.table.Curves.Log, Marked: true}
				list = append(list, r.curveFile(place, strings.ToLower(plainName(column)), options, series))
			}
		}
	}
	return list
}

// curveFile returns a plot of curves on a data set.
func (r *Result) curveFile(on place, name string, options report.CurveOptions, series []report.Series) File {
	if options.Title = r.Title; on.data != nil {
		options.Title += ": " + on.data.Label
		name += "-" + strings.ToLower(plainName(on.data.Label))
	}
	return File{r.Name + "-" + name + ".png", func(w io.Writer) error { return report.Curves(w, options, series) }}
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

// rankFiles returns the flow charts of ranks of a result that compares columns, one for each data set. A line for
// every row connects its ranks in neighbouring columns, as in figure 13 of Cao et al. 2022. If columns agreed, no
// lines would cross.
func (r *Result) rankFiles() (list []File) {
	if r.Agreement == nil || len(r.table.Columns) < 2 {
		return nil
	}
	places := r.table.places()
	for p, place := range places {
		if series := r.rankLines(p, len(places)); len(series) > 1 { // otherwise there is nothing to cross
			list = append(list, r.curveFile(place, "ranks", report.CurveOptions{YLabel: "rank", Names: r.Agreement.Columns, Down: true, Marked: true}, series))
		}
	}
	return list
}

// rankLines returns the ranks of rows by column on a data set. It skips rows without a rank.
func (r *Result) rankLines(place, places int) (list []report.Series) {
	for _, row := range r.Rows {
		s, some := report.Series{Name: row.Label}, false
		for i := range r.table.Columns {
			rank := row.Cells[i*places+place].Rank
			if rank == 0 {
				rank = math.NaN()
			}
			some = some || rank > 0
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, rank)
		}
		if some {
			list = append(list, s)
		}
	}
	return list
}

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

// plot is a square of dots, our values upward and the printed ones to the right.
type plot struct {
	Size  int
	Ticks []tick
	Dots  []dot
}

type tick struct {
	X, Y  float64 // label and position of a value on both axes
	Label string
}

type dot struct {
	X, Y   float64
	Status Status
	Title  string
}

// The sides of the plot and its margin, in pixels.
const (
	plotSize   = 420
	plotMargin = 40
)

// plot places the cells with both values, on logarithmic axes if the table compares ratios. It is nil if no value is
// printed.
func (r *Result) plot() *plot {
	if r.Printed == 0 {
		return nil
	}
	log := r.table.Timed()
	low, high := r.limits(log)
	step := tickStep(low, high)
	if log {
		step = max(1, math.Round(step))
	}
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	at := func(v float64) float64 { return tenth(plotMargin + (v-low)/(high-low)*(plotSize-2*plotMargin)) }
	p := &plot{Size: plotSize}
	for n := range int(math.Round((high-low)/step)) + 1 {
		v := low + float64(n)*step
		label := v
		if log {
			label = math.Pow(10, v)
		}
		p.Ticks = append(p.Ticks, tick{at(v), plotSize - at(v), fmt.Sprintf("%.4g", label)})
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			x, y, ok := c.place(log)
			if ok {
				p.Dots = append(p.Dots, dot{at(x), plotSize - at(y), c.Status,
					fmt.Sprintf("%s, %s: %.4g, printed %s", row.Label, c.Column, *c.Ours, c.printed.Mean.Text)})
			}
		}
	}
	return p
}

// place returns a cell's position on the axes; false if it lacks a value.
func (c *Cell) place(log bool) (x, y float64, ok bool) {
	switch {
	case c.Ours == nil || c.Theirs == nil || log && (*c.Ours <= 0 || *c.Theirs <= 0):
		return 0, 0, false
	case log:
		return math.Log10(*c.Theirs), math.Log10(*c.Ours), true
	}
	return *c.Theirs, *c.Ours, true
}

// limits returns the smallest and the largest value of the plot. Linear axes include 0.
func (r *Result) limits(log bool) (low, high float64) {
	some := !log
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			x, y, ok := c.place(log)
			switch {
			case ok && !some:
				low, high, some = min(x, y), max(x, y), true
			case ok:
				low, high = min(low, x, y), max(high, x, y)
			}
		}
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// tickStep returns the distance between ticks. An axis has at least four ticks.
func tickStep(low, high float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for (high-low)/step < 4 {
		step /= 2
	}
	return step
}
