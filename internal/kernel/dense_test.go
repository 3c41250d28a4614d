package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Laying out the weights of few rows piece by piece gives the same bits as all at once.
func TestDenseOfFewRows(t *testing.T) {
	levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(4, 4))
		for _, s := range []struct{ rows, in, out int }{{1, 1, 1}, {5, 130, 33}, {64, 700, 20}, {70, 33, 500}, {128, 385, 640}} {
			x, w, bias, dy := random(r, s.rows*s.in), random(r, s.in*s.out), random(r, s.out), random(r, s.rows*s.out)
			var results [2][][]float32
			for i := range results {
				d, err := NewDense(s.rows, s.in, s.out, LeakyActivation)
				if err != nil {
					t.Fatal(err)
				}
				if d.packed != nil {
					t.Fatalf("%+v: the weights are laid out at once", s)
				}
				if i == 1 {
					d.packed = make([]float32, s.in*d.forwardPanels.padded)
				}
				y, dx, dw, db := stale(s.rows*s.out), stale(s.rows*s.in), stale(s.in*s.out), stale(s.out)
				d.Forward(x, w, bias, y)
				d.Backward(x, w, y, dy, dx, dw, db)
				results[i] = [][]float32{y, dx, dw, db}
			}
			for i, name := range []string{"y", "dx", "dw", "db"} {
				if !slices.Equal(results[0][i], results[1][i]) {
					t.Errorf("%+v: %s is not that of weights laid out at once", s, name)
				}
			}
		}
	})
}
