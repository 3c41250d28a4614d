package metrics_test

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

// The metric finds the column of least variance at any position among many.
func TestFactorVAEManyColumns(t *testing.T) {
	stream := rng.New(1, "noise")
	in := gridInput(ordinals(4, 5, 6), 40, func(l []int, z []float64) {
		for c := range z {
			z[c] = stream.NormFloat64()
		}
		z[3], z[20], z[39] = float64(l[0]), float64(l[1]), float64(l[2])
	})
	in.Stream = rng.New(2, "votes")
	r := compute(t, named("factor-vae"), in)
	must.Equal(t, r.Value, 1, "score", "of columns that tell each factor")
	for c, row := range r.Grids[0].Values {
		for j, votes := range row {
			if own := c == []int{3, 20, 39}[j]; own != (votes > 0) {
				t.Errorf("column %d has %v votes for factor %d", c, votes, j)
			}
		}
	}
}

// Two factors rotated by 45 degrees give two columns of equal variance for either fixed factor. Their order decides,
// not rounding, also in float32.
func TestFactorVAETies(t *testing.T) {
	factors := ordinals(5, 5, 4)
	var first [][]float64
	for name, column := range map[string]func(u float64) float64{
		"rotated": func(u float64) float64 { return u },
		"single":  func(u float64) float64 { return float64(float32(u)) },
		"scaled":  func(u float64) float64 { return u / 3 },
		"moved":   func(u float64) float64 { return u + 17.3 },
	} {
		for _, gap := range []int{1, 20} { // in one or two blocks of columns
			in := gridInput(factors, gap+2, func(l []int, z []float64) {
				a, b := float64(l[0])/7, float64(l[1])/7
				z[0], z[gap], z[gap+1] = column((a+b)*math.Sqrt2/2), column((a-b)*math.Sqrt2/2), float64(l[2])
			})
			in.Stream = rng.New(3, "votes")
			r := compute(t, &FactorVAE{Batch: 64, Train: 2000, Test: 1000, Prune: 0.05}, in)
			votes := r.Grids[0].Values
			if first == nil {
				first = [][]float64{votes[0], votes[gap+1]}
			}
			if !(slices.Max(votes[gap]) <= 0) || !slices.Equal(votes[0], first[0]) || !slices.Equal(votes[gap+1], first[1]) {
				t.Errorf("%s, %d columns: votes %v, want those of the first column %v and none of column %d", name, gap+2, votes, first, gap)
			}
			near(t, name, r.Value, 2./3, 0.05) // one of the first two factors, and the third factor
		}
	}
}
