package mimosa

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestLocalSVD(t *testing.T) {
	s := rng.New(8, "svd")
	d := 4
	points := cloud(s, 60, []float64{1, 2, 3, 4}, []float64{3, 2, 0, 0})
	for i := range 12 { // a fifth of the points is off the plane
		points[i*d+2] += float64(4 - i%2*8)
	}
	o := Defaults()
	p := localSVD(points, d, o)
	if p.Dim != 2 || !(math.Abs(p.Mean[2]-3) <= 1e-9) || !(math.Abs(p.Axes[2])+math.Abs(p.Axes[3])+math.Abs(p.Axes[d+2]) <= 1e-9) {
		t.Errorf("with outliers: %+v", p)
	}
	o.RansacFraction = 1
	if q := localSVD(points, d, o); q.Dim == 2 {
		t.Errorf("a single fit is not misled: %+v", q)
	}
	full := Principal(points, d)
	if full.Dim != d || len(full.Axes) != d*d ||
		!slices.IsSortedFunc(full.Ratios, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) {
		t.Errorf("principal axes %+v", full)
	}
	must.Equal(t, full.Cos(full), 1, "cosine of full spaces")
	must.Equal(t, p.Cos(full), 0, "cosine of different dimensions")
	one := localSVD(slices.Repeat([]float64{1, 2}, 10), 2, Defaults())
	if one.Dim != 2 || one.Ratios[0] != 0 {
		t.Errorf("equal points: %+v", one)
	}
}

// The second fit uses the points up to the quantile, including the point at the quantile.
func TestLocalSVDKeeps(t *testing.T) {
	points := []float64{0, 0, 1, 0, 2.5, 0, 4.5, 0, 7, 0} // distances to the mean: 3, 2, 0.5, 1.5, 4
	for fraction, want := range map[float64]float64{0.5: 8.0 / 3, 0.6: 8.0 / 3, 0.75: 2, 1: 3} {
		o := Defaults()
		o.RansacFraction = fraction
		if p := localSVD(points, 2, o); !(math.Abs(p.Mean[0]-want) <= 1e-12) || p.Dim != 1 {
			t.Errorf("fraction %v: mean %v, dimension %d, want %v", fraction, p.Mean[0], p.Dim, want)
		}
	}
}

// A zero on the diagonal needs a swap of rows. The cosine of equal and of perpendicular planes is 1 and 0.
func TestDeterminant(t *testing.T) {
	for want, a := range map[float64][]float64{1: {0, 1, 1, 0}, 6: {0, 2, 0, 0, 0, 3, 1, 0, 0}, 0: {1, 2, 2, 4}} {
		n := int(math.Sqrt(float64(len(a))))
		must.Equal(t, math.Abs(determinant(slices.Clone(a), n)), want, a)
	}
	xy, yx, zw := []float64{1, 0, 0, 0, 0, 1, 0, 0}, []float64{0, 1, 0, 0, 1, 0, 0, 0}, []float64{0, 0, 1, 0, 0, 0, 0, 1}
	if same, apart := cosine(xy, yx, 2, 4, make([]float64, 4)), cosine(xy, zw, 2, 4, make([]float64, 4)); same != 1 || apart != 0 {
		t.Errorf("cosines %v and %v, want 1 and 0", same, apart)
	}
}

// Errors count the missing axes. A point far along the third axis is worse than a point far along the first.
func TestLocalSVDErrors(t *testing.T) {
	var points []float64
	for i := range 12 { // a plane, longer in x
		points = append(points, float64(i-6)+0.5, float64(i*i%5)-2, 0)
	}
	points = append(points, 0, 0, 4) // nearer to the middle than the ends, but off the plane
	o := Defaults()
	o.RansacFraction = 11.5 / 12
	if p := localSVD(points, 3, o); p.Dim != 2 {
		t.Errorf("%+v", p)
	}
}

// Cos returns |det(U V^T)| of the axes of two planes (algorithm 4), the product of the cosines of their angles. It is 0
// if their dimensions differ, and 1 if both fill the space.
func (p Plane) Cos(q Plane) float64 {
	if p.Dim != q.Dim {
		return 0
	}
	d := len(p.Mean)
	return cosine(p.Axes, q.Axes, p.Dim, d, make([]float64, p.Dim*p.Dim))
}
