package show

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// File is a file with a view of a result.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// Files returns the files for the result: its text in four formats, figures with values, ranks and Kendall's tau.
func Files(r *tables.Result) []File {
	var list []File
	add := func(end string, write func(io.Writer, *tables.Result) error) {
		list = append(list, File{r.Name + end, func(w io.Writer) error { return write(w, r) }})
	}
	add(".md", Markdown)
	add(".csv", CSV)
	add(".tex", LaTeX)
	add(".html", HTML)
	if r.Agreement != nil {
		add("-ranks.csv", ranks)
		add("-tau.csv", tau)
	}
	if p := boxPlot(r); p != nil {
		list = append(list, File{r.Name + ".png", p.WritePNG})
	}
	return slices.Concat(list, rankFiles(r), curveFiles(r))
}

// curveFiles returns the curves as PNG plots: one for each column with a point and each data set.
func curveFiles(r *tables.Result) (list []File) {
	if r.Table.Curves == nil {
		return nil
	}
	for _, column := range r.Table.Curves.Columns {
		for _, set := range dataSetLabels(r.Table) {
			cells := column
			if set != "" {
				cells += ", " + set
			}
			if series := seriesOf(r, cells); len(series) > 0 {
				options := report.CurveOptions{XLabel: r.Table.Curves.X, YLabel: column, LogX: r.Table.Curves.Log, Marked: true}
				list = append(list, curveFile(r, set, strings.ToLower(tables.FileName(column)), options, series))
			}
		}
	}
	return list
}

// dataSetLabels lists the labels of a table's data sets, or one empty label if the table has none.
func dataSetLabels(t *tables.Table) (list []string) {
	if len(t.DataSets) == 0 {
		return []string{""}
	}
	for _, d := range t.DataSets {
		list = append(list, d.Label)
	}
	return list
}

func curveFile(r *tables.Result, set, name string, options report.CurveOptions, series []report.Series) File {
	if options.Title = r.Title; set != "" {
		options.Title += ": " + set
		name += "-" + strings.ToLower(tables.FileName(set))
	}
	return File{r.Name + "-" + name + ".png", func(w io.Writer) error { return report.Curves(w, options, series) }}
}

// seriesOf returns the curves of a column. cells is the name of the column in cells.
func seriesOf(r *tables.Result, cells string) (list []report.Series) {
	for i, row := range r.Table.Rows {
		c := r.Cell(row.Label, cells)
		if row.Series == "" || c == nil || c.Ours == nil {
			continue
		}
		index := slices.IndexFunc(list, func(s report.Series) bool { return s.Name == row.Series })
		if index < 0 {
			index = len(list)
			list = append(list, report.Series{Name: row.Series})
		}
		list[index].X, list[index].Y = append(list[index].X, r.Table.Rows[i].At), append(list[index].Y, *c.Ours)
	}
	return list
}

// rankFiles returns bump charts of ranks for a result that compares columns, one for each data set. A line for every
// row connects its ranks in adjacent columns, as in figure 13 of Cao et al. 2022. If all columns agree, no lines cross.
func rankFiles(r *tables.Result) (list []File) {
	if r.Agreement == nil || len(r.Table.Columns) < 2 {
		return nil
	}
	sets := dataSetLabels(r.Table)
	for i, set := range sets {
		if series := rankLines(r, i, len(sets)); len(series) > 1 { // a single line crosses nothing
			list = append(list, curveFile(r, set, "ranks",
				report.CurveOptions{YLabel: "rank", Names: r.Agreement.Columns, Down: true, Marked: true}, series))
		}
	}
	return list
}

// rankLines returns the ranks of rows by column for a data set. It skips rows without a rank.
func rankLines(r *tables.Result, set, sets int) (list []report.Series) {
	for _, row := range r.Rows {
		s := report.Series{Name: row.Label}
		for i := range r.Table.Columns {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, cmp.Or(row.Cells[i*sets+set].Rank, math.NaN()))
		}
		if slices.ContainsFunc(s.Y, func(rank float64) bool { return rank > 0 }) {
			list = append(list, s)
		}
	}
	return list
}

// boxPlot returns the box plot of a result, or nil if the table has no plot or its rows have no runs.
func boxPlot(r *tables.Result) *report.BoxPlot {
	f := r.Table.Boxes
	if f == nil {
		return nil
	}
	p := &report.BoxPlot{Title: f.Title, X: f.Axis, Y: f.Column, LineLabel: f.Line}
	for i, row := range f.Rows {
		box := report.Box{Label: row}
		if len(f.Labels) > 0 {
			box.Label = f.Labels[i]
		}
		if c := r.Cell(row, f.Column); c != nil {
			box.Values = c.Runs
		}
		p.Boxes = append(p.Boxes, box)
	}
	higher := slices.ContainsFunc(r.Table.Columns,
		func(c tables.Column) bool { return c.Label == f.Column && c.Better() == metrics.HigherIsBetter })
	for _, row := range f.Best {
		if c := r.Cell(row, f.Column); c != nil && c.Ours != nil && (p.Line == nil || (*c.Ours > *p.Line) == higher) {
			p.Line = c.Ours
		}
	}
	if !slices.ContainsFunc(p.Boxes, func(b report.Box) bool { return len(b.Values) > 0 }) {
		return nil
	}
	return p
}

// boxPicture returns the box plot for the HTML page as a data URL, or an empty URL if there is none.
func boxPicture(r *tables.Result) (template.URL, error) {
	p := boxPlot(r)
	if p == nil {
		return "", nil
	}
	var png bytes.Buffer
	err := p.WritePNG(&png)
	return template.URL(web.PNG(png.Bytes())), err // the picture is from this program
}

// plot is a square scatter plot: our values on the vertical axis, published values on the horizontal axis.
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
	Status tables.Status
	Title  string
}

// The side of the plot and its margin, in pixels.
const plotSize, plotMargin = 420, 40

// plotOf plots the cells with both values, on logarithmic axes for ratios. Without published values it returns nil.
func plotOf(r *tables.Result) *plot {
	if r.Printed == 0 {
		return nil
	}
	log := r.Table.Timed()
	low, high := limits(r, log)
	step := tickStep(low, high)
	if log {
		step = max(1, math.Round(step))
	}
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	pixel := func(v float64) float64 {
		return math.Round(10*(plotMargin+(v-low)/(high-low)*(plotSize-2*plotMargin))) / 10
	}
	p := &plot{Size: plotSize}
	for n := range int(math.Round((high-low)/step)) + 1 {
		v := low + float64(n)*step
		label := v
		if log {
			label = math.Pow(10, v)
		}
		p.Ticks = append(p.Ticks, tick{pixel(v), plotSize - pixel(v), fmt.Sprintf("%.4g", label)})
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if x, y, ok := position(&c, log); ok {
				title := fmt.Sprintf("%s, %s: %.4g, printed %s", row.Label, c.Column, *c.Ours, c.Printed)
				p.Dots = append(p.Dots, dot{pixel(x), plotSize - pixel(y), c.Status, title})
			}
		}
	}
	return p
}

// position returns a cell's coordinates on the axes; false if it lacks a value.
func position(c *tables.Cell, log bool) (x, y float64, ok bool) {
	switch {
	case c.Ours == nil || c.Theirs == nil || log && (*c.Ours <= 0 || *c.Theirs <= 0):
		return 0, 0, false
	case log:
		return math.Log10(*c.Theirs), math.Log10(*c.Ours), true
	}
	return *c.Theirs, *c.Ours, true
}

// limits returns the minimum and maximum value of the plot. Linear axes include 0.
func limits(r *tables.Result, log bool) (low, high float64) {
	if log {
		low, high = math.Inf(1), math.Inf(-1)
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if x, y, ok := position(&c, log); ok {
				low, high = min(low, x, y), max(high, x, y)
			}
		}
	}
	if low > high { // no cell has both values
		low, high = 0, 0
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// tickStep returns the distance between ticks. An axis has four or more ticks.
func tickStep(low, high float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for (high-low)/step < 4 {
		step /= 2
	}
	return step
}
