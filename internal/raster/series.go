package raster

import (
	"fmt"
	"image"
	"image/color"
	"math"
)

// seriesSide is the height and the width of a picture of a curve.
const seriesSide = 64

// Colours of a curve.
var (
	seriesInk  = color.RGBA{0, 90, 160, 255}
	seriesZero = color.RGBA{200, 200, 208, 255}
)

// Series makes pictures of consecutive curves of size numbers each, from -scale at the bottom to scale
// at the top, with a line at 0.
func Series(values []float32, size int, scale float64) ([]image.Image, error) {
	if size < 1 || len(values)%size != 0 {
		return nil, fmt.Errorf("raster: %d numbers are not a whole number of curves of %d", len(values), size)
	}
	images := make([]image.Image, len(values)/size)
	for n := range images {
		images[n] = curve(values[n*size:(n+1)*size], scale)
	}
	return images, nil
}

// Largest returns the largest absolute value, a scale for [Series].
func Largest(values []float32) float64 {
	top := 0.0
	for _, v := range values {
		if a := math.Abs(float64(v)); a > top && !math.IsInf(a, 0) {
			top = a
		}
	}
	return top
}

func curve(values []float32, scale float64) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, seriesSide, seriesSide))
	fill(img, img.Bounds(), paper)
	fill(img, image.Rect(0, seriesRow(0, scale), seriesSide, seriesRow(0, scale)+1), seriesZero)
	before := -1
	for x := range seriesSide {
		t := float64(x) * float64(len(values)-1) / (seriesSide - 1)
		at := min(int(t), len(values)-1)
		v := float64(values[at])
		if part := t - float64(at); part > 0 {
			v += part * (float64(values[at+1]) - v)
		}
		if math.IsNaN(v) {
			before = -1
			continue
		}
		row := seriesRow(v, scale)
		if before < 0 {
			before = row
		}
		fill(img, image.Rect(x, min(row, before), x+1, max(row, before)+1), seriesInk)
		before = row
	}
	return img
}

// seriesRow returns the row of a value, clamped to the picture.
func seriesRow(v, scale float64) int {
	if scale <= 0 {
		return seriesSide / 2
	}
	part := max(-1, min(v/scale, 1))
	return int(math.Round((1 - part) / 2 * (seriesSide - 1)))
}
