package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// The functions on float64 tiles agree with their definitions to the last digits, at every level.
func TestPairs64(t *testing.T) {
	close := func(t *testing.T, what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-14*math.Abs(want)) {
			t.Fatalf("%s: %v, want %v", what, got, want)
		}
	}
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 4))
		for _, size := range pairSizes {
			_, z := randomPoints(r, size[0], size[1])
			_, y := randomPoints(r, size[0], size[1])
			m := Circular(0.5)
			tilesOf(size[0], func(lane, source, n, lanes int) {
				a, b := make([]float64, PairLanes*PairSources), make([]float64, PairLanes*PairSources)
				z.Squares(a, lane, source, n)
				y.Squares(b, lane, source, n)
				y.AddPremetric(b, m, true, 0, lane, source, n)
				var sum, most, shrink, largest [PairLanes]float64
				SumRoots(sum[:], a, n)
				MaxLanes(most[:], a, n)
				SumShrinks(shrink[:], a, b, n)
				MaxShrinks(largest[:], a, b, n)
				for i := range lanes {
					var wantSum, wantMost, wantShrink, wantLargest float64
					for k := range n {
						var d, e float64
						for c := range size[1] {
							u, v := z.Column(c)[source+k]-z.Column(c)[lane+i], y.Column(c)[source+k]-y.Column(c)[lane+i]
							d, e = d+u*u, e+v*v
						}
						p := m.Distance(y.Column(0)[source+k], y.Column(0)[lane+i])
						e += p * p
						close(t, "square", a[k*PairLanes+i], d)
						close(t, "square and premetric", b[k*PairLanes+i], e)
						wantSum, wantMost = wantSum+math.Sqrt(d), max(wantMost, a[k*PairLanes+i])
						h := max(math.Sqrt(b[k*PairLanes+i])-math.Sqrt(a[k*PairLanes+i]), 0)
						wantShrink, wantLargest = wantShrink+h, max(wantLargest, h)
					}
					close(t, "sum of roots", sum[i], wantSum)
					close(t, "largest", most[i], wantMost)
					close(t, "sum of shrinks", shrink[i], wantShrink)
					close(t, "largest shrink", largest[i], wantLargest)
				}
			})
		}
	})
}
