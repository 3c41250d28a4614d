package matrix

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// three has three kinds of columns: constant, far from zero, and with both signs.
func three() Matrix {
	return Matrix{Rows: 4, Cols: 3, Data: []float64{
		7, 1e9 + 1, -3,
		7, 1e9 + 2, 1,
		7, 1e9 + 3, 5,
		7, 1e9 + 6, 1,
	}}
}

func TestParts(t *testing.T) {
	m := three()
	must.EqualSlices(t, m.Row(2), []float64{7, 1e9 + 3, 5}, "row 2")
	must.EqualSlices(t, m.Take([]int{3, 0, 3}), []float64{7, 1e9 + 6, 1, 7, 1e9 + 1, -3, 7, 1e9 + 6, 1}, "taken")
	must.EqualSlices(t, m.Column(2, []int{2, 0}), []float64{5, -3}, "column 2")
	if got := m.Columns([]int{2, 0}); got.Rows != 4 || got.Cols != 2 || !slices.Equal(got.Data, []float64{-3, 7, 1, 7, 5, 7, 1, 7}) {
		t.Errorf("columns 2 and 0: %v", got)
	}
	if got := m.Columns([]int{}); got.Rows != 4 || got.Cols != 0 || len(got.Data) != 0 {
		t.Errorf("no column: %v", got)
	}
	if got := m.Columns(nil); &got.Data[0] != &m.Data[0] || got.Cols != 3 {
		t.Errorf("all columns: %v", got)
	}
}

func TestFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		m := three()
		if err := m.Finite("row %d, column %d is %v"); err != nil {
			t.Error(err)
		}
		m.Data[7], m.Data[8] = v, v
		if err, want := m.Finite("row %d, column %d is %v"), fmt.Sprintf("row 2, column 1 is %v; want finite numbers",
			v); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// one is a matrix with the largest absolute number 2^(e-1), of exponent e, and a smaller number of the other sign.
func one(e int) Matrix {
	return Matrix{Rows: 1, Cols: 2, Data: []float64{math.Ldexp(0.25, e), -math.Ldexp(0.5, e)}}
}

// Matrices inside the ranges of exponents stay unchanged. Others are scaled to largest numbers from 1/2 to 1.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		exponent       int
		squares, trees int // exponents of the scale factors
		want           string
	}{
		{0, 0, 0, ""}, {200, 0, 0, ""}, {201, 201, 0, ""}, {-200, 0, -200, ""}, {-201, -201, -201, ""}, {-60, 0, 0, ""}, {-61, 0, -61, ""},
		{500, 500, 0, ""}, {501, 501, 0, "the codes are too large: the square of the largest, about 3e+150, does not fit a float64; want codes nearer to 1"},
		{-450, -450, -450, ""}, {-451, -451, -451, "the codes are too small: the square of the largest, about 9e-137, does not fit a float64; want codes nearer to 1"},
	} {
		m := one(c.exponent)
		must.Equal(t, m.Exponent(), c.exponent, "exponent")
		for name, sized := range map[string]struct {
			by   func() (Matrix, int)
			want int
		}{"squares": {m.ForSquares, c.squares}, "trees": {m.ForTrees, c.trees}} {
			got, e := sized.by()
			if e != sized.want || got.Rows != 1 || got.Cols != 2 || !slices.Equal(got.Data, one(c.exponent-e).Data) {
				t.Errorf("exponent %d for %s: %v, %d; want %d", c.exponent, name, got, e, sized.want)
			}
		}
		if err := m.WantSquares(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("exponent %d: %v; want %q", c.exponent, err, c.want)
		}
	}
	zeros := Matrix{Rows: 2, Cols: 1, Data: make([]float64, 2)}
	if err := zeros.WantSquares(); err != nil || zeros.Exponent() != 0 {
		t.Errorf("zeros: %v, exponent %d", err, zeros.Exponent())
	}
}

// Deviations are correct far from zero, and for squares that overflow or vanish.
func TestScales(t *testing.T) {
	m, column := three(), make([]float64, 4)
	near := func(got, want float64) bool { return math.Abs(got-want) <= 1e-12*math.Abs(want) }
	for c, want := range []float64{0, math.Sqrt(3.5), math.Sqrt(8)} {
		scale := m.UnitColumn(c, column)
		if !near(scale, want) {
			t.Errorf("column %d: deviation %v, want %v", c, scale, want)
		}
		for i, v := range column {
			wanted := 0.0
			if want > 0 {
				wanted = (m.Row(i)[c] - Mean(m.Column(c, []int{0, 1, 2, 3}))) / want
			}
			if !(math.Abs(v-wanted) <= 1e-12) {
				t.Errorf("column %d, row %d: %v, want %v", c, i, v, wanted)
			}
		}
	}
	if got, want := m.Scale(), math.Sqrt((0+3.5+8)/3); !near(got, want) {
		t.Errorf("scale %v, want %v", got, want)
	}
	for _, by := range []float64{1e200, 1e-200} {
		large := Matrix{Rows: 4, Cols: 2, Data: []float64{-3 * by, 0, by, by, 5 * by, 0, by, by}}
		if got, want := large.Scale(), by*math.Sqrt((8+0.25)/2); !near(got, want) {
			t.Errorf("scale %v, want %v", got, want)
		}
		if got := large.UnitColumn(0, column); !near(got, by*math.Sqrt(8)) {
			t.Errorf("deviation %v", got)
		}
	}
	constant := Matrix{Rows: 4, Cols: 1, Data: []float64{7, 7, 7, 7}}
	must.Equal(t, constant.Scale(), 0, "constant: scale")
	if got := Mean([]float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64 / 2}); !near(got, math.MaxFloat64/6*5) {
		t.Errorf("mean of large numbers: %v", got)
	}
	must.Equal(t, Mean([]float64{2, 4, 9}), 5, "mean")
}
