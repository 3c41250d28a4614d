package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Series is a named curve. NaN and infinite points give a gap.
type Series struct {
	Name string
	X, Y []float64
}

// CurveOptions are the options of a figure of curves. The zero value draws linear axes without titles.
type CurveOptions struct {
	Title, XLabel, YLabel string

	// Log draws a logarithmic y axis. Values of 0 or less give a gap, and the legend counts them. If no value is
	// positive, the axis is linear.
	Log bool

	// LogX draws a logarithmic x axis with a tick at every x or, if there are many, at powers of ten. All x must be
	// positive.
	LogX bool

	// Marks are vertical lines with names in the legend.
	Marks []Mark

	// Marked also draws points as dots.
	Marked bool

	// Names replace the numbers at the ticks 0, 1, 2 ... of the x axis.
	Names []string

	// Down draws the y axis downwards, as for ranks.
	Down bool
}

// Mark is a position on the x axis.
type Mark struct {
	Name string
	X    float64
}

// maxPoints is the maximum number of points of a curve. A longer curve is drawn as means of neighbouring points.
const maxPoints = 1500

// Curves draws curves over a common x axis, with a legend that shows the last value of each curve. It draws long curves
// as means of neighbouring points. Many or long names in the legend make the figure larger.
func Curves(w io.Writer, o CurveOptions, series []Series) error {
	log := o.Log && anyPositive(series)
	p := newPlot(o.XLabel, o.YLabel)
	p.X.Label.Text, p.Y.Label.Text = fit(p.X.Label.TextStyle, o.XLabel, 2.4*panelText),
		fit(p.Y.Label.TextStyle, o.YLabel, 1.6*panelText)
	var l lineLegend
	p.Add(grid())
	stride := 1
	for i, s := range series {
		if len(s.X) != len(s.Y) {
			return fmt.Errorf("report: series %q has %d x values and %d y values", s.Name, len(s.X), len(s.Y))
		}
		if o.LogX && len(s.X) > 0 && !(slices.Min(s.X) > 0) {
			return fmt.Errorf("report: series %q has an x of %v; want positive ones on a logarithmic axis",
				s.Name, slices.Min(s.X))
		}
		style := seriesStyle(i)
		short, n := thinOut(s)
		stride = max(stride, n)
		pieces, dropped := drawablePieces(short, log)
		for _, piece := range pieces {
			line := &plotter.Line{XYs: piece, LineStyle: style}
			p.Add(line)
			if len(piece) == 1 || o.Marked { // a line of one point is invisible
				p.Add(&plotter.Scatter{XYs: piece, GlyphStyle: disc(style.Color, vg.Points(2))})
			}
		}
		l.add(s.Name, legendValue(s, dropped), style)
	}
	if stride > 1 {
		p.X.Label.Text += fmt.Sprintf("  (means of %d)", stride)
	}
	p.Y.Tick.Marker = linearTicks{}
	p.X.Tick.Marker = sparseTicks{linearTicks{integers: integerX(series)}}
	widenEmptyRange(&p.X)
	widenEmptyRange(&p.Y)
	if o.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, xTicks(series)
	}
	if len(o.Names) > 0 {
		nameTicks(&p.X, o.Names)
	}
	if o.Down {
		p.Y.Scale = plot.InvertedScale{Normalizer: p.Y.Scale}
		p.Y.Tick.Marker = linearTicks{integers: true}
	}
	for i, m := range o.Marks {
		style := draw.LineStyle{Color: palette[(len(series)+i)%len(palette)], Width: vg.Points(1.2),
			Dashes: []vg.Length{vg.Points(5), vg.Points(3)}}
		p.Add(&plotter.Line{XYs: plotter.XYs{{X: m.X, Y: p.Y.Min}, {X: m.X, Y: p.Y.Max}}, LineStyle: style})
		l.add(m.Name, "", style)
	}
	if log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Min, p.Y.Max = p.Y.Min/1.15, p.Y.Max*1.15
	}
	return figure{o.Title, 6.6 + inches(l.width()), max(4.8, 0.7+inches(l.height())), vg.Points(8)}.render(w,
		l.drawWith(p))
}

// namedTicks returns ticks at 0, 1, 2 ... with names cut to a width.
func namedTicks(a *plot.Axis, names []string, width vg.Length) plot.ConstantTicks {
	ticks := make(plot.ConstantTicks, len(names))
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: fit(a.Tick.Label, name, width)}
	}
	return ticks
}

// nameTicks sets names at 0, 1, 2 ... of an axis. Many names are slanted.
func nameTicks(a *plot.Axis, names []string) {
	a.Min, a.Max, a.Tick.Marker = 0, float64(max(1, len(names)-1)), namedTicks(a, names, panelText/2)
	const level = 7 // maximum number of horizontal names
	if len(names) > level {
		a.Tick.Label.Rotation, a.Tick.Label.XAlign, a.Tick.Label.YAlign = math.Pi/5, text.XRight, text.YCenter
	}
}

// seriesStyle returns the line style of the i-th series: the colours of the palette, then the same colours with dashes.
func seriesStyle(i int) draw.LineStyle {
	style := draw.LineStyle{Color: colours.Light.Series(i), Width: vg.Points(1.6)}
	dashes := [][]vg.Length{nil, {vg.Points(5), vg.Points(2)}, {vg.Points(1.5), vg.Points(1.5)},
		{vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)}}
	style.Dashes = dashes[i/len(palette)%len(dashes)]
	return style
}

const maxTicks = 20 // maximum number of different x that all get a tick

// xTicks returns ticks at all x of series, or at powers of ten for many x.
func xTicks(series []Series) plot.Ticker {
	var ticks plot.ConstantTicks
	for _, s := range series {
		for _, x := range s.X {
			if t := (plot.Tick{Value: x, Label: fmt.Sprint(x)}); !slices.Contains(ticks, t) {
				ticks = append(ticks, t)
			}
			if len(ticks) > maxTicks {
				return logTicks{}
			}
		}
	}
	return ticks
}

// legendValue returns the last value of a series, and the number of its points that are not drawn.
func legendValue(s Series, dropped int) string {
	var parts []string
	for i := len(s.Y) - 1; i >= 0; i-- {
		if finite(s.Y[i]) {
			parts = append(parts, fmt.Sprintf("%.4g", s.Y[i]))
			break
		}
	}
	if dropped > 0 {
		parts = append(parts, fmt.Sprintf("(%d not drawn)", dropped))
	}
	return strings.Join(parts, " ")
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func anyPositive(series []Series) bool {
	return slices.ContainsFunc(series, func(s Series) bool {
		return slices.ContainsFunc(s.Y, func(y float64) bool { return y > 0 && finite(y) })
	})
}

// thinOut replaces runs of n neighbouring points by their means, so that at most maxPoints remain.
func thinOut(s Series) (Series, int) {
	n := (len(s.X) + maxPoints - 1) / maxPoints
	if n <= 1 {
		return s, 1
	}
	short := Series{Name: s.Name}
	for i := 0; i < len(s.X); i += n {
		end := min(i+n, len(s.X))
		var x, y float64
		for j := i; j < end; j++ {
			x += s.X[j] / float64(end-i)
			y += s.Y[j] / float64(end-i)
		}
		short.X, short.Y = append(short.X, x), append(short.Y, y)
	}
	return short, n
}

// drawablePieces cuts a series at points that cannot be drawn, and counts these points.
func drawablePieces(s Series, log bool) (pieces []plotter.XYs, dropped int) {
	open := false
	for i, y := range s.Y {
		if !finite(y) || !finite(s.X[i]) || log && y <= 0 {
			open = false
			dropped++
			continue
		}
		if !open {
			pieces, open = append(pieces, nil), true
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, plotter.XY{X: s.X[i], Y: y})
	}
	return pieces, dropped
}

// widenEmptyRange sets the range of an axis without a range. It also widens a range due to rounding, because the ticks
// would look equal.
func widenEmptyRange(a *plot.Axis) {
	if a.Min > a.Max {
		a.Min, a.Max = 0, 1
	}
	const rounding = 1e-12
	if magnitude := max(math.Abs(a.Min), math.Abs(a.Max)); a.Max-a.Min <= rounding*magnitude {
		half := magnitude / 10
		if half < 1e-100 {
			half = 0.5
		}
		a.Min, a.Max = a.Min-half, a.Max+half
	}
}

func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = rule, rule
	g.Vertical.Width, g.Horizontal.Width = vg.Points(0.5), vg.Points(0.5)
	return g
}

// integerX reports whether all x are integers, such as epochs.
func integerX(series []Series) bool {
	return !slices.ContainsFunc(series, func(s Series) bool {
		return slices.ContainsFunc(s.X, func(x float64) bool { return x != math.Trunc(x) })
	})
}

// linearTicks places labels at 1, 2 or 5 times a power of ten. If whole is set, it only places them at integers.
type linearTicks struct{ integers bool }

func (l linearTicks) Ticks(lo, hi float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/4)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 4-1e-9 {
			step *= m
			break
		}
	}
	if l.integers {
		step = max(step, 1)
	}
	if !(step > 0) || !finite(hi-lo) {
		return nil
	}
	for i := math.Ceil(lo/step - 1e-9); i <= math.Floor(hi/step+1e-9); i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: tickLabel(i * step)})
	}
	return ticks
}

// tickLabel writes a multiple of a step without the rounding of the product.
func tickLabel(v float64) string {
	const digits = 14
	if short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64); err == nil {
		v = short + 0 // no -0
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// sparseTicks are linearTicks with fewer labels if not all fit below a small panel.
type sparseTicks struct{ linearTicks }

func (s sparseTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := s.linearTicks.Ticks(lo, hi)
	letters := 0.0
	for _, t := range ticks {
		letters += float64(len(t.Label) + 1)
	}
	const maxLetters = 34
	if letters <= maxLetters {
		return ticks
	}
	step, every := ticks[1].Value-ticks[0].Value, math.Ceil(letters/maxLetters)
	for i, t := range ticks {
		if math.Mod(math.Round(t.Value/step), every) != 0 {
			ticks[i].Label = ""
		}
	}
	return ticks
}

type logTicks struct{} // labels powers of ten. If there are only a few, it also labels 2 and 5 times these powers.

func (logTicks) Ticks(lo, hi float64) (ticks []plot.Tick) {
	if !(lo > 0) || !finite(hi) {
		return nil
	}
	decades := math.Log10(hi / lo)
	if decades < 0.7 {
		return linearTicks{}.Ticks(lo, hi)
	}
	every := int(math.Ceil(decades / 10))
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, float64(e))
			if v < lo || v > hi {
				continue
			}
			labelled := m == 1 && e%every == 0 || decades < 2.5 && (m == 2 || m == 5)
			switch {
			case labelled:
				ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v)})
			case decades < 5:
				ticks = append(ticks, plot.Tick{Value: v})
			}
		}
	}
	return ticks
}

// LossNames lists the losses of an objective in drawing order.
type LossNames struct {
	Objective string
	Names     []string
}

// LossCurves draws the mean losses of every epoch in a run's log. It writes nothing for a log without epochs.
func LossCurves(w io.Writer, title string, objectives []LossNames, log []rundir.Line) error {
	series := lossSeries(objectives, log)
	if len(series) == 0 {
		return nil
	}
	return Curves(w, CurveOptions{Title: title, XLabel: "epoch", YLabel: "loss (parts without weights)", Log: true},
		series)
}

// lossSeries returns the curves of all losses. Names have the objective in front if there are several objectives.
func lossSeries(objectives []LossNames, log []rundir.Line) []Series {
	var series []Series
	for _, o := range objectives {
		for _, name := range o.Names {
			s := Series{Name: name}
			if len(objectives) > 1 { // "unsupervised" would be wrong for losses from labels
				s.Name = o.Objective + " " + name
			}
			for _, line := range log {
				if losses := line.Losses[o.Objective]; losses != nil { // the line is not an evaluation
					s.X, s.Y = append(s.X, float64(line.Epoch)), append(s.Y, losses[name])
				}
			}
			if s.X != nil {
				series = append(series, s)
			}
		}
	}
	return series
}

// lineLegend is a legend at the right of a plot: for each curve, a line sample, its name and a value.
type lineLegend struct {
	names, values []string
	styles        []draw.LineStyle
}

// Sizes of a legend.
const (
	maxLegendLines  = 60
	maxLegendName   = 2.4 * vg.Inch
	legendLine      = vg.Length(15)
	legendThumbnail = vg.Length(22)
)

func (l *lineLegend) add(name, value string, style draw.LineStyle) {
	l.names, l.values, l.styles = append(l.names, fit(legendText(), name, maxLegendName)), append(l.values, value),
		append(l.styles, style)
}

func legendText() draw.TextStyle {
	style := textStyle(10)
	style.XAlign = draw.XLeft
	return style
}

func (l *lineLegend) width() vg.Length {
	if len(l.names) == 0 {
		return 0
	}
	names, values := maxWidth(legendText(), l.names), maxWidth(legendText(), l.values)
	return vg.Points(10) + legendThumbnail + vg.Points(6) + names + vg.Points(10) + values + vg.Points(4)
}

func (l *lineLegend) height() vg.Length {
	return legendLine * vg.Length(min(len(l.names), maxLegendLines))
}

// drawWith returns a function that draws a plot and the legend.
func (l *lineLegend) drawWith(p *plot.Plot) func(draw.Canvas) {
	return func(c draw.Canvas) {
		p.Draw(draw.Crop(c, 0, -l.width(), 0, 0))
		l.draw(c, c.Max.X-l.width()+vg.Points(10), c.Max.Y-vg.Points(10))
	}
}

// draw draws the legend from a point downwards. It counts the lines that do not fit.
func (l *lineLegend) draw(c draw.Canvas, left, top vg.Length) {
	style, values := legendText(), left+legendThumbnail+vg.Points(6)+maxWidth(legendText(), l.names)+vg.Points(10)
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
