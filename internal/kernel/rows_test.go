package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/unravel-ml/unravel/internal/kernel/kerneltest"
)

// Both products agree with sums in float64. Some shapes fill blocks, panels and tiles, and others do not.
func TestLinear(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	kerneltest.Levels(t, func(t *testing.T) {
		for _, s := range []struct{ count, columns, outputs int }{{1, 1, 1}, {64, 15, 8}, {65, 16, 9}, {200, 40, 3}, {300, 10, 40}} {
			rows := NewRows(s.count, s.columns)
			x := make([]float64, s.columns)
			for i := range s.count {
				for c := range x {
					x[c] = r.NormFloat64()
				}
				rows.Set(i, x)
			}
			l := NewLinear(rows, s.outputs)
			w := make([]float32, l.Outputs*rows.Columns)
			for i := range s.outputs * rows.Columns {
				w[i] = float32(r.NormFloat64())
			}
			size := l.Outputs * PairLanes
			tiles := make([]float32, rows.Blocks()*size)
			want, got := make([]float64, 0, s.count*s.outputs), make([]float32, 0, s.count*s.outputs)
			slopes := make([]float64, l.Outputs*rows.Stride)
			for b := range rows.Blocks() {
				l.Forward(tiles[b*size:(b+1)*size], w, b)
			}
			for i := range s.count {
				for k := range s.outputs {
					var sum float64
					v := tiles[i/PairLanes*size+k*PairLanes+i%PairLanes]
					for c, x := range rows.Row(i) {
						sum += float64(x) * float64(w[k*rows.Columns+c])
						slopes[k*rows.Stride+c] += float64(x) * float64(v)
					}
					want, got = append(want, sum), append(got, v)
				}
			}
			kerneltest.Near(t, "outputs", got, want, s.columns)
			g := make([]float32, len(slopes))
			l.Gradient(g, tiles, 0, rows.Blocks())
			kerneltest.Near(t, "gradient", g, slopes, s.count*s.columns)
			l.Gradient(g, tiles, 0, 1)
			if n := rows.Blocks() - 1; n > 0 {
				rest := make([]float32, len(g))
				l.Gradient(rest, tiles[size:], 1, n)
				for i, v := range rest {
					g[i] += v
				}
			}
			kerneltest.Near(t, "gradient of parts", g, slopes, s.count*s.columns)
		}
	})
}
