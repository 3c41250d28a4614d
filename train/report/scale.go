package report

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
)

// scale gives numbers colours: signed ones diverge from 0, which is in the middle of the range, others go one way.
type scale struct {
	low, high float64
	signed    bool
	cyclic    bool // of angles
	points    bool // for points on paper, which do not get the lightest colours
	label     string
}

// colour of a number; grey if it is not finite.
func (s *scale) colour(v float64) color.RGBA {
	if !finite(v) {
		return colours.Light.Missing
	}
	t := 0.0
	if s.high > s.low {
		t = (v/2 - s.low/2) / (s.high/2 - s.low/2) // halves, as the range may overflow
	}
	switch {
	case s.cyclic:
		return colours.Cyclic(t)
	case s.points:
		t = 0.12 + 0.88*t
	case s.signed:
		return colours.Light.Diverging(2*t - 1)
	}
	return colours.Light.Sequential(t)
}

// heatBarRoom is the room that a colour bar and what is around a figure take, in inches.
const heatBarRoom = 1.25

// draw draws a colour bar from bottom to top with ticks and the label.
func (s *scale) draw(c draw.Canvas, left, bottom, top vg.Length) {
	const steps = 96
	low, high := s.low, s.high
	if low == high {
		high = low + 1
	}
	right := left + vg.Points(10)
	for i := range steps { // up to the top: seams would show
		y := bottom + (top-bottom)*vg.Length(i)/steps
		v := low + (high-low)*(float64(i)+0.5)/steps
		if !finite(high - low) {
			v = low*(1-(float64(i)+0.5)/steps) + high*(float64(i)+0.5)/steps
		}
		c.FillPolygon(s.colour(v), []vg.Point{{X: left, Y: y}, {X: right, Y: y}, {X: right, Y: top}, {X: left, Y: top}})
	}
	c.StrokeLines(draw.LineStyle{Color: axisLine, Width: vg.Points(0.6)}, []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}, {X: left, Y: bottom}})
	style := textStyle(8)
	style.XAlign, style.Color = draw.XLeft, faint
	var width, last vg.Length
	last = -vg.Inch
	for _, t := range s.ticks(low, high) {
		at := (t.Value/2 - low/2) / (high/2 - low/2)
		y := bottom + (top-bottom)*vg.Length(at)
		if y-last < vg.Points(9) {
			continue
		}
		last = y
		c.StrokeLine2(draw.LineStyle{Color: axisLine, Width: vg.Points(0.6)}, right, y, right+vg.Points(3), y)
		c.FillText(style, vg.Point{X: right + vg.Points(5), Y: y}, t.Label)
		width = max(width, style.Width(t.Label))
	}
	if s.label == "" {
		return
	}
	style = textStyle(9)
	style.Rotation = math.Pi / 2
	c.FillText(style, vg.Point{X: right + width + vg.Points(15), Y: (top + bottom) / 2}, fit(style, s.label, top-bottom))
}

func (s *scale) ticks(low, high float64) []plot.Tick {
	if s.cyclic {
		return circleTicks
	}
	if ticks := (linearTicks{}).Ticks(low, high); len(ticks) > 1 {
		return ticks
	}
	return []plot.Tick{{Value: low, Label: tickLabel(low)}, {Value: high, Label: tickLabel(high)}}
}
