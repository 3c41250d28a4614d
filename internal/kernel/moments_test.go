package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

func TestRowMoments(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 4))
		x := make([]float64, 20*MomentColumns)
		for i := range x {
			x[i] = 1e6 + r.NormFloat64()
			if i%MomentColumns == 3 {
				x[i] = 0.1
			}
		}
		for _, rows := range [][]int32{{7}, {0, 19}, {3, 3, 3}, {19, 0, 5, 5, 11, 2, 7}} {
			sum, square := [MomentColumns]float64{9, 9}, [MomentColumns]float64{9, 9} // stale
			RowMoments(&sum, &square, x, rows)
			for c := range MomentColumns {
				var s, q float64
				for _, row := range rows {
					d := x[int(row)*MomentColumns+c] - x[int(rows[0])*MomentColumns+c]
					s, q = s+d, q+d*d
				}
				if !(math.Abs(sum[c]-s) <= 1e-14*math.Abs(s)) || !(math.Abs(square[c]-q) <= 1e-14*q) {
					t.Errorf("rows %v, column %d: %v, %v; want %v, %v", rows, c, sum[c], square[c], s, q)
				}
				if c == 3 && (sum[c] != 0 || square[c] != 0) {
					t.Errorf("rows %v: equal numbers have the moments %v, %v", rows, sum[c], square[c])
				}
			}
		}
	})
}
