package metrics_test

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// The first level has two far points, the second has points near a centre and one outlier. The first has the larger
// variance, the second the larger radius (Zhang and Sugiyama 2024, figure 8). An absent level has no deviation.
func TestLevelsOfSubCodes(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 12, Cols: 1}, Factors: []factor.Factor{{Name: "x", Size: 3, Kind: factor.Ordinal}}}
	for _, z := range []float64{-1, 1, -1, 1} {
		in.Codes.Data, in.Levels = append(in.Codes.Data, z), append(in.Levels, 0)
	}
	for _, z := range []float64{0, 0, 0, 0, 0, 0, 0, 2.4} {
		in.Codes.Data, in.Levels = append(in.Codes.Data, z), append(in.Levels, 2)
	}
	for d, want := range map[factor.Deviation][]float64{factor.Radius: {1, 1.2}, factor.Variance: {1, 2.4 * 2.4 * 7 / 64}} {
		m := NewSubCodeDeviation(d)
		parts := must.Get(m.Levels(ctx, in))(t)
		if got := parts[0].Values; len(parts) != 1 || parts[0].Name != "x" || len(got) != 2 ||
			!(math.Abs(got[0]-want[0]) <= 1e-12) || !(math.Abs(got[1]-want[1]) <= 1e-12) {
			t.Errorf("%v: %+v, want %v", d, parts, want)
		}
		near(t, d.String(), compute(t, m, in).Value, m.Aggregate.Of(slices.Clone(want)), 1e-12)
	}
}
