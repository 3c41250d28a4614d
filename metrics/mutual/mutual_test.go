package mutual

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/bins"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// A column that equals a factor of four levels has information ln 4 about it, and an independent column has none. With
// tested pairs, the independent pair has exactly 0 in half of the rows, where counting finds information.
func TestInformation(t *testing.T) {
	ctx, n := context.Background(), 400
	factors, levels := []factor.Factor{{Name: "a", Size: 4}}, make([]int, n)
	codes, s := matrix.Matrix{Rows: n, Cols: 2, Data: make([]float64, 2*n)}, rng.New(1, "mutual")
	for i := range levels {
		levels[i] = i % 4
		codes.Data[2*i], codes.Data[2*i+1] = float64(levels[i]), s.Float64()
	}
	h := Histogram{Bins: 8, Binning: EqualWidth}
	x := must.Get(New(ctx, codes, factors, levels, h, nil))(t)
	if got := x.Mutual[0][0]; !(math.Abs(got-math.Log(4)) <= 1e-12) || !(math.Abs(x.Entropy[0]-math.Log(4)) <= 1e-12) {
		t.Errorf("mutual information %v, entropy %v; want ln 4", got, x.Entropy[0])
	}
	shared, err := ShareWithFactors(ctx, codes, factors, levels, h, true, rng.New(1, "null"))
	if err != nil || shared.Independent != 1 || shared.Pairs != 2 {
		t.Fatalf("%+v, error %v; want one independent pair of two", shared, err)
	}
	half := matrix.Matrix{Rows: n / 2, Cols: 2, Data: codes.Data[:n]}
	counted := must.Get(New(ctx, half, factors, levels[:n/2], h, nil))(t)
	masked, err := New(ctx, half, factors, levels[:n/2], h, shared)
	if err != nil || masked.Mutual[1][0] != 0 || counted.Mutual[1][0] == 0 || masked.Mutual[0][0] != counted.Mutual[0][0] {
		t.Errorf("counted %v, with tested pairs %v, error %v", counted.Mutual, masked.Mutual, err)
	}
}

// A number on an edge falls in the bin to its right, and the largest number in the last bin. Bins of equal counts keep
// ties together.
func TestBins(t *testing.T) {
	for _, c := range []struct {
		name   string
		column []float64
		h      Histogram
		want   []int32
		used   int
	}{
		{"edges", []float64{0, 1, 2, 3, 4, 0.999999, 3.999999}, Histogram{4, EqualWidth}, []int32{0, 1, 2, 3, 3, 0, 3}, 4},
		{"one bin", []float64{0, 1, 2}, Histogram{1, EqualWidth}, []int32{0, 0, 0}, 1},
		{"constant", []float64{5, 5, 5}, Histogram{4, EqualWidth}, []int32{2, 2, 2}, 4},
		{"constant, odd", []float64{5, 5, 5}, Histogram{3, EqualWidth}, []int32{1, 1, 1}, 3},
		{"range beyond float64", []float64{-math.MaxFloat64, -math.MaxFloat64 / 3, 0, math.MaxFloat64 / 3, math.MaxFloat64}, Histogram{4, EqualWidth}, []int32{0, 1, 2, 2, 3}, 4},
		{"counts", []float64{9, 1, 8, 2, 7, 3}, Histogram{3, EqualCount}, []int32{2, 0, 2, 0, 1, 1}, 3},
		{"counts of ties", []float64{1, 1, 1, 1, 1, 2}, Histogram{3, EqualCount}, []int32{0, 0, 0, 0, 0, 0}, 1},
		{"counts of large ties", []float64{1, 2, 2, 2, 2, 2}, Histogram{3, EqualCount}, []int32{0, 1, 1, 1, 1, 1}, 2},
		{"counts far apart", []float64{0, 1e9, 1, 2, 1e18, 3}, Histogram{6, EqualCount}, []int32{0, 4, 1, 2, 5, 3}, 6},
		{"more bins than rows", []float64{3, 1, 2}, Histogram{7, EqualCount}, []int32{2, 0, 1}, 3},
	} {
		ids := make([]int32, len(c.column))
		left := c.h.edges(c.column)
		if bins.Assign(ids, c.column, left); len(left) != c.used || !slices.Equal(ids, c.want) {
			t.Errorf("%s: %v of %d, want %v of %d", c.name, ids, len(left), c.want, c.used)
		}
	}
}

// Check accepts the limits of settings and rejects values beyond.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{Histogram{1, EqualWidth}.Check(), ""}, {Histogram{MaxBins, EqualCount}.Check(), ""}, {Library().Check(), ""}, {LibraryEntropy().Check(), ""},
		{Histogram{0, EqualWidth}.Check(), "bins: 0 is out of range; want 1 to 10000"}, {Histogram{10001, EqualWidth}.Check(), "bins: 10001 is out of range; want 1 to 10000"},
		{Histogram{9, "even"}.Check(), `binning: unknown binning "even"; want width or count`},
		{Entropy{Log: LogNatural}.Check(), ""}, {Entropy{Floor: 1e-3}.Check(), ""}, {Entropy{Log: "2"}.Check(), `log: unknown base "2"; want factors or natural`},
		{Entropy{Floor: 0.0011}.Check(), "floor: 0.0011 is out of range; want 0 to 0.001"}, {Entropy{Floor: -1e-9}.Check(), "floor: -1e-09 is out of range; want 0 to 0.001"},
		{Entropy{Floor: math.NaN()}.Check(), "floor: NaN is out of range; want 0 to 0.001"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && c.err.Error() != c.want {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

func TestEntropy(t *testing.T) {
	factors, natural := Entropy{Log: LogFactors}, Entropy{Log: LogNatural, Floor: 1e-3}
	quarter := -0.25*math.Log(0.25) - 0.75*math.Log(0.75)
	for _, c := range []struct {
		e    Entropy
		p    []float64
		want float64
	}{
		{factors, []float64{0, 2, 0}, 1}, {factors, []float64{2, 2, 2}, 0}, {factors, []float64{0, 0}, 0}, {factors, []float64{1, 3}, 1 - quarter/math.Log(2)},
		{factors, []float64{1, 0, 3}, 1 - quarter/math.Log(3)}, {LibraryEntropy(), []float64{0, 0}, 0}, {Entropy{Floor: 1e-3}, []float64{0.249, 0.749}, 1 - quarter/math.Log(2)},
		{natural, []float64{0, 2, 0}, 1}, {natural, []float64{1, 3}, 1 - quarter}, {natural, []float64{5, 5, 5}, 1 - math.Log(3)}, {natural, []float64{0, 0}, 0},
	} {
		if got := c.e.Of(c.p); !(math.Abs(got-c.want) <= 1e-10) {
			t.Errorf("%+v of %v is %v, want %v", c.e, c.p, got, c.want)
		}
	}
	mean, rows := factors.OfRows([][]float64{{0, 3}, {1, 1}, {0, 0}})
	if !slices.Equal(rows, []float64{1, 0, 0}) || mean != 0.6 {
		t.Errorf("rows %v, mean %v; want 1 of weight 3 and 0 of weight 2", rows, mean)
	}
	if mean, rows = factors.OfRows([][]float64{{0, 0}, {0, 0}}); mean != 0 || len(rows) != 2 {
		t.Errorf("zeros: %v, %v", rows, mean)
	}
	must.Equal(t, WeightedMean([]float64{1, 4}, []float64{0, 0}), 2.5, "the mean without weights is")
	if factors.Least() != 0 || !math.IsInf(natural.Least(), -1) {
		t.Errorf("bounds %v and %v", factors.Least(), natural.Least())
	}
}

// The shares of a factor sum to 1. The best columns of a factor are the most concentrated columns with most of its
// information.
func TestShares(t *testing.T) {
	shares, silent := Shares([][]float64{{1, 0, 0}, {3, 0, 2}})
	if !slices.Equal(shares[0], []float64{0.25, 0, 0}) || !slices.Equal(shares[1], []float64{0.75, 0, 1}) || !slices.Equal(silent, []int{1}) {
		t.Errorf("%v, silent %v", shares, silent)
	}
	if got := Transposed([][]float64{{1, 2, 3}, {4, 5, 6}}); len(got) != 3 || !slices.Equal(got[1], []float64{2, 5}) {
		t.Errorf("transposed: %v", got)
	}
	e := Entropy{Log: LogFactors}
	clear4 := [][]float64{{0.5, 0}, {0.4, 0.2}, {0, 0}, {0, 0.7}, {0.1, 0.2}}
	twins := [][]float64{{0.5, 0}, {0.5, 0}, {0, 1}}
	between := [][]float64{{0.5, 0.5}, {0.3, 0}, {0, 0.1}}
	for _, c := range []struct {
		name   string
		shares [][]float64
		k      int
		whole  bool
		want   []int
		tied   bool
	}{
		{"one each", clear4, 1, false, []int{0, 3}, false}, {"two each", clear4, 2, false, []int{0, 1, 3, 4}, false}, {"all", clear4, 9, true, []int{0, 1, 3, 4}, false},
		{"one of twins", twins, 1, false, []int{0, 2}, true}, {"both twins", twins, 1, true, []int{0, 1, 2}, false}, {"two of twins", twins, 2, false, []int{0, 1, 2}, false},
		{"between factors", between, 9, false, []int{0, 1, 2}, true}, {"best beside one between", between, 1, true, []int{1, 2}, false},
	} {
		if got, tied := Best(c.shares, e, c.k, c.whole); !slices.Equal(got, c.want) || tied != c.tied {
			t.Errorf("%s: columns %v, tied %v; want %v, %v", c.name, got, tied, c.want, c.tied)
		}
	}
}

// Information between columns is symmetric, with entropies on the diagonal. Rows with unknown levels do not count.
func TestBetween(t *testing.T) {
	const n, d = 64, columnsAtOnce + 2
	codes := matrix.Matrix{Rows: n, Cols: d, Data: make([]float64, n*d)}
	levels := make([]int, 2*n)
	for i := range n {
		for c := range d {
			codes.Data[i*d+c] = float64(i >> (c % 3) & 1) // three independent bits
		}
		levels[2*i], levels[2*i+1] = i&1, i&1
		if i%4 == 3 {
			levels[2*i+1] = -1
		}
	}
	h := Histogram{Bins: 2, Binning: EqualWidth}
	m := must.Get(Between(t.Context(), codes, h, nil))(t)
	x, err := New(t.Context(), codes, []factor.Factor{{Name: "a", Size: 2}, {Name: "b", Size: 3}}, levels, h, nil)
	must.OK(t, err)
	known := math.Log(3) - 2./3*math.Log(2) // probabilities 2/3 and 1/3
	if !(math.Abs(x.Entropy[0]-math.Log(2)) <= 1e-12) || !(math.Abs(x.Entropy[1]-known) <= 1e-12) {
		t.Errorf("entropies %v", x.Entropy)
	}
	for a := range d {
		for b := range d {
			want := 0.0
			if a%3 == b%3 {
				want = math.Log(2)
			}
			if !(math.Abs(m[a][b]-want) <= 1e-12) {
				t.Errorf("columns %d and %d: %v, want %v", a, b, m[a][b], want)
			}
		}
		want, partly := 0.0, 0.0
		if a%3 == 0 {
			want, partly = math.Log(2), known
		}
		if a%3 == 1 {
			partly = known - 2./3*math.Log(2) // the first bit is known to be 0 if the second bit is 1
		}
		if !(math.Abs(x.Mutual[a][0]-want) <= 1e-12) || !(math.Abs(x.Mutual[a][1]-partly) <= 1e-12) {
			t.Errorf("column %d: %v, want %v and %v", a, x.Mutual[a], want, partly)
		}
	}
}

// Two rows per cell are enough to share bins. Only equal histograms share bins.
func TestShare(t *testing.T) {
	h := Histogram{Bins: 3, Binning: EqualWidth}
	codes := func(rows int) matrix.Matrix {
		m := matrix.Matrix{Rows: rows, Cols: 2, Data: make([]float64, 2*rows)}
		for i := range m.Data {
			m.Data[i] = float64(i * i % 17)
		}
		return m
	}
	if _, err := Share(codes(17), h); err == nil || err.Error() != "17 rows are too few to count 9 cells; want at least 18, or fewer bins" {
		t.Error(err)
	}
	x, err := Share(codes(18), h)
	if err != nil || x.Masks() || len(x.edgesOf(h)) != 2 || x.edgesOf(Histogram{Bins: 3, Binning: EqualCount}) != nil ||
		(*Shared)(nil).edgesOf(h) != nil || (*Shared)(nil).Masks() {
		t.Errorf("%+v, %v", x, err)
	}
	all := codes(40)
	all.Data[78], all.Data[79] = 100, 100 // outside the part
	if x, err = Share(all, h); err != nil {
		t.Fatal(err)
	}
	part := matrix.Matrix{Rows: 30, Cols: 2, Data: all.Data[:60]}
	own, err := Between(t.Context(), part, h, nil)
	shared, err2 := Between(t.Context(), part, h, x)
	if err != nil || err2 != nil || own[0][1] == shared[0][1] || shared[0][0] != 0 { // all in the first shared bin
		t.Errorf("with own bins %v, with shared bins %v, %v, %v", own, shared, err, err2)
	}
	factors, levels := []factor.Factor{{Name: "a", Size: 2}, {Name: "b", Size: 3}}, make([]int, 2*40)
	s := rng.New(5, "share")
	for i := range levels {
		levels[i] = s.IntN(2)
	}
	if _, err := ShareWithFactors(t.Context(), codes(17), factors, levels[:34], h, false, nil); err == nil ||
		err.Error() != "17 rows are too few to count 9 cells; want at least 18, or fewer bins" {
		t.Error(err)
	}
	if x, err := ShareWithFactors(t.Context(), codes(18), factors, levels[:36], h, false, nil); err != nil || x.Masks() || x.Pairs != 0 {
		t.Errorf("%+v, %v", x, err)
	}
	constant := matrix.Matrix{Rows: 40, Cols: 2, Data: make([]float64, 80)}
	if _, err := ShareWithFactors(t.Context(), constant, factors, levels, h, true, s); err == nil ||
		err.Error() != "no column has more information about a factor than by chance" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ShareWithFactors(ctx, all, factors, levels, h, true, s); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	codes := matrix.Matrix{Rows: 3, Cols: 1, Data: []float64{1, 2, 3}}
	factors := []factor.Factor{{Name: "a", Size: 2}}
	for want, c := range map[string]struct {
		codes  matrix.Matrix
		levels []int
		h      Histogram
	}{
		"there are 2 levels; want 1 of each of 3 codes":      {codes, []int{0, 1}, Library()},
		`row 2 has level 2 of factor "a"; want less than 2`:  {codes, []int{0, 1, 2}, Library()},
		"bins: 0 is out of range":                            {codes, []int{0, 1, 1}, Histogram{}},
		"codes hold 2 numbers; want 3 x 1, at least one of ": {matrix.Matrix{Rows: 3, Cols: 1, Data: codes.Data[:2]}, []int{0, 1, 1}, Library()},
	} {
		if x, err := New(context.Background(), c.codes, factors, c.levels, c.h, nil); x != nil || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, error %v, want %q", x, err, want)
		}
	}
	for _, bins := range []int{-1, 0, MaxBins + 1} {
		h := Histogram{Bins: bins, Binning: EqualWidth}
		must.ErrorOf(Share(codes, h))(t, "is out of range; want 1 to 10000", bins)
		must.ErrorOf(ShareWithFactors(t.Context(), codes, factors, []int{0, 1, 1}, h, false, nil))(t, "is out of range; want 1 to 10000", bins)
	}
}
