package tables

import (
	"fmt"
	"math"
)

// plot is a square of dots, our values upward and the printed ones to the right.
type plot struct {
	Size  int
	Ticks []tick
	Dots  []dot
}

type tick struct {
	X, Y  float64 // of a value on both axes
	Label string
}

type dot struct {
	X, Y   float64
	Status Status
	Title  string
}

// The sides of the plot and its margin, in pixels.
const (
	plotSize   = 420
	plotMargin = 40
)

// plot places the cells that have both values; nil if nothing is printed.
func (r *Result) plot() *plot {
	if r.Printed == 0 {
		return nil
	}
	low, high := 0.0, r.largest()
	if high == 0 {
		high = 1
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Ours != nil && c.Theirs != nil {
				low = min(low, *c.Ours, *c.Theirs)
			}
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for (high-low)/step < 4 {
		step /= 2
	}
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	at := func(v float64) float64 {
		return math.Round(10*(plotMargin+(v-low)/(high-low)*(plotSize-2*plotMargin))) / 10
	}
	p := &plot{Size: plotSize}
	for n := range int(math.Round((high-low)/step)) + 1 {
		v := low + float64(n)*step
		p.Ticks = append(p.Ticks, tick{at(v), plotSize - at(v), fmt.Sprintf("%.4g", v)})
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			if c.Ours != nil && c.Theirs != nil {
				p.Dots = append(p.Dots, dot{at(*c.Theirs), plotSize - at(*c.Ours), c.Status,
					fmt.Sprintf("%s, %s: %.4g, printed %s", row.Label, c.Column, *c.Ours, c.printed.Mean.Text)})
			}
		}
	}
	return p
}
