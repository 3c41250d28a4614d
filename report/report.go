// Package report draws the pictures of a run: curves, codes against factors, heatmaps, the
// latent torus, reconstructions and traversals, and the HTML report that holds
// them. Every function goes from data to a PNG file and keeps no state; the same
// data give the same bytes.
package report

import (
	"fmt"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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
	ink     = colours.Light.Ink
	faint   = colours.Light.Faint
	rule    = colours.Light.Rule
	palette = colours.Light.Palette
)

func sans(size vg.Length) font.Font {
	f := font.From(plot.DefaultFont, size)
	f.Variant = "Sans"
	return f
}

// newPlot is an empty plot in our style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font = sans(12)
	p.Title.TextStyle.Color = ink
	p.Title.Padding = vg.Points(6)
	for axis, label := range map[*plot.Axis]string{&p.X: x, &p.Y: y} {
		axis.Label.Text = label
		axis.Label.TextStyle.Font = sans(10)
		axis.Label.TextStyle.Color = ink
		axis.Label.Padding = vg.Points(3)
		axis.Tick.Label.Font = sans(9)
		axis.Tick.Label.Color = faint
		axis.Tick.LineStyle.Color = faint
		axis.LineStyle.Color = faint
		axis.Padding = vg.Points(4)
	}
	return p
}

// render draws on a canvas of a size in inches and writes it as a PNG file. What
// the plotting library panics about becomes an error.
func render(w io.Writer, width, height float64, body func(c draw.Canvas)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("report: %v", r)
		}
	}()
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(width)*vg.Inch, vg.Length(height)*vg.Inch), vgimg.UseDPI(dpi))
	body(draw.New(canvas))
	return raster.WritePNG(w, canvas.Image())
}

// heading writes a title at the top of a canvas and returns what is left.
func heading(c draw.Canvas, title string) draw.Canvas {
	if title == "" {
		return c
	}
	style := draw.TextStyle{Color: ink, Font: sans(14), XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	c.FillText(style, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y - vg.Points(8)}, title)
	return draw.Crop(c, 0, 0, 0, -vg.Points(28))
}

// padded leaves some space on all sides.
func padded(c draw.Canvas, by vg.Length) draw.Canvas { return draw.Crop(c, by, -by, by, -by) }
