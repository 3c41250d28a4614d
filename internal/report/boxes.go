package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Box is a box of a box plot: values in any order, with a label.
type Box struct {
	Label  string
	Values []float64
}

// boxSummary summarises values: the quartiles, interpolated between neighbours, and the ends of the whiskers. A
// whisker ends at the outermost value within 1.5 times the interquartile range of its quartile.
type boxSummary struct{ low, first, median, third, high float64 }

// fiveNumbers returns the summary of the values, which must not be empty.
func (b *Box) fiveNumbers() boxSummary {
	sorted := slices.Sorted(slices.Values(b.Values))
	n := boxSummary{first: numeric.Quantile(sorted, 0.25), median: numeric.Quantile(sorted, 0.5),
		third: numeric.Quantile(sorted, 0.75)}
	reach := 1.5 * (n.third - n.first)
	n.low, n.high = n.first, n.third
	for _, v := range sorted {
		if v >= n.first-reach {
			n.low = min(n.low, v)
		}
		if v <= n.third+reach {
			n.high = max(n.high, v)
		}
	}
	return n
}

// BoxPlot is a figure of boxes side by side, with a dot for every value.
type BoxPlot struct {
	Title, X, Y string
	Boxes       []Box    // a box without values gives a gap
	Line        *float64 // reference value
	LineLabel   string
}

func (b *BoxPlot) WritePNG(w io.Writer) error {
	if len(b.Boxes) == 0 {
		return errors.New("report: want at least one box")
	}
	for _, box := range b.Boxes {
		if !allFinite(box.Values) {
			return fmt.Errorf("report: the box %q has an infinite or NaN value", box.Label)
		}
	}
	if b.Line != nil && !finite(*b.Line) {
		return fmt.Errorf("report: the line %q is at %v; want a finite number", b.LineLabel, *b.Line)
	}
	p := newPlot(b.X, b.Y)
	p.X.Min, p.X.Max = -0.6, float64(len(b.Boxes))-0.4
	p.Y.Min, p.Y.Max = b.yRange()
	p.Add(grid(), boxes{b})
	step := 0.7 // inches between boxes
	var labels []string
	for _, box := range b.Boxes {
		step = max(step, min(inches(p.X.Tick.Label.Width(singleLine(box.Label)))+0.1, 1.6))
		labels = append(labels, box.Label)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = namedTicks(&p.X, labels, vg.Length(step)*vg.Inch), linearTicks{}
	var l lineLegend
	if b.Line != nil {
		line := &plotter.Line{XYs: plotter.XYs{{X: p.X.Min, Y: *b.Line}, {X: p.X.Max, Y: *b.Line}},
			LineStyle: draw.LineStyle{Color: palette[1], Width: vg.Points(1.2)}}
		p.Add(line)
		l.add(b.LineLabel, fmt.Sprintf("%.3g", *b.Line), line.LineStyle)
	}
	return figure{b.Title, max(5, 1.4+step*float64(len(b.Boxes))) + inches(l.width()), 4, vg.Points(8)}.render(w,
		l.drawWith(p))
}

// yRange returns the range of the vertical axis: all values, the line, and 0 if they come near it.
func (b *BoxPlot) yRange() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	add := func(v float64) { low, high = min(low, v), max(high, v) }
	for _, box := range b.Boxes {
		for _, v := range box.Values {
			add(v)
		}
	}
	if b.Line != nil {
		add(*b.Line)
	}
	switch {
	case low > high:
		return 0, 1
	case low >= 0 && low < high/2 || low == high && low >= 0:
		low = 0
	}
	if high == low {
		high = low + 1
	}
	return low, high + 0.04*(high-low)
}

type boxes struct{ *BoxPlot }

// Half the widths of a box and of a whisker's end.
const boxHalf, whiskerHalf = 0.28, 0.14

func (b boxes) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	thin, thick := draw.LineStyle{Color: ink, Width: vg.Points(0.8)}, draw.LineStyle{Color: ink, Width: vg.Points(1.6)}
	fill := colours.Light.Sequential(0.15)
	for i, box := range b.Boxes {
		if len(box.Values) == 0 {
			continue
		}
		n, position := box.fiveNumbers(), float64(i)
		left, right, middle := x(position-boxHalf), x(position+boxHalf), x(position)
		corners := rectangle(left, y(n.first), right, y(n.third))
		c.FillPolygon(fill, corners)
		outline(c, thin, corners)
		for _, end := range [][2]float64{{n.first, n.low}, {n.third, n.high}} {
			c.StrokeLine2(thin, middle, y(end[0]), middle, y(end[1]))
			c.StrokeLine2(thin, x(position-whiskerHalf), y(end[1]), x(position+whiskerHalf), y(end[1]))
		}
		c.StrokeLine2(thick, left, y(n.median), right, y(n.median))
		for _, v := range box.Values {
			c.DrawGlyph(disc(palette[0], vg.Points(2)), vg.Point{X: middle, Y: y(v)})
		}
	}
}
