package mimosa

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/drawn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// curved returns codes of chopsticks like an encoder's, with the path of every row. The codes are whitened, rotated and
// slightly bent, with one more column.
func curved(t testing.TB, c drawn.Chopsticks, n int) (codes []float64, d int, path []int) {
	t.Helper()
	c.Samples, c.Overwrite = n, "none"
	set := must.Get(c.Build(1))(t)
	row, images, all := make([]float32, 64), make([]int, n), make([]float64, 64*n)
	for i := range n {
		images[i] = i
		set.Image(i, row)
		for at, v := range row {
			all[64*i+at] = float64(v)
		}
	}
	path, _ = datasets.PathsOf(set.(datasets.Hierarchical), images)
	p := Principal(all[:64*1000], 64)
	rank := 0
	for p.Ratios[rank] > 1e-9 {
		rank++
	}
	s := rng.New(3, "curved")
	turn := make([]float64, rank*rank)
	for i := range turn {
		turn[i] = s.NormFloat64()
	}
	turn = Principal(turn, rank).Axes
	d = rank + 1
	codes = make([]float64, n*d)
	white, code := make([]float64, rank), make([]float64, d)
	for i := range n {
		for a := range white {
			white[a] = 3 * dot(p.Axes[64*a:64*a+64], all[64*i:64*i+64]) / math.Sqrt(p.Ratios[a])
		}
		last := 0.0
		for a := range rank {
			v := dot(turn[a*rank:(a+1)*rank], white)
			code[a] = v + 0.1*math.Sin(v/2)
			last += 0.02 * v * v
		}
		code[rank] = last
		copy(codes[i*d:], code)
	}
	return codes, d, path
}

// BenchmarkRun learns hierarchies at the paper's size: 90,000 codes.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct {
		variant string
		depth   int
	}{{"slope", 2}, {"inter", 2}, {"either", 2}, {"both", 2}, {"slope", 3}, {"inter", 3}, {"either", 3}, {"both", 3}} {
		b.Run(fmt.Sprintf("%s%d", c.variant, c.depth), func(b *testing.B) {
			codes, d, path := curved(b, drawn.Chopsticks{Variant: c.variant, Depth: c.depth}, 90000)
			for b.Loop() {
				last, at := "", time.Now()
				r := must.Get(Run(context.Background(), codes, d, Defaults(), func(stage string, done, total int) {
					if stage != last {
						if last != "" {
							b.Logf("%s: %v", last, time.Since(at))
						}
						last, at = stage, time.Now()
					}
				}))(b)
				b.Logf("%d parts, %d to merge, %d components, coverage %.3f, purity %.3f\n%v",
					r.Initial, r.Merging, len(r.Components), r.Coverage, purity(r, path), r.Hierarchy)
			}
		})
	}
}
