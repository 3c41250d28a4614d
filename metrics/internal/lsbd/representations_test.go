package lsbd

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/numeric"
)

// The basis of the representation of degree 2 is orthonormal, symmetric and without trace.
func TestTraceless(t *testing.T) {
	for a, x := range traceless {
		if x[0]+x[4]+x[8] != 0 || x[1] != x[3] || x[2] != x[6] || x[5] != x[7] {
			t.Errorf("matrix %d is %v", a, x)
		}
		for b, y := range traceless {
			want := 0.0
			if a == b {
				want = 1
			}
			if got := numeric.Dot(x[:], y[:]); !(math.Abs(got-want) <= 1e-15) {
				t.Errorf("product of %d and %d is %v, want %v", a, b, got, want)
			}
		}
	}
}
