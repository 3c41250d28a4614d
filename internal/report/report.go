// Package report draws the pictures of a run: curves, codes against factors, heatmaps, the latent torus,
// reconstructions and traversals. It also writes the HTML report that holds them. Every function turns data into a PNG
// file and keeps no state; equal data give equal bytes.
package report

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/raster"
)

// dpi is the resolution of all plots.
const dpi = 110

// Figures are drawn on light paper.
var (
	ink      = colours.Light.Ink
	faint    = colours.Light.Faint
	axisLine = colours.Light.Line
	rule     = colours.Light.Rule
	palette  = colours.Light.Palette
)

// panelText bounds the width of the names of axes and panels.
const panelText = 2.2 * vg.Inch

// newPlot returns an empty plot in our style. It cuts names that are too long for a panel.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.TextStyle.Font = sans(12)
	p.Title.TextStyle.Color = ink
	p.Title.Padding = vg.Points(6)
	p.Title.Text = fit(p.Title.TextStyle, title, panelText)
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

// subtitle sets the title of a panel of a figure.
func subtitle(p *plot.Plot, title string) {
	p.Title.TextStyle.Font = sans(10)
	p.Title.Text = fit(p.Title.TextStyle, title, 1.1*panelText)
}

// The title of a figure, in points.
const (
	titleSize = 14
	titleStep = 18
	titleRoom = 28 // for its first line
)

// figure is a picture with a title.
type figure struct {
	title         string
	width, height float64   // inches; the height includes the first line of the title
	pad           vg.Length // around the body
}

// render draws a figure and writes it as a PNG file. The figure grows with the number of title lines. A panic of the
// plotting library becomes an error.
func (f figure) render(w io.Writer, body func(c draw.Canvas)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("report: %v", r)
		}
	}()
	style := textStyle(titleSize)
	style.YAlign = draw.YTop
	width := vg.Length(f.width) * vg.Inch
	lines := wrapped(style, f.title, width-vg.Points(24))
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
