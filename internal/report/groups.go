package report

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
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
		panels(plots)(draw.Crop(c, 0, -vg.Length(right)*vg.Inch, 0, 0))
		height := (c.Max.Y - c.Min.Y) / vg.Length(len(rows))
		for i, r := range rows {
			at := vg.Point{X: c.Max.X - vg.Length(right)*vg.Inch + vg.Points(8), Y: c.Max.Y - vg.Length(i)*height - vg.Points(34)}
			for g, name := range legend(r.Names) {
				dotWithName(c, vg.Point{X: at.X, Y: at.Y - vg.Points(13*float64(g))}, groupColour(g), name)
			}
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
	points := &cloud{radius: vg.Points(1.1)}
	for _, without := range []bool{true, false} {
		for i, g := range v.Groups {
			if (g < 0) == without {
				points.add(v.X.Values[i], v.Y.Values[i], groupColour(g))
			}
		}
	}
	return pointPlot(v.Name, v.X.Name, v.Y.Name, points)
}
