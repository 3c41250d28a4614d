// Package colours has the colours of all figures and pages, for light and dark mode: colours for text and lines, a
// palette for unordered series, and colour maps for numbers, signed numbers and angles. A test simulates colour
// blindness and checks that the colours remain distinct.
package colours

import (
	"image/color"
	"math"
)

// Theme is a set of colours for one background.
type Theme struct {
	Name    string       // light or dark
	Paper   color.RGBA   // the background
	Panel   color.RGBA   // the background of boxes and controls
	Ink     color.RGBA   // text and marks
	Faint   color.RGBA   // secondary text: tick labels, captions
	Line    color.RGBA   // axes and borders of controls
	Rule    color.RGBA   // grids and separators
	Missing color.RGBA   // cells and points without a number
	Accent  color.RGBA   // links, the selection and the focus
	Good    color.RGBA   // text about success
	Bad     color.RGBA   // text about errors
	Palette []color.RGBA // series and categories, in order of use

	sequential, diverging []Lab // stops at equal intervals
}

// Light is the theme of figures and of pages in light mode.
var Light = Theme{
	Name:    "light",
	Paper:   color.RGBA{255, 255, 255, 255},
	Panel:   color.RGBA{246, 247, 250, 255},
	Ink:     color.RGBA{32, 34, 42, 255},
	Faint:   color.RGBA{92, 95, 108, 255},
	Line:    color.RGBA{132, 135, 148, 255},
	Rule:    color.RGBA{226, 227, 233, 255},
	Missing: color.RGBA{188, 188, 188, 255},
	Accent:  color.RGBA{0, 95, 160, 255},
	Good:    color.RGBA{0, 106, 72, 255},
	Bad:     color.RGBA{176, 28, 28, 255},
	Palette: []color.RGBA{ // blue, orange, green, plum, brown, sky, violet, red
		{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {125, 4, 99, 255},
		{130, 87, 0, 255}, {0, 157, 231, 255}, {80, 40, 160, 255}, {140, 0, 0, 255},
	},
	sequential: []Lab{{0.985, -0.002, -0.003}, {0.87, -0.035, -0.045}, {0.755, -0.05, -0.09}, {0.64, -0.045, -0.12},
		{0.525, -0.03, -0.125}, {0.41, -0.015, -0.115}, {0.295, -0.003, -0.085}},
	diverging: []Lab{{0.40, 0.085, 0.07}, {0.54, 0.10, 0.105}, {0.68, 0.075, 0.105}, {0.83, 0.035, 0.06}, {0.975, 0, 0},
		{0.83, -0.035, -0.06}, {0.68, -0.045, -0.105}, {0.54, -0.035, -0.125}, {0.40, -0.012, -0.115}},
}

var Dark = Theme{
	Name:    "dark",
	Paper:   color.RGBA{21, 23, 29, 255},
	Panel:   color.RGBA{30, 33, 41, 255},
	Ink:     color.RGBA{234, 236, 242, 255},
	Faint:   color.RGBA{168, 172, 186, 255},
	Line:    color.RGBA{118, 122, 138, 255},
	Rule:    color.RGBA{52, 56, 68, 255},
	Missing: color.RGBA{92, 92, 92, 255},
	Accent:  color.RGBA{110, 178, 255, 255},
	Good:    color.RGBA{84, 210, 160, 255},
	Bad:     color.RGBA{255, 138, 128, 255},
	Palette: []color.RGBA{
		{90, 155, 255, 255}, {255, 140, 40, 255}, {40, 205, 150, 255}, {192, 89, 175, 255},
		{243, 217, 44, 255}, {101, 238, 254, 255}, {189, 177, 255, 255}, {221, 83, 52, 255},
	},
	sequential: []Lab{{0.26, -0.002, -0.02}, {0.37, -0.005, -0.075}, {0.48, -0.02, -0.11}, {0.59, -0.04, -0.12},
		{0.70, -0.055, -0.10}, {0.81, -0.06, -0.07}, {0.92, -0.045, -0.03}},
	diverging: []Lab{{0.84, 0.06, 0.13}, {0.70, 0.085, 0.13}, {0.56, 0.085, 0.10}, {0.44, 0.05, 0.06}, {0.28, 0, -0.005},
		{0.415, -0.015, -0.08}, {0.56, -0.035, -0.125}, {0.70, -0.055, -0.115}, {0.84, -0.06, -0.075}},
}

// Series returns the colour of series or category i; the palette repeats.
func (t *Theme) Series(i int) color.RGBA { return t.Palette[i%len(t.Palette)] }

// Sequential returns the colour of a number between 0, near the background, and 1, far from it, with monotonic
// lightness. Numbers outside are clamped, NaN gives Missing.
func (t *Theme) Sequential(v float64) color.RGBA { return t.along(t.sequential, v) }

// Diverging returns the colour of a signed number: -1 is orange, 0 is near the background, and 1 is blue. Numbers
// outside are clamped, NaN gives Missing.
func (t *Theme) Diverging(v float64) color.RGBA { return t.along(t.diverging, (v+1)/2) }

func (t *Theme) along(stops []Lab, v float64) color.RGBA {
	if math.IsNaN(v) {
		return t.Missing
	}
	at := max(0, min(v, 1)) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	p, q, r := stops[i], stops[i+1], at-float64(i)
	return Lab{p.L + r*(q.L-p.L), p.A + r*(q.A-p.A), p.B + r*(q.B-p.B)}.RGBA()
}

// Cyclic returns the colour of an angle in turns: 0 and 1 have the same colour. Lightness varies together with blue and
// yellow: with red-green colour blindness, the colours are on an ellipse and not on a line.
func Cyclic(turn float64) color.RGBA {
	sin, cos := math.Sincos(2 * math.Pi * turn)
	return Lab{0.63 + 0.17*cos, -0.085*cos + 0.05*sin, 0.03*cos + 0.105*sin}.RGBA()
}

// On returns the text colour, black or white, with the higher contrast to a background. The contrast is at least 4.5,
// WCAG's level AA.
func On(background color.RGBA) color.RGBA {
	black, white := color.RGBA{A: 255}, color.RGBA{255, 255, 255, 255}
	if Contrast(background, black) >= Contrast(background, white) {
		return black
	}
	return white
}
