package report

import (
	"errors"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/unravel-ml/unravel/internal/colours"
)

// Stage is codes at a moment: their columns, "before training".
type Stage struct {
	Name  string
	Codes []Column
}

// maxPairs bounds the pairs of code columns that a figure shows.
const maxPairs = 6

// codePlanes draws pairs of code columns against each other, with one row of panels for each stage. The factors mix the
// colour of every image: the first three are red, green and blue, and a single factor goes from light to dark. An image
// with an unknown factor (NaN) is grey. All stages have the same columns. If codes are a product function of the
// factors, they fill rectangles, and along each side only one colour changes.
func codePlanes(w io.Writer, title string, stages []Stage, factors []Column) error {
	if len(factors) == 0 {
		return errors.New("report: want at least one factor")
	}
	tints, pairs := mix(factors), pairsOf(len(stages[0].Codes))
	var plots [][]*plot.Plot
	for _, s := range stages {
		var row []*plot.Plot
		for _, pair := range pairs {
			row = append(row, planePlot(s.Name, s.Codes[pair[0]], s.Codes[pair[1]], tints))
		}
		plots = append(plots, row)
	}
	return figure{title, 3.1*float64(len(pairs)) + 0.2, 3.2*float64(len(plots)) + 0.6, vg.Points(6)}.render(w, panels(plots))
}

// pairsOf chooses pairs of d columns: all pairs of few columns, and neighbours of many.
func pairsOf(d int) (list [][2]int) {
	if d > 4 {
		for i := 0; i+1 < d && len(list) < maxPairs; i += 2 {
			list = append(list, [2]int{i, i + 1})
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

// planePlot plots two columns against each other.
func planePlot(title string, a, b Column, tints []color.RGBA) *plot.Plot {
	points := &cloud{radius: vg.Points(1.9)}
	for i, x := range a.Values {
		points.add(x, b.Values[i], tints[i])
	}
	return pointPlot(title, a.Name, b.Name, points)
}

// sparseTicks are linearTicks without every other label if not all labels fit side by side.
type sparseTicks struct{}

func (sparseTicks) Ticks(lo, hi float64) []plot.Tick {
	ticks := linearTicks{}.Ticks(lo, hi)
	letters := 0
	for _, t := range ticks {
		letters += len(t.Label) + 1
	}
	if letters > 34 {
		for i := 1; i < len(ticks); i += 2 {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// mixed names the factors behind the colours of [mix].
func mixed(factors []Column) string {
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

// mix gives every image the colour of its factors.
func mix(factors []Column) []color.RGBA {
	list := make([]color.RGBA, len(factors[0].Values))
	channels := make([][]float64, min(len(factors), 3))
	for k := range channels {
		channels[k] = unit(factors[k].Values)
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

// unit scales numbers to [0, 1]; NaN stays.
func unit(values []float64) []float64 {
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
