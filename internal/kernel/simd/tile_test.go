package simd_test

import (
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The micro-kernels compute their sums by definition. The sums of small integers are exact.
func TestTile(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		whole := func(n int) []float32 {
			list := make([]float32, n)
			for i := range list {
				list[i] = float32(r.IntN(9) - 4)
			}
			return list
		}
		for _, width := range []int{16, 32} {
			for flags := range 8 { // without the leaky activation
				x := simd.Tile{A: whole(2000), B: whole(4000), C: whole(1000), Bias: whole(width), Rows: make([]int, 8), CRows: make([]int, 8), Flags: flags, Width: width,
					Steps: 3, AStep: 2, Segs: 2, ASeg: 11, Blocks: 4, ABlk: 40, BStep: 33, BSeg: 120, BBlk: 250}
				for k := range x.Rows {
					x.Rows[k], x.CRows[k] = 100*k+r.IntN(50), 100*k
				}
				want := append([]float32{}, x.C...)
				for row := range 8 {
					for n := range width {
						var sum float32
						for k := range x.Blocks {
							for s := range x.Segs {
								for i := range x.Steps {
									sum += x.A[x.Rows[row]+k*x.ABlk+s*x.ASeg+i*x.AStep] * x.B[k*x.BBlk+s*x.BSeg+i*x.BStep+n]
								}
							}
						}
						c := &want[x.CRows[row]+n]
						if flags&simd.Accumulate != 0 {
							sum += *c
						}
						if flags&simd.AddBias != 0 {
							sum += x.Bias[n]
						}
						if flags&simd.ApplyReLU != 0 {
							sum = max(sum, 0)
						}
						*c = sum
					}
				}
				x.Compute()
				for i, v := range x.C {
					if v != want[i] {
						t.Fatalf("width %d, flags %d: element %d is %v, want %v", width, flags, i, v, want[i])
					}
				}
			}
		}
	})
}
