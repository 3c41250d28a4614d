package mimosa

import "math"

// negligible is the standard deviation, as a fraction of the largest, up to which axes are not scaled.
const negligible = 1e-6

// equalized returns n codes of d numbers in their principal axes, each axis divided by a power of its standard
// deviation relative to the largest: 0 keeps all distances, 1 whitens. The longest axis keeps its scale.
//
// Without it, neighbourhoods cross between manifolds that differ only along an axis of small variance. The paper does
// not scale codes.
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
