// Package report draws the figures of a run: curves, codes against factors, heatmaps, the latent torus, reconstructions
// and traversals. It also writes the HTML report that contains them. Every function converts data to a PNG file and has
// no state; equal data give equal bytes.
package report

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/raster"
)

const dpi = 110

// Figures are drawn on light paper.
var (
	ink      = colours.Light.Ink
	faint    = colours.Light.Faint
	axisLine = colours.Light.Line
	rule     = colours.Light.Rule
	palette  = colours.Light.Palette
)

const panelText = 2.2 * vg.Inch // maximum width of the names of axes and panels

// newPlot returns an empty plot in our style. It truncates names that are too long for a panel.
func newPlot(x, y string) *plot.Plot {
	p := plot.New()
	p.Title.TextStyle.Color = ink
	p.Title.Padding = vg.Points(6)
	for _, a := range []struct {
		axis  *plot.Axis
		label string
	}{{&p.X, x}, {&p.Y, y}} {
		a.axis.Label.TextStyle.Font = sans(10)
		a.axis.Label.TextStyle.Color = ink
		a.axis.Label.Padding = vg.Points(3)
		a.axis.Label.Text = fit(a.axis.Label.TextStyle, a.label, panelText)
		a.axis.Tick.Label.Font = sans(9)
		a.axis.Tick.Label.Color = faint
		a.axis.Tick.LineStyle.Color = axisLine
		a.axis.LineStyle.Color = axisLine
		a.axis.Padding = vg.Points(4)
	}
	return p
}

func setTitle(p *plot.Plot, title string) {
	p.Title.TextStyle.Font = sans(10)
	p.Title.Text = fit(p.Title.TextStyle, title, 1.1*panelText)
}

// Sizes of a figure's title, in points.
const (
	titleSize = 14
	titleStep = 18
	titleRoom = 28 // height of the first line
)

type figure struct {
	title         string
	width, height float64   // inches; the height includes the first line of the title
	pad           vg.Length // margin around the body
}

// render writes a figure as a PNG file, larger with more title lines. A panic of the plotting library becomes an error.
func (f figure) render(w io.Writer, body func(c draw.Canvas)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("report: %v", r)
		}
	}()
	style := textStyle(titleSize)
	style.YAlign = draw.YTop
	width := vg.Length(f.width) * vg.Inch
	lines := balancedLines(style, f.title, width-vg.Points(24))
	height := vg.Length(f.height)*vg.Inch + vg.Points(titleStep*float64(max(0, len(lines)-1)))
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	c := draw.New(canvas)
	for i, line := range lines {
		c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y - vg.Points(8+titleStep*float64(i))}, line)
	}
	if n := len(lines); n > 0 {
		c = draw.Crop(c, 0, 0, 0, -vg.Points(titleRoom+titleStep*float64(n-1)))
	}
	body(draw.Crop(c, f.pad, -f.pad, f.pad, -f.pad))
	return raster.WritePNG(w, canvas.Image())
}

// Column is a named list of numbers, one per image: a code column, or the values of a factor.
type Column struct {
	Name   string
	Values []float64
}

// panels returns a function that draws a table of plots. nil plots are empty cells.
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

// pointPlot returns a panel of points on a grid, with a title and axis labels.
func pointPlot(title, x, y string, points *cloud) *plot.Plot {
	p := newPlot(x, y)
	setTitle(p, title)
	p.Add(grid(), points)
	p.X.Tick.Marker, p.Y.Tick.Marker = sparseTicks{}, linearTicks{}
	widenEmptyRange(&p.X)
	widenEmptyRange(&p.Y)
	return p
}

// cloud draws points as filled discs, each in its colour. Later points cover earlier ones.
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

func (s *cloud) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, q := range s.points {
		c.DrawGlyph(disc(s.colours[i], s.radius), vg.Point{X: x(q.X), Y: y(q.Y)})
	}
}

func (s *cloud) DataRange() (xmin, xmax, ymin, ymax float64) { return plotter.XYRange(s.points) }

func disc(colour color.Color, radius vg.Length) draw.GlyphStyle {
	return draw.GlyphStyle{Color: colour, Radius: radius, Shape: draw.CircleGlyph{}}
}

func dotWithName(c draw.Canvas, position vg.Point, colour color.RGBA, name string) {
	style := textStyle(9)
	style.XAlign = draw.XLeft
	c.DrawGlyph(disc(colour, vg.Points(3)), position)
	c.FillText(style, vg.Point{X: position.X + vg.Points(8), Y: position.Y}, name)
}

func rectangle(left, bottom, right, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
}

func outline(c draw.Canvas, style draw.LineStyle, corners []vg.Point) {
	c.StrokeLines(style, append(corners, corners[0]))
}
