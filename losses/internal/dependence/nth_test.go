package dependence

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNth(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for n := 1; n < 200; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(r.IntN(n/2 + 1)) // with ties
			if n%5 == 0 {
				x[i] = r.Float64()
			}
		}
		sorted := slices.Sorted(slices.Values(x))
		for _, k := range []int{0, n / 3, (n - 1) / 2, n - 1} {
			if got := nthSmallest(slices.Clone(x), k); got != sorted[k] {
				t.Fatalf("element %d of %v is %v, want %v", k, x, got, sorted[k])
			}
		}
	}
	if got := nthSmallest([]float64{1, math.NaN(), 0}, 1); !math.IsNaN(got) {
		t.Errorf("median with NaN is %v", got)
	}
}
