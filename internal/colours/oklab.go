package colours

import (
	"image/color"
	"math"
)

// Lab is a colour in the Oklab space (Ottosson, "A perceptual color space for image processing", 2020). L is lightness
// from 0 to 1, A ranges from green to red, B from blue to yellow. Equal distances look about equally different.
type Lab struct{ L, A, B float64 }

// RGBA returns the opaque sRGB colour, with channels clamped to the sRGB range.
func (p Lab) RGBA() color.RGBA {
	c := p.linear()
	return color.RGBA{encode(c[0]), encode(c[1]), encode(c[2]), 255}
}

// Contrast is the WCAG 2.2 contrast ratio of two colours, from 1 to 21.
func Contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.RGBA) float64 {
	l := linearOf(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// linear returns linear RGB, which may be outside [0, 1].
func (p Lab) linear() [3]float64 {
	l := cube(p.L + 0.3963377774*p.A + 0.2158037573*p.B)
	m := cube(p.L - 0.1055613458*p.A - 0.0638541728*p.B)
	s := cube(p.L - 0.0894841775*p.A - 1.2914855480*p.B)
	return [3]float64{
		4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s,
	}
}

func cube(x float64) float64 { return x * x * x }

// encode applies the sRGB transfer function and rounds to a byte.
func encode(x float64) uint8 {
	x = max(0, min(x, 1))
	if x <= 0.0031308 {
		x *= 12.92
	} else {
		x = 1.055*math.Pow(x, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * x))
}

func linearOf(c color.RGBA) (l [3]float64) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		x := float64(v) / 255
		if x <= 0.04045 {
			l[i] = x / 12.92
		} else {
			l[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return l
}
