package report

import (
	"io"
	"math"
	"math/cmplx"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
)

// drawTorus shows how the circles of a latent space follow the circular factors. Columns hold angles in radians; an
// unknown level of a factor is NaN. Row r shows the angle of circle r against the angle of every factor. With two or
// more circles, it also shows this angle against the angle of the next circle, coloured by factor r.
//
// The origin and the direction of a circle are arbitrary. Each circle is rotated and reflected for the best agreement
// with one factor, and its angle against that factor is unwrapped. Perfect codes are on the diagonal.
func drawTorus(w io.Writer, title string, circles, factors []Column) error {
	aligned, match := make([]Column, len(circles)), make([]int, len(circles))
	for r, c := range circles {
		aligned[r].Name = c.Name
		aligned[r].Values, match[r] = align(c.Values, factors)
	}
	var plots [][]*plot.Plot
	for r, c := range aligned {
		var row []*plot.Plot
		for f, factor := range factors {
			row = append(row, alignedPlot(c, factor, match[r] == f))
		}
		if len(circles) > 1 {
			row = append(row, pairPlot(c, aligned[(r+1)%len(aligned)], factors[r%len(factors)]))
		}
		plots = append(plots, row)
	}
	columns := len(plots[0])
	return figure{title, 3.3*float64(columns) + 0.2, 3.3*float64(len(plots)) + 0.9, vg.Points(6)}.render(w, func(c draw.Canvas) {
		if len(circles) > 1 {
			hueBar(c)
			c = draw.Crop(c, 0, 0, vg.Points(34), 0)
		}
		panels(plots)(c)
	})
}

// align rotates and reflects angles to match the factor with the largest |mean of exp(i (code -+ true))|.
func align(code []float64, factors []Column) (aligned []float64, match int) {
	best, direction, offset := -1.0, 1.0, 0.0
	for f, factor := range factors {
		for _, d := range []float64{1, -1} {
			var sum complex128
			for i, a := range code {
				if angle := factor.Values[i]; angle == angle {
					sum += cmplx.Exp(complex(0, d*a-angle))
				}
			}
			if agreement := cmplx.Abs(sum) / float64(len(code)); agreement > best+1e-9 {
				best, direction, offset, match = agreement, d, cmplx.Phase(sum), f
			}
		}
	}
	aligned = make([]float64, len(code))
	for i, a := range code {
		aligned[i] = direction*a - offset
	}
	return aligned, match
}

const degrees = 180 / math.Pi

// wrap reduces degrees to [0, 360).
func wrap(d float64) float64 {
	if d = math.Mod(d, 360); d < 0 {
		d += 360
	}
	return d
}

func alignedPlot(circle, factor Column, unwrapped bool) *plot.Plot {
	p := newPlot(factor.Name+", degrees", circle.Name+", degrees")
	p.Add(grid())
	points := &cloud{radius: vg.Points(1.3)}
	for i, a := range circle.Values {
		x, y := wrap(factor.Values[i]*degrees), wrap(a*degrees)
		if unwrapped {
			y = x + wrap(y-x+180) - 180
		}
		points.add(x, y, palette[0])
	}
	if unwrapped {
		p.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: 0}, {X: 360, Y: 360}},
			LineStyle: draw.LineStyle{Color: faint, Width: vg.Points(0.8)}})
	}
	p.Add(points)
	circleAxis(&p.X)
	circleAxis(&p.Y)
	if unwrapped {
		for _, q := range points.points {
			p.Y.Min, p.Y.Max = min(p.Y.Min, q.Y), max(p.Y.Max, q.Y)
		}
	}
	return p
}

func pairPlot(a, b, factor Column) *plot.Plot {
	p := newPlot(a.Name+", degrees", b.Name+", degrees")
	setTitle(p, "coloured by "+factor.Name)
	points := &cloud{radius: vg.Points(1.9)}
	for i, angle := range factor.Values {
		colour := colours.Light.Missing
		if !math.IsNaN(angle) {
			colour = colours.Cyclic(angle / (2 * math.Pi))
		}
		points.add(wrap(a.Values[i]*degrees), wrap(b.Values[i]*degrees), colour)
	}
	p.Add(points)
	circleAxis(&p.X)
	circleAxis(&p.Y)
	return p
}

func circleAxis(a *plot.Axis) {
	a.Min, a.Max = 0, 360
	a.Tick.Marker = circleTicks
}

// circleTicks are ticks in degrees on a circle.
var circleTicks = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 90, Label: "90"}, {Value: 180, Label: "180"},
	{Value: 270, Label: "270"}, {Value: 360, Label: "360"}}

func hueBar(c draw.Canvas) {
	const steps = 180
	width, height := vg.Points(180), vg.Points(9)
	left, bottom := (c.Min.X+c.Max.X-width)/2, c.Min.Y+vg.Points(13)
	for i := 0.0; i < steps; i++ {
		x := left + width*vg.Length(i)/steps
		c.FillPolygon(colours.Cyclic((i+0.5)/steps), rectangle(x, bottom, left+width, bottom+height)) // each step extends to the end, because gaps would be visible
	}
	style := draw.TextStyle{Color: faint, Font: sans(9), XAlign: draw.XCenter, YAlign: draw.YTop,
		Handler: plot.DefaultTextHandler}
	for _, tick := range circleTicks {
		c.FillText(style, vg.Point{X: left + width*vg.Length(tick.Value)/360, Y: bottom - vg.Points(2)}, tick.Label)
	}
	style.XAlign, style.YAlign = draw.XRight, draw.YBottom
	c.FillText(style, vg.Point{X: left - vg.Points(8), Y: bottom - vg.Points(1)}, "colour: true angle, degrees")
}
