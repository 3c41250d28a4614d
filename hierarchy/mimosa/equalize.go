package mimosa

import "math"

// negligible is the standard deviation, as a part of the largest one, of axes that are left as they are.
const negligible = 1e-6

// equalized returns n codes of d numbers along their principal axes, each divided by the standard deviation along
// it to a power: 0 changes distances not at all, and 1 makes all axes as long as each other. The scale of all codes stays
// about that of their longest axis.
//
// A neighbourhood reaches as far along an axis on which codes hardly vary as along any other, and so crosses from a
// manifold into others that differ from it by that axis alone. The paper's codes are left as they are.
func equalized(codes []float64, d int, power float64) []float64 {
	if power == 0 {
		return codes
	}
	p := Principal(codes, d)
	scale := make([]float64, d)
	for a := range d {
		scale[a] = 1
		if r := p.Ratios[a] / p.Ratios[0]; r > negligible*negligible {
			scale[a] = math.Pow(r, -power/2)
		}
	}
	out := make([]float64, len(codes))
	for i := 0; i < len(codes); i += d {
		for a := range d {
			sum := 0.0
			for c, u := range p.Axes[a*d : (a+1)*d] {
				sum += u * (codes[i+c] - p.Mean[c])
			}
			out[i+a] = scale[a] * sum
		}
	}
	return out
}
