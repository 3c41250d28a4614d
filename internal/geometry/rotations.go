package geometry

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// RotationScatter is D_k for a factor of rotations (Tonnaer et al. 2022, equations 6 and 7, for SO(3)). The inverse of
// the rotation g_i of its level is applied to each of n points p_i. The value is the mean squared distance of the
// results from their mean,
//
//	min_Q 1/n sum_i |q_i - 1/n sum_j q_j|^2,  q_i = g_i^T Q^T p_i,  Q in O(3)
//
// with Q from [alignment]. A second pass makes the value accurate near 0.
func RotationScatter(points []float64, rotation func(i int) *[9]float64) float64 {
	n, s := len(points)/3, moments(points, rotation)
	q := alignment(s)
	rotated := make([]float64, len(points))
	var mean [3]float64
	for i := range n {
		var t [3]float64
		for j := range t {
			for k, v := range points[3*i : 3*i+3] {
				t[j] += q[k*3+j] * v
			}
		}
		g := rotation(i)
		for a := range 3 {
			for b, v := range t {
				rotated[3*i+a] += g[b*3+a] * v
			}
			mean[a] += rotated[3*i+a] / float64(n)
		}
	}
	sum := 0.0
	for i, v := range rotated {
		sum += (v - mean[i%3]) * (v - mean[i%3])
	}
	return sum / float64(n)
}

// FollowRotations returns the representation Q g Q^T, Q in O(3), that fits n points p in space and rotations g best. It
// also returns the mean v = 1/n sum_i g_i^T Q^T p_i, with a positive largest component. For unit points with an exact
// fit, p = Q g v, |v| = 1. points has 3n coordinates, and rotation returns g_i, 3 x 3 in row-major order.
func FollowRotations(points []float64, rotation func(i int) *[9]float64) (q [9]float64, v [3]float64) {
	s := moments(points, rotation)
	q = alignment(s)
	v = meanDirection(s, &q)
	largest := 0.0
	for _, x := range v {
		if math.Abs(x) > math.Abs(largest) {
			largest = x
		}
	}
	if largest < 0 { // -Q gives the same representation
		for i := range q {
			q[i] = -q[i]
		}
		v = [3]float64{-v[0], -v[1], -v[2]}
	}
	return q, v
}

// alignment returns the Q in O(3) with the largest |m|, where m is the mean of g^T Q^T p(g) over rotations g. The
// representation Q g Q^T then fits the points p best. With the moments S_ijk, the means of g_ji p_k, m_i = sum_jk Q_kj
// S_ijk. For a given direction e of m, the best Q is the polar factor of N_kj = sum_i e_i S_ijk. For a given Q, the
// best e is the direction of m. Alternating these steps never decreases |m|; alignment starts from 26 directions.
func alignment(s *[27]float64) (q [9]float64) {
	best := -1.0
	for code := range 27 {
		e := [3]float64{float64(code%3 - 1), float64(code/3%3 - 1), float64(code/9 - 1)}
		if code == 13 {
			continue
		}
		last := -1.0
		for range 10000 {
			candidate, ok := polar(s, e)
			if !ok {
				break
			}
			m := meanDirection(s, &candidate)
			length := math.Sqrt(m[0]*m[0] + m[1]*m[1] + m[2]*m[2])
			if length > best {
				best, q = length, candidate
			}
			if length == 0 || length <= last+1e-15 {
				break
			}
			last = length
			for i := range e {
				e[i] = m[i] / length
			}
		}
	}
	return q
}

// polar returns the orthogonal Q that maximises the trace of Q^T N.
func polar(s *[27]float64, e [3]float64) (q [9]float64, ok bool) {
	n := mat.NewDense(3, 3, nil)
	for i, f := range e {
		for j := range 3 {
			for k := range 3 {
				n.Set(k, j, n.At(k, j)+f*s[i*9+j*3+k])
			}
		}
	}
	var svd mat.SVD
	if !svd.Factorize(n, mat.SVDFull) {
		return q, false
	}
	var u, v, product mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	product.Mul(&u, v.T())
	copy(q[:], product.RawMatrix().Data)
	return q, true
}

// meanDirection returns m for a given Q.
func meanDirection(s *[27]float64, q *[9]float64) (m [3]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				m[i] += q[k*3+j] * s[i*9+j*3+k]
			}
		}
	}
	return m
}

// moments returns the moments S_ijk: means of g_ji p_k over points p and their rotations g.
func moments(points []float64, rotation func(i int) *[9]float64) *[27]float64 {
	var s [27]float64
	weight := 1 / float64(len(points)/3)
	for n := range len(points) / 3 {
		g, p := rotation(n), points[3*n:]
		for i := range 3 {
			for j := range 3 {
				for k := range 3 {
					s[i*9+j*3+k] += weight * g[j*3+i] * p[k]
				}
			}
		}
	}
	return &s
}
