package report

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/unravel-ml/unravel/internal/colours"
)

// Space is a panel of points in one to three coordinates. Panels in a row with the same Like share limits by name.
type Space struct {
	Name string
	Axes []Column // one to three
	Like string
}

// SpaceRow is a row of panels. The factors mix the colours of its points; see codePlanes.
type SpaceRow struct {
	Spaces  []Space
	Factors []Column // one to three
}

const singleColumns = 4 // number of panels in a line if each row has a single panel

// Spaces draws rows of panels of points: two coordinates against each other, three in an axonometric view, and one
// against the first factor. It skips points with a NaN or infinite coordinate. Rows of a single panel share lines.
func Spaces(w io.Writer, title string, rows []SpaceRow) error {
	if len(rows) == 0 || len(rows[0].Spaces) == 0 {
		return errors.New("report: want at least one row of panels")
	}
	var plots [][]*plot.Plot
	for _, r := range rows {
		if len(r.Factors) == 0 || len(r.Spaces) != len(rows[0].Spaces) {
			return fmt.Errorf("report: a row of %d panels and %d factors; want %d panels and at least one factor",
				len(r.Spaces), len(r.Factors), len(rows[0].Spaces))
		}
		n := len(r.Factors[0].Values)
		for _, s := range r.Spaces {
			if len(s.Axes) < 1 || len(s.Axes) > 3 {
				return fmt.Errorf("report: %d coordinates of %q; want 1 to 3", len(s.Axes), s.Name)
			}
			for _, c := range s.Axes {
				if len(c.Values) != n {
					return fmt.Errorf("report: %d values of %q, but %d of %q", len(c.Values), c.Name, n, r.Factors[0].Name)
				}
			}
		}
		tints := factorColours(r.Factors)
		var line []*plot.Plot
		for _, s := range r.Spaces {
			line = append(line, spacePlot(r, s, tints))
		}
		plots = append(plots, line)
	}
	if len(plots[0]) == 1 {
		all := slices.Concat(plots...)
		columns := min(len(all), singleColumns)
		all = append(all, make([]*plot.Plot, (columns-len(all)%columns)%columns)...)
		plots = slices.Collect(slices.Chunk(all, columns))
	}
	return figure{title, 3*float64(len(plots[0])) + 0.2, 3.1*float64(len(plots)) + 0.6, vg.Points(6)}.render(w,
		panels(plots))
}

func spacePlot(r SpaceRow, s Space, tints []color.RGBA) *plot.Plot {
	axes := s.Axes
	if len(axes) == 1 {
		axes = []Column{r.Factors[0], axes[0]}
	}
	limits := make([][2]float64, len(axes))
	for k, c := range axes {
		limits[k] = r.limits(s, k, c)
	}
	if len(axes) == 3 {
		return solidPlot(s.Name, axes, limits, tints)
	}
	p := planePlot(s.Name, axes[0], axes[1], tints)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = limits[0][0], limits[0][1], limits[1][0], limits[1][1]
	widenEmptyRange(&p.X)
	widenEmptyRange(&p.Y)
	return p
}

// limits returns the range of a coordinate over the panels with the same limits.
func (r SpaceRow) limits(s Space, axis int, c Column) [2]float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	extend := func(values []float64) {
		for _, v := range values {
			if finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	extend(c.Values)
	for _, o := range r.Spaces {
		if s.Like != "" && o.Like == s.Like && len(o.Axes) == len(s.Axes) && len(s.Axes) > 1 && o.Axes[axis].Name == c.Name {
			extend(o.Axes[axis].Values)
		}
	}
	if lo > hi {
		return [2]float64{0, 1}
	}
	return [2]float64{lo, hi}
}

// seen projects a point in the axonometric view: x to the lower right, y to the lower left, z upwards.
func seen(x, y, z float64) plotter.XY {
	return plotter.XY{X: (x - y) * math.Sqrt(3) / 2, Y: z - (x+y)/2}
}

// solidPlot draws three coordinates in a cube given by their limits. Near points cover far ones.
func solidPlot(name string, axes []Column, limits [][2]float64, tints []color.RGBA) *plot.Plot {
	p := newPlot("", "")
	setTitle(p, name)
	p.HideAxes()
	for _, e := range cubeEdges() {
		ends := plotter.XYs{seen(e[0][0], e[0][1], e[0][2]), seen(e[1][0], e[1][1], e[1][2])}
		p.Add(&plotter.Line{XYs: ends, LineStyle: draw.LineStyle{Color: rule, Width: vg.Points(0.7)}})
	}
	type point struct {
		at     [3]float64
		colour color.RGBA
	}
	var list []point
	for i, colour := range tints {
		q, inside := point{[3]float64{0.5, 0.5, 0.5}, colour}, true
		for k, c := range axes {
			if span := limits[k][1] - limits[k][0]; span > 0 {
				q.at[k] = (c.Values[i] - limits[k][0]) / span
			}
			inside = inside && finite(c.Values[i])
		}
		if inside {
			list = append(list, q)
		}
	}
	near := func(q point) float64 { return q.at[0] + q.at[1] + q.at[2] }
	slices.SortStableFunc(list, func(a, b point) int { return cmp.Compare(near(a), near(b)) })
	points := &cloud{radius: vg.Points(1.9)}
	for _, q := range list {
		at := seen(q.at[0], q.at[1], q.at[2])
		points.add(at.X, at.Y, q.colour)
	}
	p.Add(points)
	ends := plotter.XYLabels{XYs: plotter.XYs{{X: 1.08, Y: -0.72}, {X: -1.08, Y: -0.72}, seen(0, 0, 1.12)}}
	for _, c := range axes {
		ends.Labels = append(ends.Labels, fit(textStyle(9), c.Name, 1.1*vg.Inch))
	}
	if labels, err := plotter.NewLabels(ends); err == nil {
		for i, align := range []draw.XAlignment{draw.XRight, draw.XLeft, draw.XCenter} { // inside the panel
			labels.TextStyle[i] = textStyle(9)
			labels.TextStyle[i].XAlign = align
		}
		p.Add(labels)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -1.1, 1.1, -1.12, 1.2
	return p
}

// cubeEdges returns the edges of the unit cube, except the edges at its near corner.
func cubeEdges() (edges [][2][3]float64) {
	for axis := range 3 {
		for corner := range 4 {
			var a [3]float64
			a[(axis+1)%3], a[(axis+2)%3] = float64(corner%2), float64(corner/2)
			b := a
			if b[axis] = 1; b != [3]float64{1, 1, 1} {
				edges = append(edges, [2][3]float64{a, b})
			}
		}
	}
	return edges
}

// Stage is the state of the codes at one time, such as "before training".
type Stage struct {
	Name  string
	Codes []Column
}

const maxPairs = 6 // maximum number of pairs of code columns in a figure

// codePlanes draws pairs of code columns against each other, with one row of panels per stage. The factors determine
// the colour of every image: three factors are red, green and blue, and a single factor goes from light to dark. An
// image with an unknown factor (NaN) is grey. All stages have the same columns. If codes are a product function of the
// factors, they fill rectangles, and only one colour changes along each side.
func codePlanes(w io.Writer, title string, stages []Stage, factors []Column) error {
	if len(factors) == 0 {
		return errors.New("report: want at least one factor")
	}
	pointColours, pairs := factorColours(factors), pairsOf(len(stages[0].Codes))
	var plots [][]*plot.Plot
	for _, s := range stages {
		var row []*plot.Plot
		for _, pair := range pairs {
			row = append(row, planePlot(s.Name, s.Codes[pair[0]], s.Codes[pair[1]], pointColours))
		}
		plots = append(plots, row)
	}
	return figure{title, 3.1*float64(len(pairs)) + 0.2, 3.2*float64(len(plots)) + 0.6, vg.Points(6)}.render(w,
		panels(plots))
}

// pairsOf returns pairs of d columns: all pairs of few columns, or neighbouring pairs of many columns.
func pairsOf(d int) (list [][2]int) {
	if d > 4 {
		for i := 0; i+1 < d && len(list) < maxPairs; i += 2 {
			list = append(list, [2]int{i, i + 1})
		}
		if d%2 > 0 && len(list) < maxPairs {
			list = append(list, [2]int{d - 2, d - 1})
		}
		return list
	}
	for j := range d {
		for i := range j {
			list = append(list, [2]int{i, j})
		}
	}
	return list
}

func planePlot(title string, a, b Column, tints []color.RGBA) *plot.Plot {
	points := &cloud{radius: vg.Points(1.9)}
	for i, x := range a.Values {
		points.add(x, b.Values[i], tints[i])
	}
	return pointPlot(title, a.Name, b.Name, points)
}

// colourLegend returns the names of the factors behind the colours of [factorColours].
func colourLegend(factors []Column) string {
	switch len(factors) {
	case 0:
		return ""
	case 1:
		return "; colour: " + factors[0].Name + ", dark where it is large"
	}
	var list []string
	for i, f := range factors[:min(len(factors), 3)] {
		list = append(list, []string{"red", "green", "blue"}[i]+" "+f.Name)
	}
	return "; colours mix " + strings.Join(list, ", ")
}

// factorColours returns the colour of every image, determined by its factors.
func factorColours(factors []Column) []color.RGBA {
	list := make([]color.RGBA, len(factors[0].Values))
	channels := make([][]float64, min(len(factors), 3))
	for k := range channels {
		channels[k] = toUnitInterval(factors[k].Values)
	}
	for i := range list {
		if slices.ContainsFunc(channels, func(c []float64) bool { return math.IsNaN(c[i]) }) {
			list[i] = colours.Light.Missing
			continue
		}
		if len(channels) == 1 {
			s := scale{high: 1, points: true}
			list[i] = s.colour(channels[0][i])
			continue
		}
		rgb := [3]uint8{40, 40, 90}
		for k, c := range channels {
			rgb[k] = uint8(30 + 205*c[i])
		}
		list[i] = color.RGBA{rgb[0], rgb[1], rgb[2], 255}
	}
	return list
}

// toUnitInterval scales numbers to [0, 1]; NaN stays.
func toUnitInterval(values []float64) []float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v == v {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		if hi > lo || v != v {
			scaled[i] = (v - lo) / (hi - lo)
		}
	}
	return scaled
}
