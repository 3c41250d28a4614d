package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Column is a named list of numbers, one for each image: a code column, or the values of a factor.
type Column struct {
	Name   string
	Values []float64
}

// panels returns a function that draws a table of plots. A plot may be nil.
func panels(plots [][]*plot.Plot) func(draw.Canvas) {
	return func(c draw.Canvas) {
		tiles := draw.Tiles{Rows: len(plots), Cols: len(plots[0]), PadX: vg.Points(12), PadY: vg.Points(12)}
		canvases := plot.Align(plots, tiles, c)
		for r := range plots {
			for i, p := range plots[r] {
				if p != nil {
					p.Draw(canvases[r][i])
				}
			}
		}
	}
}

// pointPlot returns a panel of points on a grid, with a title and names of the axes.
func pointPlot(title, x, y string, points *cloud) *plot.Plot {
	p := newPlot("", x, y)
	subtitle(p, title)
	p.Add(grid(), points)
	p.X.Tick.Marker, p.Y.Tick.Marker = sparseTicks{}, linearTicks{}
	settleAxis(&p.X)
	settleAxis(&p.Y)
	return p
}

// cloud draws points as filled discs, each in its colour. Later points lie over earlier ones.
type cloud struct {
	radius  vg.Length
	points  plotter.XYs
	colours []color.RGBA
}

// add adds a point, unless it has a NaN or infinite coordinate.
func (s *cloud) add(x, y float64, colour color.RGBA) {
	if finite(x) && finite(y) {
		s.points, s.colours = append(s.points, plotter.XY{X: x, Y: y}), append(s.colours, colour)
	}
}

// Plot implements plot.Plotter.
func (s *cloud) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, q := range s.points {
		c.DrawGlyph(disc(s.colours[i], s.radius), vg.Point{X: x(q.X), Y: y(q.Y)})
	}
}

// DataRange implements plot.DataRanger.
func (s *cloud) DataRange() (xmin, xmax, ymin, ymax float64) { return plotter.XYRange(s.points) }

// disc is a filled disc.
func disc(colour color.Color, radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colour, Radius: radius, Shape: draw.CircleGlyph{}}
}

// dotWithName draws a dot of a legend and its name.
func dotWithName(c draw.Canvas, at vg.Point, colour color.RGBA, name string) {
	style := textStyle(9)
	style.XAlign = draw.XLeft
	c.DrawGlyph(disc(colour, vg.Points(3)), at)
	c.FillText(style, vg.Point{X: at.X + vg.Points(8), Y: at.Y}, name)
}

// rectangle lists the corners of a rectangle.
func rectangle(left, bottom, right, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
}

// outline draws the border of a polygon.
func outline(c draw.Canvas, style draw.LineStyle, corners []vg.Point) {
	c.StrokeLines(style, append(corners, corners[0]))
}
