package report

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/raster"
)

const (
	histogramBins  = 40
	maxHistograms  = 16 // rows and columns
	histogramScale = 2
)

// RowScores are a number from 0 to 1 for each row of histograms, drawn as a bar behind the row.
type RowScores struct {
	Name   string
	Values []float64 // nil: there are no bars
}

// histograms shows the dependence between each of rows and each of columns. It is a table of joint histograms: white
// without values, dark blue where most values lie. It skips pairs with a missing value (NaN). It shows at most sixteen
// rows and sixteen columns.
func histograms(w io.Writer, title string, rows, columns []Column, scores RowScores) error {
	if len(rows) == 0 || len(columns) == 0 {
		return fmt.Errorf("report: histograms of %d by %d columns; want at least one of each", len(rows), len(columns))
	}
	if scores.Values != nil && len(scores.Values) != len(rows) {
		return fmt.Errorf("report: %d scores %s of %d rows; want one for each", len(scores.Values), scores.Name, len(rows))
	}
	n := len(rows[0].Values)
	for _, c := range append(rows[:len(rows):len(rows)], columns...) {
		if len(c.Values) != n {
			return fmt.Errorf("report: column %s has %d values, want %d", c.Name, len(c.Values), n)
		}
	}
	t := raster.Tiles{Title: title, Scale: histogramScale}
	if len(rows) > maxHistograms || len(columns) > maxHistograms {
		t.Subtitle = fmt.Sprintf("the first %d of %d by %d", maxHistograms, len(rows), len(columns))
	}
	rows, columns = rows[:min(maxHistograms, len(rows))], columns[:min(maxHistograms, len(columns))]
	for _, c := range columns {
		t.ColumnLabels = append(t.ColumnLabels, c.Name)
	}
	if scores.Values != nil {
		t.ColumnLabels = append(t.ColumnLabels, scores.Name)
	}
	for i, r := range rows {
		t.RowLabels = append(t.RowLabels, r.Name)
		var line []image.Image
		for _, c := range columns {
			line = append(line, histogram(r.Values, c.Values))
		}
		if scores.Values != nil {
			line = append(line, scoreBar(scores.Values[i]))
			t.EndLabels = append(t.EndLabels, fmt.Sprintf("%.2f", scores.Values[i]))
		}
		t.Rows = append(t.Rows, line)
	}
	return raster.WritePNG(w, t.Draw())
}

// histogram is the picture of a joint histogram: x to the right, y upwards.
func histogram(y, x []float64) image.Image {
	bin := func(values []float64) func(v float64) int {
		low, high := math.Inf(1), math.Inf(-1)
		for i, v := range values {
			if !math.IsNaN(v) && !math.IsNaN(y[i]) && !math.IsNaN(x[i]) {
				low, high = min(low, v), max(high, v)
			}
		}
		return func(v float64) int {
			if !(high > low) {
				return histogramBins / 2
			}
			return min(histogramBins-1, int((v-low)/(high-low)*histogramBins))
		}
	}
	column, row := bin(x), bin(y)
	var count [histogramBins][histogramBins]int
	most := 0
	for i := range x {
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) {
			continue
		}
		c := &count[row(y[i])][column(x[i])]
		*c++
		most = max(most, *c)
	}
	img := image.NewRGBA(image.Rect(0, 0, histogramBins, histogramBins))
	for r := range count {
		for c, k := range count[r] {
			shade := 0.0
			if k > 0 {
				shade = 0.12 + 0.88*math.Sqrt(float64(k)/float64(most))
			}
			img.SetRGBA(c, histogramBins-1-r, color.RGBA{uint8(255 - 245*shade), uint8(255 - 175*shade), uint8(255 - 115*shade), 255})
		}
	}
	return img
}

// scoreBar is the picture of a score: a bar with the full length of the picture at 1. For NaN it has no bar.
func scoreBar(score float64) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, histogramBins, histogramBins))
	length := 0
	if score > 0 {
		length = int(math.Round(min(score, 1) * histogramBins))
	}
	for y := range histogramBins {
		for x := range histogramBins {
			c := color.RGBA{255, 255, 255, 255}
			if inside := y >= histogramBins/4 && y < 3*histogramBins/4; inside && x < length {
				c = palette[1]
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

// Column is a named list of numbers, one for each image: a code column, or the values of a factor.
type Column struct {
	Name   string
	Values []float64
}

// maxPanels bounds the code columns that a figure shows.
const maxPanels = 10

// CodesAgainstFactors draws every code column (a row of panels; the first ten)
// against every factor.
func CodesAgainstFactors(w io.Writer, title string, codes, factors []Column) error {
	if len(codes) == 0 || len(factors) == 0 {
		return errors.New("report: want at least one code column and one factor")
	}
	if len(codes) > maxPanels {
		title += fmt.Sprintf(" (first %d of %d columns)", maxPanels, len(codes))
		codes = codes[:maxPanels]
	}
	var plots [][]*plot.Plot
	for _, c := range codes {
		var row []*plot.Plot
		for _, f := range factors {
			if len(c.Values) != len(f.Values) {
				return fmt.Errorf("report: %d values of %q, but %d of %q", len(c.Values), c.Name, len(f.Values), f.Name)
			}
			p := newPlot("", f.Name, c.Name)
			p.Add(grid())
			var points plotter.XYs
			for i, y := range c.Values {
				if finite(y) && finite(f.Values[i]) {
					points = append(points, plotter.XY{X: f.Values[i], Y: y})
				}
			}
			p.Add(&cloud{points: points, radius: vg.Points(1.3), colour: func(int) color.RGBA { return palette[0] }})
			p.X.Tick.Marker, p.Y.Tick.Marker = linearTicks{}, linearTicks{}
			settleAxis(&p.X)
			settleAxis(&p.Y)
			row = append(row, p)
		}
		plots = append(plots, row)
	}
	width := max(3.2*float64(len(factors))+0.2, 4)
	return figure{title, width, 2.4*float64(len(plots)) + 0.6, vg.Points(6)}.render(w, func(c draw.Canvas) {
		drawAll(plots, c)
	})
}

// cloud draws points as filled discs, each in its colour.
type cloud struct {
	points plotter.XYs
	radius vg.Length
	colour func(i int) color.RGBA
}

// Plot draws the points.
func (s *cloud) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, q := range s.points {
		at := vg.Point{X: x(q.X), Y: y(q.Y)}
		glyph := draw.GlyphStyle{Color: s.colour(i), Radius: s.radius, Shape: draw.CircleGlyph{}}
		c.DrawGlyph(glyph, at)
	}
}

// DataRange is the range of the points.
func (s *cloud) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, q := range s.points {
		xmin, xmax, ymin, ymax = min(xmin, q.X), max(xmax, q.X), min(ymin, q.Y), max(ymax, q.Y)
	}
	return xmin, xmax, ymin, ymax
}
