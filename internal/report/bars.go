package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BarPanel is a panel of bars that start at 0. NaN and infinite values leave a gap.
type BarPanel struct {
	Name   string
	Values []float64
}

const barColumns = 3 // maximum number of panels side by side

// BarOptions are the title of a bar chart and the axis labels of its panels.
type BarOptions struct{ Title, X, Y string }

// Bars draws panels of bars with the same labels on the x axis.
func Bars(w io.Writer, o BarOptions, labels []string, list []BarPanel) error {
	if len(list) == 0 || len(labels) == 0 {
		return errors.New("report: want at least one panel and one bar")
	}
	var plots []*plot.Plot
	for _, panel := range list {
		if len(panel.Values) != len(labels) {
			return fmt.Errorf("report: %d values in panel %q, but %d labels", len(panel.Values), panel.Name, len(labels))
		}
		plots = append(plots, barPlot(panel, labels, o))
	}
	columns := min(barColumns, len(list))
	for len(plots)%columns > 0 {
		plots = append(plots, nil)
	}
	rows := slices.Collect(slices.Chunk(plots, columns))
	width := max(2.6, 0.9+0.3*float64(len(labels)))
	f := figure{o.Title, width*float64(columns) + 0.3, 2.5*float64(len(rows)) + 0.6, vg.Points(8)}
	return f.render(w, panels(rows))
}

func barPlot(panel BarPanel, labels []string, o BarOptions) *plot.Plot {
	p := newPlot(o.X, o.Y)
	setTitle(p, panel.Name)
	p.Add(bars(panel.Values))
	p.X.Min, p.X.Max, p.Y.Min = -0.6, float64(len(labels))-0.4, 0
	p.Y.Max = 0
	for _, v := range panel.Values {
		if finite(v) {
			p.Y.Max = max(p.Y.Max, 1.05*v)
		}
	}
	if p.Y.Max == 0 { // all bars are 0
		p.Y.Max = 1
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = namedTicks(&p.X, labels, 0.8*vg.Inch), linearTicks{}
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/2, draw.XRight, draw.YCenter
	return p
}

type bars []float64 // draws the values of a panel as bars

func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for i, v := range b {
		if finite(v) && v > 0 {
			c.FillPolygon(palette[0], rectangle(x(float64(i)-0.35), y(0), x(float64(i)+0.35), y(v)))
		}
	}
}
