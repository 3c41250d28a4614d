package bins

import (
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Levels equal numpy.digitize(values, numpy.histogram(values, n)[1][:-1]) - 1, without empty bins.
func TestLevels(t *testing.T) {
	nan, most := math.NaN(), 0x1p1023
	tenths := make([]float64, 31) // steps of 0.1, whose sums round differently
	for i := range tenths {
		tenths[i] = float64(i) / 10
	}
	for _, c := range []struct {
		name    string
		values  []float64
		n       int
		levels  []int
		centres []float64
	}{
		{"edges", []float64{0, 1, 2, 4, 0.999}, 4, []int{0, 1, 2, 3, 0}, []float64{0.5, 1.5, 2.5, 3.5}},
		{"empty bins", []float64{9, 0, 1}, 9, []int{2, 0, 1}, []float64{0.5, 1.5, 8.5}},
		{"unknown", []float64{nan, 2, nan, 0}, 2, []int{-1, 1, -1, 0}, []float64{0.5, 1.5}},
		{"constant", []float64{5, nan, 5}, 4, []int{0, -1, 0}, []float64{5}},
		{"wide", []float64{-most, 0, most}, 2, []int{0, 1, 1}, []float64{-most / 2, most / 2}},
		{"nothing known", []float64{nan}, 3, []int{-1}, nil},
	} {
		levels, centres := Levels(c.values, c.n)
		if !slices.Equal(levels, c.levels) || !slices.Equal(centres, c.centres) {
			t.Errorf("%s: %v %v, want %v %v", c.name, levels, centres, c.levels, c.centres)
		}
	}
	ids := make([]int32, len(tenths))
	Assign(ids, tenths, EqualWidth(0, 3, 30))
	want := []int32{0, 1, 2, 2, 4, 5, 5, 6, 8, 9, 10, 11, 11, 13, 13, 15, 16, 16, 18, 18, 20, 21, 22, 22, 23, 25, 26, 27, 27, 28, 29}
	must.EqualSlices(t, ids, want, "0, 0.1, ... 3 are in bins")
}

func TestDistant(t *testing.T) {
	nan, inf := math.NaN(), math.MaxFloat64
	near := slices.Repeat([]float64{1, 2}, 50)
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{append([]float64{1000, nan}, near...), "is 1 to 2 in 100 rows, and 1 to 1000 in all"},
		{append([]float64{-inf, inf}, near...), "is 1 to 2 in 100 rows, and -1.798e+308 to 1.798e+308 in all"},
		{append([]float64{3}, near...), ""},
		{append([]float64{1000, 900, 800}, near...), ""}, // 97 %
		{append([]float64{5}, slices.Repeat([]float64{2}, 99)...), ""},
		{[]float64{7, 7}, ""},
		{[]float64{nan}, ""},
		{nil, ""},
	} {
		must.Equal(t, Distant(c.values), c.want, c.values)
	}
}
