package raster

import (
	"image"
	"image/color"
	"math"

	"github.com/unravel-ml/unravel/internal/colours"
)

// seriesSide is the height of a picture of curves, and its minimum width.
const seriesSide = 64

// Colours of curves.
var (
	curveInks  = colours.Light.Palette
	seriesZero = colours.Light.Missing
)

// Largest returns the largest finite absolute value.
func Largest(values []float32) float64 {
	top := 0.0
	for _, v := range values {
		if a := math.Abs(float64(v)); a > top && !math.IsInf(a, 0) {
			top = a
		}
	}
	return top
}

// curves is a plot of curves with values from low at the bottom to high at the top, with a line at 0.
type curves struct {
	*image.RGBA
	low, high float64
}

func newCurves(width int, low, high float64) curves {
	c := curves{image.NewRGBA(image.Rect(0, 0, width, seriesSide)), low, high}
	fill(c.RGBA, c.Bounds(), paper)
	fill(c.RGBA, image.Rect(0, c.row(0), width, c.row(0)+1), seriesZero)
	return c
}

// draw draws one curve; NaN leaves a gap.
func (c curves) draw(values []float32, ink color.RGBA) {
	before, width := -1, c.Bounds().Dx()
	for x := range width {
		t := float64(x) * float64(len(values)-1) / float64(width-1)
		at := min(int(t), len(values)-1)
		v := float64(values[at])
		if part := t - float64(at); part > 0 {
			v += part * (float64(values[at+1]) - v)
		}
		if math.IsNaN(v) {
			before = -1
			continue
		}
		row := c.row(v)
		if before < 0 {
			before = row
		}
		fill(c.RGBA, image.Rect(x, min(row, before), x+1, max(row, before)+1), ink)
		before = row
	}
}

// row returns the pixel row of a value, clamped to the picture.
func (c curves) row(v float64) int {
	if c.high <= c.low {
		return seriesSide / 2
	}
	part := max(0, min((v-c.low)/(c.high-c.low), 1))
	return int(math.Round((1 - part) * (seriesSide - 1)))
}
