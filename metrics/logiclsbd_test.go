package metrics

import (
	"context"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// TestDLSBDIsASentence checks that D_k of whitened codes, in known columns, is half the minimum over omega of
// `forall[mean] i, j, g(i, j): z.x(j) =[squared] act[omega](g, z.x(i))`.
func TestDLSBDIsASentence(t *testing.T) {
	r := rng.New(4, "codes")
	factors := []factor.Factor{{Name: "x", Size: 12, Kind: factor.Circular}}
	const n = 12
	codes, levels := make([]float64, 2*n), make([]int, n)
	for i := range n {
		levels[i] = i
		sin, cos := math.Sincos(2 * factors[0].Angle(i))
		codes[2*i], codes[2*i+1] = cos+0.4*r.NormFloat64(), sin+0.4*r.NormFloat64()
	}
	whiten(codes)
	in := &Input{Codes: matrix.Matrix{Data: codes, Rows: n, Cols: 2}, Levels: levels, Factors: factors}
	want := must.Get((&DLSBD{Omega: 4, Codes: factor.SubCodes{"x": {0, 1}}}).Compute(context.Background(), in))(t)
	least := math.Inf(1)
	for _, text := range []string{"act[-4](", "act[-3](", "act[-2](", "act[-1](", "", "act(", "act[2](", "act[3](", "act[4]("} {
		term := text + "g, z.x(i))"
		if text == "" {
			term = "z.x(i)"
		}
		s := must.Get(logic.Parse("forall[mean] i, j, g(i, j): z.x(j) =[squared] " + term))(t)
		l := NewLogic()
		l.Sentence, l.Codes = &s, factor.SubCodes{"x": {0, 1}}
		got := must.Get(l.Compute(context.Background(), in))(t)
		least = min(least, got.Value)
	}
	if !(math.Abs(least-2*want.Value) <= 1e-12) || !(least >= 0.01) {
		t.Errorf("the least quantity is %v, want twice D_LSBD, %v", least, 2*want.Value)
	}
}

// whiten gives points of the plane mean 0 and covariance 1/2 (n-1 degrees of freedom), as in D_LSBD.
func whiten(p []float64) {
	n := float64(len(p) / 2)
	for k := range 2 {
		mean := 0.0
		for i := k; i < len(p); i += 2 {
			mean += p[i] / n
		}
		for i := k; i < len(p); i += 2 {
			p[i] -= mean
		}
	}
	moment := func(a, b int) (sum float64) {
		for i := 0; i < len(p); i += 2 {
			sum += p[i+a] * p[i+b] / (n - 1)
		}
		return sum
	}
	along := moment(0, 1) / moment(0, 0)
	for i := 0; i < len(p); i += 2 {
		p[i+1] -= along * p[i]
	}
	for k := range 2 {
		scale := math.Sqrt(2 * moment(k, k))
		for i := k; i < len(p); i += 2 {
			p[i] /= scale
		}
	}
}
