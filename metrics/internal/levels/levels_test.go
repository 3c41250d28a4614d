package levels

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
)

// Tables with inconsistent levels, groups or values give an error, one reason each.
func TestValidate(t *testing.T) {
	turn := [9]float64{0, -1, 0, 1, 0, 0, 0, 0, 1}
	same := [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	mirror := [9]float64{1, 0, 0, 0, 1, 0, 0, 0, -1}
	nan := math.NaN()
	ordinal := factor.Factor{Name: "a", Size: 2, Kind: factor.Ordinal}
	angled := func(kind factor.Kind, angles ...float64) factor.Factor {
		return factor.Factor{Name: "a", Size: 2, Kind: kind, Angles: angles}
	}
	turned := func(kind factor.Kind, rotations ...[9]float64) factor.Factor {
		return factor.Factor{Name: "a", Size: 2, Kind: kind, Rotations: rotations}
	}
	for _, c := range []struct {
		name   string
		f      factor.Factor
		levels []int
		exact  [][]float64
		want   string // empty: no error
	}{
		{"levels", ordinal, []int{0, 1, -1}, nil, ""},
		{"one level", factor.Factor{Name: "a", Size: 1, Kind: factor.Ordinal}, []int{0}, nil, ""},
		{"no level", factor.Factor{Name: "a", Kind: factor.Ordinal}, []int{0}, nil, "size 0 is out of range; want 1 to"},
		{"too many levels", factor.Factor{Name: "a", Size: factor.MaxSize + 1}, []int{0}, nil, "is out of range; want 1 to"},
		{"few values of levels", factor.Factor{Name: "a", Size: 2, Values: []float64{1}}, []int{0}, nil, "1 values; want none, or one for each of the 2 levels"},
		{"a level above", ordinal, []int{0, 2}, nil, `row 1 has level 2 of factor "a"; want 0 to 1, or -1`},
		{"a level below", ordinal, []int{-2, 0}, nil, "row 0 has level -2"},
		{"angles", angled(factor.Circular, 0, 1), []int{0}, nil, ""},
		{"few angles", angled(factor.Circular, 0), []int{0}, nil, "1 angles; want none, or one for each of the 2 levels"},
		{"angles of an order", angled(factor.Ordinal, 0, 1), []int{0}, nil, "it is ordinal and has angles; want a factor that is circular"},
		{"rotations", turned(factor.Categorical, same, turn), []int{0}, nil, ""},
		{"few rotations", turned(factor.Categorical, turn), []int{0}, nil, "1 rotations; want none, or one for each of the 2 levels"},
		{"rotations of an order", turned(factor.Ordinal, same, turn), []int{0}, nil, "it is ordinal and has rotations; want a factor that is categorical"},
		{"a mirror", turned(factor.Categorical, same, mirror), []int{0}, nil, "level 1: [1 0 0 0 1 0 0 0 -1] is no rotation"},
		{"values", ordinal, []int{0, 1, -1}, [][]float64{{0.5, -7, nan}}, ""},
		{"no values", ordinal, []int{0, 1, -1}, [][]float64{nil}, ""},
		{"values of other factors", ordinal, []int{0}, [][]float64{{1}, {1}}, "exact values of 2 factors; want one list, or nil, for each of the 1"},
		{"values of a circle", angled(factor.Circular), []int{0}, [][]float64{{1}}, "but has exact values; want an ordinal factor"},
		{"few values", ordinal, []int{0, 1}, [][]float64{{1}}, "has 1 exact values; want one for each of the 2 codes"},
		{"a value without a level", ordinal, []int{0, -1}, [][]float64{{1, 2}}, "row 1 has the value 2"},
		{"a level without a value", ordinal, []int{0, 1}, [][]float64{{1, nan}}, "row 1 has the value NaN of factor \"a\"; want finite numbers"},
		{"an infinite value", ordinal, []int{0, 1}, [][]float64{{math.Inf(1), 2}}, "row 0 has the value +Inf"},
	} {
		must.Error(t, Table{[]factor.Factor{c.f}, c.levels}.Validate(c.exact), c.want, c.name)
	}
}

// Evenly spaced angles on the borders of arcs fill all arcs equally, also if the angles are rounded.
func TestArcBorders(t *testing.T) {
	for _, c := range []struct{ size, bins, shift int }{{24, 8, 0}, {40, 20, 0}, {60, 20, 0}, {60, 20, 1}, {60, 20, -1}} {
		x := Table{Factors: []factor.Factor{{Size: c.size, Kind: factor.Circular}}, Levels: make([]int, c.size)}
		angles := make([]float64, c.size)
		for l := range x.Levels {
			x.Levels[l], angles[l] = l, x.Factors[0].Angle(l)+1e-6*float64(c.shift)
		}
		if c.shift != 0 {
			x.Factors[0].Angles = angles
		}
		x.SetArcs(0, c.bins)
		for arc, n := range x.Counts(0) {
			must.Equal(t, n, c.size/c.bins, c, "arc", arc, "angles")
		}
	}
}

func TestPrecise(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   bool
	}{
		{[]float64{0, 1, -2, 12345, math.Inf(1), math.NaN()}, false},
		{[]float64{0.1, 0.25, -3.142, 1e-7, float64(float32(0.1)), float64(float32(1234.5e-9))}, false},
		{[]float64{1. / 7, -math.Pi, 12345.5, 0}, true},
		{[]float64{1. / 7, -math.Pi, 0.5, 0}, false},
		{nil, false},
	} {
		set := map[float64]bool{}
		for _, v := range c.values {
			set[v] = true
		}
		must.Equal(t, Precise(set), c.want, c.values)
	}
}
