package geometry_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/must"
)

// Mean distance and diameter agree with a loop over all pairs, for every number of points near the tile sizes.
func TestPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var p geometry.Pairs // reused: smaller sets use the memory of larger ones
	for _, n := range []int{130, 1, 2, 31, 33, 63, 64, 65, 200} {
		points := make([]float64, 3*n)
		for i := range points {
			points[i] = 1e3 + r.NormFloat64()
		}
		must.OK(t, p.Set(points, 3))
		var sum, most float64
		for i := range n {
			for j := range i {
				d := math.Hypot(math.Hypot(points[3*i]-points[3*j], points[3*i+1]-points[3*j+1]), points[3*i+2]-points[3*j+2])
				sum, most = sum+d, max(most, d)
			}
		}
		want := 0.0
		if n > 1 {
			want = sum / float64(n*(n-1)/2)
		}
		diameter, _, _, err := p.Diameter()
		if got, _ := p.Mean(); err != nil || !(math.Abs(got-want) <= 1e-11) || !(math.Abs(diameter-most) <= 1e-11) {
			t.Errorf("%d points: mean %v, diameter %v; want %v, %v", n, got, diameter, want, most)
		}
	}
}
