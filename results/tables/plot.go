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
	X, Y  float64 // label and position of a value on both axes
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

// plot places the cells with both values, on logarithmic axes if the table compares ratios. It is nil if no value is
// printed.
func (r *Result) plot() *plot {
	if r.Printed == 0 {
		return nil
	}
	log := r.table.Compare == Ratio
	low, high := r.limits(log)
	step := tickStep(low, high)
	if log {
		step = max(1, math.Round(step))
	}
	low, high = math.Floor(low/step)*step, math.Ceil(high/step)*step
	at := func(v float64) float64 { return tenth(plotMargin + (v-low)/(high-low)*(plotSize-2*plotMargin)) }
	p := &plot{Size: plotSize}
	for n := range int(math.Round((high-low)/step)) + 1 {
		v := low + float64(n)*step
		label := v
		if log {
			label = math.Pow(10, v)
		}
		p.Ticks = append(p.Ticks, tick{at(v), plotSize - at(v), fmt.Sprintf("%.4g", label)})
	}
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			x, y, ok := c.place(log)
			if ok {
				p.Dots = append(p.Dots, dot{at(x), plotSize - at(y), c.Status,
					fmt.Sprintf("%s, %s: %.4g, printed %s", row.Label, c.Column, *c.Ours, c.printed.Mean.Text)})
			}
		}
	}
	return p
}

// place returns a cell's position on the axes; false if it lacks a value.
func (c *Cell) place(log bool) (x, y float64, ok bool) {
	switch {
	case c.Ours == nil || c.Theirs == nil || log && (*c.Ours <= 0 || *c.Theirs <= 0):
		return 0, 0, false
	case log:
		return math.Log10(*c.Theirs), math.Log10(*c.Ours), true
	}
	return *c.Theirs, *c.Ours, true
}

// limits returns the smallest and the largest value of the plot. Linear axes include 0.
func (r *Result) limits(log bool) (low, high float64) {
	some := !log
	for _, row := range r.Rows {
		for _, c := range row.Cells {
			x, y, ok := c.place(log)
			switch {
			case ok && !some:
				low, high, some = min(x, y), max(x, y), true
			case ok:
				low, high = min(low, x, y), max(high, x, y)
			}
		}
	}
	if low == high {
		high = low + 1
	}
	return low, high
}

// tickStep returns the distance between ticks. An axis has at least four ticks.
func tickStep(low, high float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for (high-low)/step < 4 {
		step /= 2
	}
	return step
}
