package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// Sums, maps and gradients of channels agree with float64. Some channels fill whole vectors. Other elements in wider
// rows do not change.
func TestChannels(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 9))
		for _, s := range []struct{ rows, channels, stride int }{{1, 1, 1}, {5, 16, 16}, {7, 32, 40}, {64, 3, 4}, {33, 17, 20}, {300, 48, 48}} {
			n := s.rows * s.stride
			x, u := kerneltest.Random(r, n), kerneltest.Random(r, n)
			shift, a, b, offset := kerneltest.Random(r, s.channels), kerneltest.Random(r, s.channels),
				kerneltest.Random(r, s.channels), kerneltest.Random(r, s.channels)
			near := func(what string, at int, got float32, want float64) {
				t.Helper()
				if !(math.Abs(float64(got)-want) <= 3e-5*max(1, math.Abs(want))) {
					t.Fatalf("%s of %+v: element %d is %v, want %v", what, s, at, got, want)
				}
			}
			for _, first := range [][]float32{nil, u} {
				sum, product := kerneltest.Random(r, s.channels), kerneltest.Random(r, s.channels)
				wantSum, wantProduct := make([]float64, s.channels), make([]float64, s.channels)
				for c := range s.channels {
					wantSum[c], wantProduct[c] = float64(sum[c]), float64(product[c])
					for row := range s.rows {
						d := float64(x[row*s.stride+c]) - float64(shift[c])
						v := d
						if first != nil {
							v = float64(u[row*s.stride+c])
						}
						wantSum[c] += v
						wantProduct[c] += v * d
					}
				}
				ChannelSums(sum, product, first, x, shift, s.rows, s.stride)
				for c := range s.channels {
					near("sum", c, sum[c], wantSum[c])
					near("product", c, product[c], wantProduct[c])
				}
			}
			mapped, gradient := make([]float32, n), make([]float32, n)
			for i := range mapped {
				mapped[i], gradient[i] = 77, 77
			}
			ChannelMap(mapped, x, shift, a, offset, s.rows, s.stride, 0.25)
			ChannelGradient(gradient, u, x, shift, a, b, offset, s.rows, s.stride)
			for i := range n {
				c := i % s.stride
				if c >= s.channels {
					if mapped[i] != 77 || gradient[i] != 77 {
						t.Fatalf("%+v: element %d was written to", s, i)
					}
					continue
				}
				d := float64(x[i]) - float64(shift[c])
				near("map", i, mapped[i], max(float64(a[c])*d+float64(offset[c]), 0.25))
				near("gradient", i, gradient[i], float64(a[c])*float64(u[i])+float64(b[c])*d+float64(offset[c]))
			}
		}
	})
}

// NaN remains NaN, also with a floor of 0.
func TestChannelsOfNaN(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		nan := float32(math.NaN())
		x, one, zero := make([]float32, 17), make([]float32, 17), make([]float32, 17)
		for i := range x {
			x[i], one[i] = nan, 1
		}
		ChannelMap(x, x, zero, one, zero, 1, 17, 0)
		for i, v := range x {
			if v == v {
				t.Fatalf("element %d: not a number became %v", i, v)
			}
		}
	})
}
