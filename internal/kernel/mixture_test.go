package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
	"github.com/unravel-ml/unravel/internal/must"
)

// The functions of mixtures agree with their definitions in float64.
func TestMixtures(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 4))
		for _, size := range pairSizes {
			rows, columns := size[0], size[1]
			x, x64 := randomPoints(r, rows, columns)
			mean, mean64 := randomPoints(r, rows, columns)
			precision, precision64 := randomPoints(r, rows, columns)
			a, b := &Gaussians[float32]{mean, precision, NewConstants[float32](rows)},
				&Gaussians[float64]{mean64, precision64, NewConstants[float64](rows)}
			for i := range rows {
				a.Constant[i] = float32(i) / 7
				b.Constant[i] = float64(a.Constant[i])
			}
			for c := range columns {
				for i, v := range precision.Column(c) {
					precision.Column(c)[i], precision64.Column(c)[i] = v*v, float64(v*v)
				}
			}
			dx, dx64 := NewPoints[float32](rows+3, columns), NewPoints[float64](rows+3, columns)
			first, second, first64, second64 := make([]float32, rows), make([]float32, rows), make([]float64, rows), make([]float64, rows)
			sums, sums64 := make([]float32, rows), make([]float64, rows)
			dx.Zero(rows)
			dx64.Zero(rows)
			tilesOf(rows, func(lane, source, n, lanes int) {
				name := fmt.Sprintf("%v: lane %d, source %d", size, lane, source)
				tile, tile64 := kerneltest.Stale(PairLanes*PairSources), make([]float64, PairLanes*PairSources)
				a.LogDensities(tile, x, lane, source, n)
				b.LogDensities(tile64, x64, lane, source, n)
				compareTiles(t, name+": densities", tile, tile64, n, PairLanes)
				if lane == 0 && source == 0 {
					k, want := n-1, b.Constant[n-1]
					for c := range columns {
						d := x64.Column(c)[0] - mean64.Column(c)[k]
						want -= precision64.Column(c)[k] * d * d
					}
					kerneltest.Near(t, "a density by definition", []float32{float32(tile64[k*PairLanes])}, []float64{want}, 1)
				}
				shift, shift64 := make([]float32, PairLanes), make([]float64, PairLanes)
				factor, factor64 := make([]float32, PairLanes), make([]float64, PairLanes)
				MaxLanes(shift, tile, n)
				for i := range shift {
					shift64[i] = float64(shift[i])
					if i < lanes {
						factor[i] = float32(i%5) - 1
						factor64[i] = float64(factor[i])
					}
				}
				l, l64 := make([]float32, PairLanes), make([]float64, PairLanes)
				SumExp(l, tile, shift, n)
				SumExp(l64, tile64, shift64, n)
				kerneltest.Near(t, name+": sums of e^x", l, l64, 100)
				ScaledExp(tile, shift, factor, n)
				ScaledExp(tile64, shift64, factor64, n)
				compareTiles(t, name+": scaled e^x", tile, tile64, n, PairLanes)
				SumRows(sums[source:], tile, n)
				SumRows(sums64[source:], tile64, n)
				for c := range columns {
					a.AddMoments(dx, x, first, second, tile, c, lane, source, n)
					b.AddMoments(dx64, x64, first64, second64, tile64, c, lane, source, n)
				}
			})
			kerneltest.Near(t, fmt.Sprint(size, ": sums of rows"), sums, sums64, 10*rows)
			kerneltest.Near(t, fmt.Sprint(size, ": first moments"), first, first64, 100*rows)
			kerneltest.Near(t, fmt.Sprint(size, ": second moments"), second, second64, 1000*rows)
			for c := range columns {
				kerneltest.Near(t, fmt.Sprint(size, ": gradient"), dx.Column(c), dx64.Column(c), 1000*rows)
			}
		}
	})
}

// The functions of kernel matrices agree with their definitions in float64.
func TestKernels(t *testing.T) {
	kerneltest.Levels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 5))
		for _, n := range []int{1, 3, PairSources} {
			draw := func(n int) ([]float32, []float64) {
				a, b := make([]float32, n), make([]float64, n)
				for i := range a {
					a[i] = r.Float32()
					b[i] = float64(a[i])
				}
				return a, b
			}
			const size = PairLanes * PairSources
			x, x64 := draw(size)
			y, y64 := draw(size)
			lanes, lanes64 := draw(PairLanes)
			sources, sources64 := draw(PairSources)
			out, out64 := make([]float32, size), make([]float64, size)
			CentredProduct(out, x, y, 0.75, lanes, sources, n)
			CentredProduct(out64, x64, y64, 0.75, lanes64, sources64, n)
			kerneltest.Near(t, "centred", out, out64, 4)
			must.Equal(t, out64[1], x64[1]*(0.75*y64[1]-lanes64[1]-sources64[0]), "centred product")
			SumLanes(lanes, x, n)
			SumLanes(lanes64, x64, n)
			kerneltest.Near(t, "sums", lanes, lanes64, n)
			SumProducts(lanes, x, y, n)
			SumProducts(lanes64, x64, y64, n)
			kerneltest.Near(t, "sums of products", lanes, lanes64, n)
			GaussianKernel(x, 3, n)
			GaussianKernel(x64, 3, n)
			kerneltest.Near(t, "gaussian", x, x64, 4)
		}
	})
}
