package colours

import (
	"image/color"
	"math"
)

// Lab is a colour of the Oklab space (Ottosson, "A perceptual color space for image processing", 2020). L is lightness
// from 0 to 1, A goes from green to red, B from blue to yellow. Equal distances look about equally far apart.
type Lab struct{ L, A, B float64 }

// LabOf returns the Oklab coordinates of an sRGB colour.
func LabOf(c color.RGBA) Lab { return labOf(linearOf(c)) }

// RGBA returns the opaque sRGB colour, with channels clamped to the range of a screen.
func (p Lab) RGBA() color.RGBA {
	c := p.linear()
	return color.RGBA{encode(c[0]), encode(c[1]), encode(c[2]), 255}
}

// Distance is the Euclidean distance of two colours in Oklab; about 0.02 is just noticeable.
func Distance(a, b color.RGBA) float64 { return LabOf(a).distance(LabOf(b)) }

func (p Lab) distance(q Lab) float64 {
	return math.Sqrt((p.L-q.L)*(p.L-q.L) + (p.A-q.A)*(p.A-q.A) + (p.B-q.B)*(p.B-q.B))
}

// Contrast is the contrast ratio of two colours by WCAG 2.2, from 1 to 21.
func Contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.RGBA) float64 {
	l := linearOf(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// Vision is how an eye sees colours.
type Vision int

// The kinds of colour vision in the checks of colours.
const (
	Normal       Vision = iota
	Protanopia          // without cones for long waves
	Deuteranopia        // without cones for middle waves
	Tritanopia          // without cones for short waves
)

// visions maps linear RGB to the colours that a vision sees (Machado, Oliveira and Fernandes, "A physiologically-based
// model for simulation of color vision deficiency", 2009, severity 1).
var visions = [][3][3]float64{
	Normal:       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	Protanopia:   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	Deuteranopia: {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	Tritanopia:   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// Sees returns the colour that a normal eye would confuse a colour with if it had a vision.
func (v Vision) Sees(c color.RGBA) color.RGBA {
	l := linearOf(c)
	var out [3]uint8
	for i, row := range visions[v] {
		out[i] = encode(row[0]*l[0] + row[1]*l[1] + row[2]*l[2])
	}
	return color.RGBA{out[0], out[1], out[2], c.A}
}

// linear returns linear RGB, which may lie outside of [0, 1].
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

func labOf(c [3]float64) Lab {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return Lab{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
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
