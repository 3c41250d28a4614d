package colours

import (
	"image/color"
	"math"
)

// LabOf returns the Oklab coordinates of an sRGB colour.
func LabOf(c color.RGBA) Lab { return labOf(linearOf(c)) }

// Distance is the Euclidean distance of two colours in Oklab; about 0.02 is just noticeable.
func Distance(a, b color.RGBA) float64 { return LabOf(a).distance(LabOf(b)) }

func (p Lab) distance(q Lab) float64 {
	return math.Sqrt((p.L-q.L)*(p.L-q.L) + (p.A-q.A)*(p.A-q.A) + (p.B-q.B)*(p.B-q.B))
}

// Vision is a kind of colour vision.
type Vision int

// The kinds of colour vision in the tests.
const (
	Normal       Vision = iota
	Protanopia          // without L cones (long wavelengths)
	Deuteranopia        // without M cones (medium wavelengths)
	Tritanopia          // without S cones (short wavelengths)
)

// visions maps linear RGB to the colours seen with a kind of vision (Machado, Oliveira and Fernandes, "A
// physiologically-based model for simulation of color vision deficiency", 2009, severity 1).
var visions = [][3][3]float64{
	Normal:       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	Protanopia:   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	Deuteranopia: {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	Tritanopia:   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// Sees returns a colour that looks to a normal eye as c looks with this vision.
func (v Vision) Sees(c color.RGBA) color.RGBA {
	l := linearOf(c)
	var out [3]uint8
	for i, row := range visions[v] {
		out[i] = encode(row[0]*l[0] + row[1]*l[1] + row[2]*l[2])
	}
	return color.RGBA{out[0], out[1], out[2], c.A}
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
