// Package painting has what drawn data sets share: limits of settings, hues, and objects on a turntable.
package painting

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/internal/render"
)

// Levels returns an error if a number of levels is out of range.
func Levels(option string, count, most int) error {
	if count < 1 || count > most {
		return config.Invalid(option, "%d is out of range; want 1 to %d", count, most)
	}
	return nil
}

// MaxViews is the maximum number of levels of an angle.
const MaxViews = 1 << 10

// ValidSide returns an error if a height and width is out of range.
func ValidSide(size int) error {
	if size < leastSide || size > mostSide {
		return config.Invalid("size", "%d is out of range; want %d to %d pixels", size, leastSide, mostSide)
	}
	return nil
}

// Sides of drawn images.
const (
	leastSide = 16
	mostSide  = 256
)

// PureHue is the colour of a hue in [0, 1) at saturation and value 1.
func PureHue(h float64) [3]float32 {
	channel := func(n float64) float32 {
		k := math.Mod(n+float64(6*h), 6) // not fused, because the bits of a fused operation depend on the machine
		return float32(1 - max(0, min(k, 4-k, 1)))
	}
	return [3]float32{channel(5), channel(3), channel(1)}
}

// Hues returns n hues around the colour circle, from 0 up to 1, and their colours.
func Hues(n int) (hues []float64, colours [][3]float32) {
	for i := range n {
		h := float64(i) / float64(n)
		hues, colours = append(hues, h), append(colours, PureHue(h))
	}
	return hues, colours
}

// WholeTurn returns n evenly spaced angles of a full turn, in degrees.
func WholeTurn(n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = 360 * float64(i) / float64(n)
	}
	return list
}

func Radians(degrees float64) float64 { return degrees * (math.Pi / 180) }

// AroundY returns the rotation by an angle about the vertical axis, from +z to +x. aroundX rotates from +z to +y.
func AroundY(angle float64) [9]float64 {
	sin, cos := render.Sincos(angle)
	return [9]float64{cos, 0, sin, 0, 1, 0, -sin, 0, cos}
}
