package report

import (
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// A column equal to a factor has all information about it, and a column with half of the levels has less. Noise and
// constants have none.
func TestFollowedBy(t *testing.T) {
	const n = 4000
	r := rng.New(1, "test")
	in := &metrics.Input{Codes: matrix.Matrix{Rows: n, Cols: 4},
		Factors: []factor.Factor{{Name: "a", Size: 4}, {Name: "b", Size: 8}, {Name: "still", Size: 1}}}
	for range n {
		a, b := r.IntN(4), r.IntN(8)
		in.Levels = append(in.Levels, a, b, 0)
		in.Codes.Data = append(in.Codes.Data, float64(b), float64(a/2), r.Float64(), 3)
	}
	got := FollowedBy(in)
	if f := got[0]; f.Factor != "b" || !(f.Share >= 0.97) {
		t.Errorf("the factor b itself follows %+v", f)
	}
	if f := got[1]; f.Factor != "a" || !(f.Share >= 0.45 && f.Share <= 0.55) {
		t.Errorf("half of the levels of a follow %+v, want half of a", f)
	}
	must.Equal(t, len(got), 2, "columns follow a factor", got)
	if got := FollowedBy(&metrics.Input{Codes: in.Codes}); len(got) != 0 {
		t.Errorf("without factors %v", got)
	}
}
