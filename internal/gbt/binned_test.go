package gbt

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// wavy returns a regression problem in which two of four columns matter. If values is positive, it is the number of
// distinct values per column.
func wavy(rows, values int) (data, targets []float64) {
	stream := rng.New(5, "wavy")
	data, targets = make([]float64, 4*rows), make([]float64, rows)
	for i := range data {
		data[i] = stream.NormFloat64()
		if values > 0 {
			data[i] = float64(stream.IntN(values))
		}
	}
	for i := range targets {
		targets[i] = math.Sin(data[4*i]) + 0.3*data[4*i+2] + 0.1*stream.NormFloat64()
	}
	return data, targets
}

func binned(t testing.TB, rows, cols int, data []float64, bins int) *Columns {
	t.Helper()
	return must.Get(NewBinned(rows, cols, data, bins))(t)
}

// With one bin per value, the trees equal the trees of exact splits.
func TestBinsOfValues(t *testing.T) {
	const rows = 2000
	data, targets := wavy(rows, 12)
	exact, bins := columns(t, rows, 4, data), binned(t, rows, 4, data, 12)
	want, got := regress(t, exact, targets, Defaults()), regress(t, bins, targets, Defaults())
	for j, v := range got.Importance() {
		near(t, "importance", v, want.Importance()[j], 1e-9)
	}
	predicted := must.Get(got.Predict(ctx, exact))(t)
	for i, v := range want.Fitted() {
		near(t, "estimate", got.Fitted()[i], v, 1e-9)
		near(t, "predicted estimate", predicted[i], v, 1e-9)
	}
}

// With fewer bins than values, the fit is about as good, and predictions equal the fitted values.
func TestBinsOfQuantiles(t *testing.T) {
	const rows = 3000
	data, targets := wavy(rows, 0)
	errors := func(r *Regressor) (sum float64) {
		for i, v := range r.Fitted() {
			sum += (v - targets[i]) * (v - targets[i]) / rows
		}
		return sum
	}
	exact := regress(t, columns(t, rows, 4, data), targets, Defaults())
	x := binned(t, rows, 4, data, 64)
	r := regress(t, x, targets, Defaults())
	if e, w := errors(r), errors(exact); !(e <= 1.5*w && e >= 0.7*w) {
		t.Errorf("mean squared error %v, with exact splits %v", e, w)
	}
	predicted, err := r.Predict(ctx, x)
	if err != nil || !slices.Equal(predicted, r.Fitted()) {
		t.Errorf("training rows are predicted otherwise than fitted; %v", err)
	}
	for j := range x.bins {
		var counts [256]int
		for _, b := range x.bins[j] {
			counts[b]++
		}
		if len(x.edges[j]) != 63 || slices.Max(counts[:64]) > rows/64+2 || slices.Min(counts[:64]) < rows/64-2 {
			t.Errorf("column %d: %d edges, counts %v", j, len(x.edges[j]), counts[:64])
		}
	}
}

func TestBinsDegenerate(t *testing.T) {
	for _, bins := range []int{1, 257} {
		must.ErrorOf(NewBinned(1, 1, []float64{1}, bins))(t, "want 2 to 256", bins)
	}
	if _, err := NewBinned(1, 1, []float64{math.NaN()}, 9); err == nil {
		t.Error("NaN: no error")
	}
	r := regress(t, binned(t, 3, 2, make([]float64, 6), 256), []float64{1, 2, 3}, Defaults())
	must.EqualSlices(t, r.Fitted(), []float64{2, 2, 2}, "constant columns")
	skewed := append(make([]float64, 90), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	if x := binned(t, 100, 1, skewed, 4); len(x.edges[0]) != 3 || x.edges[0][0] != 0.5 {
		t.Errorf("skewed column: edges %v", x.edges)
	}
}

// BenchmarkLarge fits 200,000 rows of four columns.
func BenchmarkLarge(b *testing.B) {
	const rows = 200000
	data, targets := wavy(rows, 0)
	o := Defaults()
	o.Rounds = 10
	for name, x := range map[string]*Columns{"exact": columns(b, rows, 4, data), "binned": binned(b, rows, 4, data, 256)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				regress(b, x, targets, o)
			}
		})
	}
}
