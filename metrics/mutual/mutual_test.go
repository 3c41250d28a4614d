package mutual

import (
	"context"
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// A column that equals a factor of four levels tells ln 4 of it, and an independent column nothing. With tested pairs the
// independent pair has exactly 0 in a half of the rows, where counting alone finds information.
func TestInformation(t *testing.T) {
	ctx, n := context.Background(), 400
	factors, levels := []factor.Factor{{Name: "a", Size: 4}}, make([]int, n)
	codes, s := matrix.Matrix{Rows: n, Cols: 2, Data: make([]float64, 2*n)}, rng.New(1, "mutual")
	for i := range levels {
		levels[i] = i % 4
		codes.Data[2*i], codes.Data[2*i+1] = float64(levels[i]), s.Float64()
	}
	h := Histogram{Bins: 8, Binning: EqualWidth}
	x, err := New(ctx, codes, factors, levels, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Mutual[0][0]; math.Abs(got-math.Log(4)) > 1e-12 || math.Abs(x.Entropy[0]-math.Log(4)) > 1e-12 {
		t.Errorf("mutual information %v, entropy %v; want ln 4", got, x.Entropy[0])
	}
	shared, err := ShareWithFactors(ctx, codes, factors, levels, h, true, rng.New(1, "null"))
	if err != nil || shared.Independent != 1 || shared.Pairs != 2 {
		t.Fatalf("%+v, error %v; want one independent pair of two", shared, err)
	}
	half := matrix.Matrix{Rows: n / 2, Cols: 2, Data: codes.Data[:n]}
	counted, err := New(ctx, half, factors, levels[:n/2], h, nil)
	if err != nil {
		t.Fatal(err)
	}
	masked, err := New(ctx, half, factors, levels[:n/2], h, shared)
	if err != nil || masked.Mutual[1][0] != 0 || counted.Mutual[1][0] == 0 || masked.Mutual[0][0] != counted.Mutual[0][0] {
		t.Errorf("counted %v, with tested pairs %v, error %v", counted.Mutual, masked.Mutual, err)
	}
}
