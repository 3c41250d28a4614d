package geometry

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The scatter of p = Q g v is 0, and Q is found, with and without a reflection. With noise, the scatter is the least
// over Q: no drawn Q and no Q near the best one gives less.
func TestRotationScatter(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 0))
	const n = 40
	for range 6 {
		turns := make([][9]float64, n)
		for i := range turns {
			turns[i] = drawnRotation(r)
		}
		rotation := func(i int) *[9]float64 { return &turns[i] }
		q, v := drawnRotation(r), [3]float64{0.6, -0.64, 0.48}
		if r.IntN(2) == 0 {
			for i := range q {
				q[i] = -q[i]
			}
		}
		points, noisy := make([]float64, 3*n), make([]float64, 3*n)
		for i, g := range turns {
			p := times(&q, times(&g, v))
			copy(points[3*i:], p[:])
			for a, x := range p {
				noisy[3*i+a] = x + 0.3*r.NormFloat64()
			}
		}
		if s := RotationScatter(points, rotation); !(s <= 1e-12) {
			t.Errorf("exact points: %v", s)
		}
		if _, found := FollowRotations(points, rotation); !(math.Abs(math.Hypot(math.Hypot(found[0], found[1]), found[2])-1) <= 1e-6) {
			t.Errorf("exact points: v = %v", found)
		}
		least := RotationScatter(noisy, rotation)
		best, _ := FollowRotations(noisy, rotation)
		if s := scatterAt(noisy, turns, &best); !(math.Abs(s-least) <= 1e-12) {
			t.Errorf("%v, at the Q that fits best %v", least, s)
		}
		for k := range 2000 {
			other := drawnRotation(r)
			if k%2 == 0 { // a small turn of the best Q
				axis := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
				other = product(quaternion(100, axis), best)
			}
			if s := scatterAt(noisy, turns, &other); !(s >= least-1e-12) {
				t.Fatalf("%v, and another Q gives %v", least, s)
			}
		}
	}
}

// scatterAt returns the mean squared distance of g_i^T Q^T p_i from their mean.
func scatterAt(points []float64, turns [][9]float64, q *[9]float64) float64 {
	n := len(turns)
	back, mean := make([][3]float64, n), [3]float64{}
	for i, g := range turns {
		p := [3]float64(points[3*i : 3*i+3])
		for a := range 3 {
			for b := range 3 {
				for c := range 3 {
					back[i][a] += g[3*b+a] * q[3*c+b] * p[c]
				}
			}
			mean[a] += back[i][a] / float64(n)
		}
	}
	sum := 0.0
	for _, b := range back {
		for a := range 3 {
			sum += (b[a] - mean[a]) * (b[a] - mean[a]) / float64(n)
		}
	}
	return sum
}

func drawnRotation(r *rand.Rand) [9]float64 {
	return quaternion(r.NormFloat64(), [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()})
}

// quaternion returns the rotation of the quaternion w + x i + y j + z k, of any length.
func quaternion(w float64, v [3]float64) [9]float64 {
	l := math.Sqrt(w*w + v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
	w, x, y, z := w/l, v[0]/l, v[1]/l, v[2]/l
	return [9]float64{
		1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y),
		2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x),
		2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y),
	}
}

func product(a, b [9]float64) (c [9]float64) {
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				c[3*i+j] += a[3*i+k] * b[3*k+j]
			}
		}
	}
	return c
}

func times(a *[9]float64, v [3]float64) (w [3]float64) {
	for i := range 3 {
		for k := range 3 {
			w[i] += a[3*i+k] * v[k]
		}
	}
	return w
}
