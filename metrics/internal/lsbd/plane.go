package lsbd

import (
	"math"

	"github.com/unravel-ml/unravel/internal/geometry"
)

// projection holds points on two principal components.
type projection struct {
	points [][2]float64
	rank   int  // number of components, at most 2, that are not 0
	near   bool // the second and the third component have nearly the same standard deviation, so the plane is arbitrary
}

// nearly is a ratio of standard deviations; if consecutive components have a smaller ratio, their order is arbitrary.
const nearly = 1.1

// nearAfter reports whether the standard deviations k and k+1 nearly agree.
func nearAfter(sigma []float64, k int, tolerance float64) bool {
	return len(sigma) > k && sigma[k] > tolerance && sigma[k-1] < nearly*sigma[k]
}

// plane projects n points z of d dimensions to their first two principal components and scales these; it may change z.
// Whitened components have a variance of 1/2, with n-1 degrees of freedom. The standardised forms first divide the
// columns by their standard deviation, n degrees of freedom. They then divide the components by sqrt(2) or, if
// whitened, scale them to a variance of 1/2 with n degrees of freedom. Components with a standard deviation within the
// tolerance become 0.
func (f Form) plane(z []float64, n, d int, tolerance float64) (projection, error) {
	population := math.Sqrt(float64(n-1) / float64(n))
	if f != Whitened {
		tolerance = standardise(z, n, d, tolerance)
	}
	c, err := geometry.PCA(z, d)
	if err != nil {
		return projection{}, err
	}
	p := projection{points: make([][2]float64, n), near: nearAfter(c.Sigma, 2, tolerance)}
	flat, sigma := c.Project(z, 2), [2]float64{}
	copy(sigma[:], c.Sigma)
	for i := range p.points {
		p.points[i] = [2]float64(flat[2*i:])
	}
	for j, s := range sigma {
		scale := 0.0
		if s > tolerance {
			scale = [...]float64{1 / (math.Sqrt2 * s), 1 / math.Sqrt2, 1 / (math.Sqrt2 * s * population)}[f]
			p.rank++
		}
		for i := range p.points {
			p.points[i][j] *= scale
		}
	}
	return p, nil
}

// standardise divides centred columns by their population standard deviation; columns within the tolerance become 0. It
// returns the tolerance for the standardised columns.
func standardise(z []float64, n, d int, tolerance float64) float64 {
	for j := range d {
		var sum float64
		for i := range n {
			sum += z[i*d+j] * z[i*d+j]
		}
		factor := 0.0
		if sigma := math.Sqrt(sum / float64(n)); sigma > tolerance {
			factor = 1 / sigma
		}
		for i := range n {
			z[i*d+j] *= factor
		}
	}
	return 1e-12
}

// search finds the number of turns w of the points per turn of a circular factor.
type search struct {
	points [][2]float64
	rank   int
	size   int       // number of levels of the factor
	inner  int       // stride between neighbouring levels, in points
	curve  []float64 // smaller dispersion of w and -w turns, for w = 0, 1, ...
	cos    []float64 // cosines of the levels' angles
	sin    []float64
}

func newSearch(points [][2]float64, rank, size, inner, omega int) *search {
	s := &search{points: points, rank: rank, size: size, inner: inner, curve: make([]float64, omega+1),
		cos: make([]float64, size), sin: make([]float64, size)}
	for l := range size {
		s.sin[l], s.cos[l] = math.Sincos(2 * math.Pi * float64(l) / float64(size))
	}
	// rotations preserve lengths: dispersion = mean |p|^2 - |mean of rotated p|^2, from the sums over each level
	sums := make([][2]float64, size)
	var square float64
	for i, p := range points {
		l := i / inner % size
		sums[l][0] += p[0]
		sums[l][1] += p[1]
		square += p[0]*p[0] + p[1]*p[1]
	}
	n := float64(len(points))
	for w := range s.curve {
		s.curve[w] = square / n
		for _, turns := range []int{w, -w} {
			var x, y float64
			for l, p := range sums {
				sin, cos := s.angle(l, turns)
				dx, dy := turnBack(p, sin, cos)
				x, y = x+dx, y+dy
			}
			s.curve[w] = min(s.curve[w], square/n-(x*x+y*y)/(n*n))
		}
	}
	return s
}

// angle returns sine and cosine of the level's angle times turns.
func (s *search) angle(level, turns int) (sin, cos float64) {
	at := turns * level % s.size
	if at < 0 {
		at += s.size
	}
	return s.sin[at], s.cos[at]
}

// dispersion is D_k for |omega| = w, the smaller of w and -w turns, by [turnedScatter], which is exact near 0.
func (s *search) dispersion(w int) float64 {
	least := math.Inf(1)
	for _, turns := range []int{w, -w} {
		least = min(least, turnedScatter(s.points, func(i int) (sin, cos float64) { return s.angle(i/s.inner%s.size, turns) }))
	}
	return least
}

func meanCurve(curves [][]float64) []float64 {
	mean := make([]float64, len(curves[0]))
	for _, curve := range curves {
		for w, v := range curve {
			mean[w] += v / float64(len(curves))
		}
	}
	return mean
}

// bestTurns returns the index of the minimum; among values that differ only by rounding, it returns the first.
func bestTurns(curve []float64) int {
	best := 0
	for w, v := range curve {
		if v < curve[best]-1e-12 {
			best = w
		}
	}
	return best
}

func rootMeanSquare(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v / float64(len(x))
	}
	return math.Sqrt(sum)
}
