package report

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/unravel-ml/unravel/internal/raster"
)

const (
	histogramBins  = 40
	maxHistograms  = 16 // maximum number of rows and of columns
	histogramScale = 2
)

// RowScores has a number from 0 to 1 for each row of histograms, drawn as a bar behind the row.
type RowScores struct {
	Name   string
	Values []float64 // nil: no bars
}

// histograms shows the dependence between each row and each column as a table of joint histograms: white without
// values, dark blue where most values are. It skips pairs with a missing value (NaN), and shows at most sixteen rows
// and sixteen columns.
func histograms(w io.Writer, title string, rows, columns []Column, scores RowScores) error {
	if len(rows) == 0 || len(columns) == 0 {
		return fmt.Errorf("report: histograms of %d by %d columns; want at least one of each", len(rows), len(columns))
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

// histogram returns the picture of a joint histogram: x to the right, y upwards.
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
	highest := 0
	for i := range x {
		if math.IsNaN(x[i]) || math.IsNaN(y[i]) {
			continue
		}
		c := &count[row(y[i])][column(x[i])]
		*c++
		highest = max(highest, *c)
	}
	img := image.NewRGBA(image.Rect(0, 0, histogramBins, histogramBins))
	for r := range count {
		for c, k := range count[r] {
			shade := 0.0
			if k > 0 {
				shade = 0.12 + 0.88*math.Sqrt(float64(k)/float64(highest))
			}
			img.SetRGBA(c, histogramBins-1-r,
				color.RGBA{uint8(255 - 245*shade), uint8(255 - 175*shade), uint8(255 - 115*shade), 255})
		}
	}
	return img
}

// scoreBar returns the picture of a score: at 1, the bar fills the width of the picture. For NaN there is no bar.
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

const maxPanels = 10 // maximum number of code columns in a figure

// CodesAgainstFactors draws every code column (one row of panels per column, at most ten) against every factor.
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
			points := &cloud{radius: vg.Points(1.3)}
			for i, y := range c.Values {
				points.add(f.Values[i], y, palette[0])
			}
			row = append(row, pointPlot("", f.Name, c.Name, points))
		}
		plots = append(plots, row)
	}
	width := max(3.2*float64(len(factors))+0.2, 4)
	return figure{title, width, 2.4*float64(len(plots)) + 0.6, vg.Points(6)}.render(w, panels(plots))
}
