package report

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineLegend lists lines beside a plot: a piece of each, its name and a value.
type lineLegend struct {
	names, values []string
	styles        []draw.LineStyle
}

// The sizes of a legend of lines.
const (
	maxLegendLines  = 60
	maxLegendName   = 2.4 * vg.Inch
	legendLine      = vg.Length(15)
	legendThumbnail = vg.Length(22)
)

func (l *lineLegend) add(name, value string, style draw.LineStyle) {
	l.names, l.values, l.styles = append(l.names, fit(legendText(), name, maxLegendName)), append(l.values, value), append(l.styles, style)
}

func legendText() draw.TextStyle {
	style := textStyle(10)
	style.XAlign = draw.XLeft
	return style
}

// width includes the space beside the plot.
func (l *lineLegend) width() vg.Length {
	if len(l.names) == 0 {
		return 0
	}
	return vg.Points(10) + legendThumbnail + vg.Points(6) + widest(legendText(), l.names) + vg.Points(10) + widest(legendText(), l.values) + vg.Points(4)
}

func (l *lineLegend) height() vg.Length {
	return legendLine * vg.Length(min(len(l.names), maxLegendLines))
}

// draw draws the legend down from a point. Of more lines than it shows it counts the others.
func (l *lineLegend) draw(c draw.Canvas, left, top vg.Length) {
	style, values := legendText(), left+legendThumbnail+vg.Points(6)+widest(legendText(), l.names)+vg.Points(10)
	for i, name := range l.names {
		y := top - vg.Length(i)*legendLine
		if i == maxLegendLines-1 && len(l.names) > maxLegendLines {
			c.FillText(style, vg.Point{X: left, Y: y}, fmt.Sprintf("and %d more", len(l.names)-i))
			return
		}
		c.StrokeLine2(l.styles[i], left, y, left+legendThumbnail, y)
		c.FillText(style, vg.Point{X: left + legendThumbnail + vg.Points(6), Y: y}, name)
		c.FillText(style, vg.Point{X: values, Y: y}, l.values[i])
	}
}
