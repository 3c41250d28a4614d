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

	"github.com/unravel-ml/unravel/internal/colours"
)

// View is a panel of points, each in one group or without a group.
type View struct {
	Name   string
	X, Y   Column
	Groups []int // by point; -1: none
}

// GroupRow is a row of panels with the names of their groups.
type GroupRow struct {
	Names []string
	Views []View
}

// maxLegend bounds the number of names in a legend.
const maxLegend = 14

// groups draws rows of panels with every point in the colour of its group. Points without a group are grey and lie
// behind the others.
func groups(w io.Writer, title string, rows []GroupRow) error {
	columns := 0
	for _, r := range rows {
		columns = max(columns, len(r.Views))
		for _, v := range r.Views {
			if len(v.X.Values) != len(v.Groups) || len(v.Y.Values) != len(v.Groups) {
				return fmt.Errorf("report: %d and %d values of %q, but %d groups", len(v.X.Values), len(v.Y.Values), v.Name, len(v.Groups))
			}
		}
	}
	if columns == 0 {
		return errors.New("report: want at least one panel")
	}
	plots := make([][]*plot.Plot, len(rows))
	letters := 0
	for i, r := range rows {
		plots[i] = make([]*plot.Plot, columns)
		for j, v := range r.Views {
			plots[i][j] = groupPlot(v)
		}
		for _, name := range legend(r.Names) {
			letters = max(letters, len([]rune(name)))
		}
	}
	right := 0.35 + 0.078*float64(letters) // inches
	return figure{title, 3.1*float64(columns) + right + 0.2, 3.2*float64(len(rows)) + 0.6, vg.Points(6)}.render(w, func(c draw.Canvas) {
		drawAll(plots, draw.Crop(c, 0, -vg.Length(right)*vg.Inch, 0, 0))
		height := (c.Max.Y - c.Min.Y) / vg.Length(len(rows))
		for i, r := range rows {
			drawLegend(c, c.Max.X-vg.Length(right)*vg.Inch, c.Max.Y-vg.Length(i)*height-vg.Points(34), legend(r.Names))
		}
	})
}

// legend returns the names in the legend.
func legend(names []string) []string {
	if len(names) <= maxLegend {
		return names
	}
	return append(append([]string(nil), names[:maxLegend-1]...), fmt.Sprintf("and %d more", len(names)-maxLegend+1))
}

func drawLegend(c draw.Canvas, left, top vg.Length, names []string) {
	style := draw.TextStyle{Color: ink, Font: sans(9), YAlign: draw.YCenter, Handler: plot.DefaultTextHandler}
	for i, name := range names {
		y := top - vg.Points(13*float64(i))
		glyph := draw.GlyphStyle{Color: groupColour(i), Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		c.DrawGlyph(glyph, vg.Point{X: left + vg.Points(8), Y: y})
		c.FillText(style, vg.Point{X: left + vg.Points(16), Y: y}, name)
	}
}

// groupColour is the colour of a group; -1 is no group.
func groupColour(g int) color.RGBA {
	switch {
	case g < 0:
		return colours.Light.Missing
	case g < len(palette):
		return palette[g]
	}
	_, turn := math.Modf(float64(g) * (math.Sqrt(5) - 1) / 2)
	return colours.Cyclic(turn)
}

func groupPlot(v View) *plot.Plot {
	p := newPlot("", v.X.Name, v.Y.Name)
	subtitle(p, v.Name)
	p.Add(grid())
	for _, behind := range []bool{true, false} {
		var points plotter.XYs
		var groups []int
		for i, g := range v.Groups {
			if x, y := v.X.Values[i], v.Y.Values[i]; (g < 0) == behind && finite(x) && finite(y) {
				points, groups = append(points, plotter.XY{X: x, Y: y}), append(groups, g)
			}
		}
		if len(points) > 0 {
			p.Add(&cloud{points: points, radius: vg.Points(1.1), colour: func(i int) color.RGBA { return groupColour(groups[i]) }})
		}
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = sparseTicks{}, linearTicks{}
	settleAxis(&p.X)
	settleAxis(&p.Y)
	return p
}
