package rotation

import (
	"math"

	"github.com/unravel-ml/unravel/graph/rng"
)

// Octahedral returns the 24 rotations of a cube, starting with the identity: the signed permutation matrices with
// determinant 1.
func Octahedral() [][9]float64 {
	var list [][9]float64
	for _, p := range [][3]int{{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}} {
		for signs := range 8 {
			var g [9]float64
			for row, column := range p {
				g[3*row+column] = float64(1 - signs>>row&1*2)
			}
			if determinant(&g) > 0 {
				list = append(list, g)
			}
		}
	}
	return list
}

func determinant(g *[9]float64) float64 {
	return g[0]*(g[4]*g[8]-g[5]*g[7]) - g[1]*(g[3]*g[8]-g[5]*g[6]) + g[2]*(g[3]*g[7]-g[4]*g[6])
}

// Icosahedral returns the 60 rotations of an icosahedron, starting with the identity. Their quaternions are the
// vertices of the 600-cell, one of each opposite pair: 4 on the axes, 8 of (1, 1, 1, 1)/2 with signs, and 48 even
// permutations of (phi, 1, 1/phi, 0)/2 with signs, where phi is the golden ratio.
func Icosahedral() [][9]float64 {
	list := []([4]float64){{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}
	for signs := range 8 {
		list = append(list, [4]float64{1, sign(signs, 0), sign(signs, 1), sign(signs, 2)})
	}
	for a := range 4 {
		for b := range 4 {
			for c := range 4 {
				p := [4]int{a, b, c, 6 - a - b - c}
				if a == b || a == c || b == c || !even(p) {
					continue
				}
				for signs := range 4 { // the sign of phi is arbitrary: q and -q are the same rotation
					var q [4]float64
					q[p[0]], q[p[1]], q[p[2]] = math.Phi, sign(signs, 0), sign(signs, 1)/math.Phi
					list = append(list, q)
				}
			}
		}
	}
	return fromQuaternions(list)
}

func sign(bits, at int) float64 { return float64(1 - bits>>at&1*2) }

func even(p [4]int) bool {
	inversions := 0
	for i := range p {
		for j := i + 1; j < len(p); j++ {
			if p[i] > p[j] {
				inversions++
			}
		}
	}
	return inversions%2 == 0
}

func fromQuaternions(list [][4]float64) [][9]float64 {
	table := make([][9]float64, len(list))
	for i, q := range list {
		table[i], _ = FromQuaternion(q)
	}
	return table
}

// HopfSize returns the number of rotations of a Hopf grid, 72 * 8^level.
func HopfSize(level int) int { return 72 << (3 * level) }

// Hopf returns the uniform grid of 72 * 8^level rotations of Yershova et al. 2010 (Generating uniform incremental grids
// on SO(3) using the Hopf fibration). It has 12 * 4^level directions of the object's z axis: the centres of a HEALPix
// grid of the sphere (Gorski et al. 2005) from north to south. Each direction has 6 * 2^level rotations about that
// axis, which vary fastest. Neighbours are about 60 / 2^level degrees apart. level is 0 to 5; level 5 has 2,359,296
// rotations.
func Hopf(level int) [][9]float64 {
	side := 1 << level
	var list [][4]float64
	for ring := 1; ring < 4*side; ring++ {
		count, shift := 4*side, (ring-side+1)&1 // points on the ring, and whether they are shifted by half a step
		z := (4 - 2*float64(ring)/float64(side)) / 3
		if cap := min(ring, 4*side-ring); cap < side {
			count, shift = 4*cap, 1
			z = 1 - float64(cap*cap)/float64(3*side*side)
			if ring > 2*side {
				z = -z
			}
		}
		c, s := math.Sqrt((1+z)/2), math.Sqrt((1-z)/2) // cosine and sine of half the angle to the z axis
		for j := range count {
			sinPhi, cosPhi := sincos(2*j+shift, 2*count)
			for k := range 6 * side {
				sinHalf, cosHalf := sincos(2*k+1, 24*side)
				list = append(list, multiply(
					[4]float64{c, -float64(s * sinPhi), float64(s * cosPhi), 0}, // shortest rotation from the z axis to the direction
					[4]float64{cosHalf, 0, 0, sinHalf}))
			}
		}
	}
	return fromQuaternions(list)
}

func multiply(a, b [4]float64) [4]float64 {
	return [4]float64{
		float64(a[0]*b[0]) - float64(a[1]*b[1]) - float64(a[2]*b[2]) - float64(a[3]*b[3]),
		float64(a[0]*b[1]) + float64(a[1]*b[0]) + float64(a[2]*b[3]) - float64(a[3]*b[2]),
		float64(a[0]*b[2]) - float64(a[1]*b[3]) + float64(a[2]*b[0]) + float64(a[3]*b[1]),
		float64(a[0]*b[3]) + float64(a[1]*b[2]) - float64(a[2]*b[1]) + float64(a[3]*b[0]),
	}
}

// sincos returns sine and cosine of n/d of a full turn, for integers 0 <= n < d. math.Sincos has other bits on machines
// that fuse products and sums. This series, after a reduction in integers, has the same bits on every machine.
func sincos(n, d int) (sin, cos float64) {
	octant, rest := 8*n/d, 8*n%d
	if octant&1 == 1 {
		rest = d - rest
	}
	x := math.Pi / 4 * (float64(rest) / float64(d))
	square := float64(x * x)
	sin, cos = 1, 1
	for k := 20; k > 0; k -= 2 { // Horner's scheme of x - x^3/6 + ..., 1 - x^2/2 + ...
		sin = 1 - float64(square*sin)/float64(k*(k+1))
		cos = 1 - float64(square*cos)/float64(k*(k-1))
	}
	sin *= x
	if octant == 1 || octant == 2 || octant == 5 || octant == 6 {
		sin, cos = cos, sin
	}
	if octant > 3 {
		sin = -sin
	}
	if octant > 1 && octant < 6 {
		cos = -cos
	}
	return sin, cos
}

// Random returns n rotations drawn from the Haar measure: normalised quaternions of four Gaussian numbers.
func Random(s *rng.Stream, n int) [][9]float64 {
	table := make([][9]float64, 0, n)
	for len(table) < n {
		q := [4]float64{s.NormFloat64(), s.NormFloat64(), s.NormFloat64(), s.NormFloat64()}
		if g, ok := FromQuaternion(q); ok {
			table = append(table, g)
		}
	}
	return table
}
