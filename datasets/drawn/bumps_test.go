package drawn_test

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets"
	. "github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/datasets/internal/datatest"
	"github.com/unravel-ml/unravel/internal/must"
)

// TestBumps checks that images have the inner products of their bumps, which an orthogonal matrix preserves, and that
// all values contribute.
func TestBumps(t *testing.T) {
	d := datatest.Build(t, &Bumps{Factors: 4, Levels: 8})
	if h, w, c := d.ImageShape(); d.Len() != 4096 || h != 1 || w != 32 || c != 1 || !datasets.RealValued(d) {
		t.Fatalf("%d images of %d x %d x %d, real %v", d.Len(), h, w, c, datasets.RealValued(d))
	}
	a, b := make([]float32, 32), make([]float32, 32)
	la, lb := make([]int, 4), make([]int, 4)
	for _, pair := range [][2]int{{0, 0}, {0, 1}, {5, 4095}, {1234, 1242}, {700, 2000}} {
		d.Image(pair[0], a)
		d.Image(pair[1], b)
		d.FactorsAt(pair[0], la)
		d.FactorsAt(pair[1], lb)
		got, want := 0.0, 0.0
		for j := range a {
			got += float64(a[j]) * float64(b[j])
		}
		for f := range la {
			for j := range 8 {
				x, y := float64(j-la[f]), float64(j-lb[f])
				want += 9 * math.Exp(-x*x/2-y*y/2)
			}
		}
		if !(math.Abs(got-want) <= 1e-4) {
			t.Errorf("images %v have the inner product %v, want %v", pair, got, want)
		}
	}
	d.Image(0, a)
	for j, v := range a {
		if !(math.Abs(float64(v)) >= 1e-3) {
			t.Errorf("number %d is %v", j, v)
		}
	}
	for want, b := range map[string]*Bumps{"factors: 0": {0, 8}, "levels: 1": {4, 1}, "levels: 300": {4, 300}, "too many images": {12, 8}} {
		must.ErrorOf(b.Build(0))(t, want)
	}
}
