package factor

import (
	"math"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// groups returns n groups of three equal numbers, one apart.
func groups(n int) (list []float64) {
	for i := range n {
		list = append(list, float64(i), float64(i), float64(i))
	}
	return list
}

// Numbers form at most 20 groups of three or more on average. Gaps are 20 times as wide as groups.
func TestNarrowGroups(t *testing.T) {
	for name, c := range map[string]struct {
		sorted []float64
		n      int
		width  float64
	}{
		"20 groups":                  {groups(20), 20, 0},
		"21 groups":                  {groups(21), 0, 0},
		"one group":                  {groups(1), 0, 0},
		"one number":                 {[]float64{1}, 0, 0},
		"few numbers":                {[]float64{0, 0, 0, 1, 1}, 0, 0},
		"3 on average":               {[]float64{0, 0, 1, 1, 1, 1}, 2, 0},
		"a gap of 20 widths":         {[]float64{0, 1, 2, 42, 42, 42}, 2, 2},
		"a gap below 20 widths":      {[]float64{0, 1, 2, 41, 41, 41}, 0, 0},
		"a second gap of 20 widths":  {[]float64{0, 1, 2, 42, 42, 42, 100, 100, 100}, 3, 2},
		"a second gap below them":    {[]float64{0, 1, 2, 41, 41, 41, 100, 100, 100}, 0, 0},
		"a gap of a 20th":            {[]float64{0, 0, 0, 1, 1, 1, 21, 21, 21}, 3, 0},
		"the widest group is last":   {[]float64{0, 0, 0, 42, 43, 44}, 2, 2},
		"the widest group is second": {[]float64{0, 0, 0, 42, 43, 44, 100, 100, 101}, 3, 2},
	} {
		if n, width := narrowGroups(c.sorted); n != c.n || width != c.width {
			t.Errorf("%s: %d groups of width %v, want %d of %v", name, n, width, c.n, c.width)
		}
	}
}

// An identifier has at least 100 different whole numbers that are neither numbers of rows nor a scale.
func TestIsIdentifier(t *testing.T) {
	line := func(n int, first, step, bend float64) (list []float64) { // the last number is bend more
		for i := range n {
			list = append(list, first+step*float64(i))
		}
		list[n-1] += bend
		return list
	}
	repeated := line(100, 5, 2, 1)
	repeated[1] = repeated[0]
	for name, c := range map[string]struct {
		sorted   []float64
		distinct int
		want     bool
	}{
		"99 numbers":          {line(99, 5, 2, 1), 99, false},
		"100 numbers":         {line(100, 5, 2, 1), 100, true},
		"a repeated number":   {repeated, 99, false},
		"half a number":       {line(100, 5, 2, 0.5), 100, false},
		"a scale":             {line(100, 5, 2, 0), 100, false},
		"rows from 0 on":      {line(100, 0, 1, 0), 100, false},
		"rows from 1 on":      {line(100, 1, 1, 0), 100, false},
		"numbers from 2 on":   {line(100, 2, 1, 0), 100, true},
		"rows with a gap":     {line(100, 0, 1, 2), 100, true},
		"a negative number":   {line(100, -1, 1, 0), 100, true},
		"a negative fraction": {line(100, -1.5, 1, 0), 100, false},
	} {
		must.Equal(t, isIdentifier(c.sorted, c.sorted[:c.distinct]), c.want, name)
	}
}

// Markers are far from the other numbers: by more than ten ranges, or by more than half a range for 999.
func TestMarkerNote(t *testing.T) {
	for name, c := range map[string]struct {
		numbers [5]float64 // the first one is in two rows
		want    bool
	}{
		"10 ranges below":            {[5]float64{-20, 0, 1, 2, 2}, false},
		"more than 10 ranges below":  {[5]float64{-21, 0, 1, 2, 2}, true},
		"-1":                         {[5]float64{-1, 0, 1, 2, 2}, true},
		"-9":                         {[5]float64{-9, 0, 1, 2, 2}, true},
		"-2":                         {[5]float64{-2, 0, 1, 2, 2}, false},
		"-1 beside another negative": {[5]float64{-1, -0.5, 1, 2, 2}, false},
		"-999 by half a range":       {[5]float64{-999, -899, -800, -699, -699}, false},
		"-999 by more":               {[5]float64{-999, -898, -800, -699, -699}, true},
		"-99 by more":                {[5]float64{-99, -88, -80, -69, -69}, false},
		"three numbers":              {[5]float64{-1, 0, 0, 1, 1}, false},
	} {
		sorted, distinct := []float64{c.numbers[0]}, []float64(nil)
		last := math.NaN()
		for _, v := range c.numbers {
			sorted = append(sorted, v)
			if v != last {
				distinct = append(distinct, v)
			}
			last = v
		}
		must.Equal(t, markerNote("x", sorted, distinct) != "", c.want, name)
	}
	must.Equal(t, markerNote("x", []float64{-1, 0, 1, 2}, []float64{-1, 0, 1, 2}), "", "-1 in one row")
}
