package report

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Column is a named list of numbers, one per image: a code column, or the values of
// a factor.
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

// cloud draws points as filled discs, each in a colour of its own.
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
