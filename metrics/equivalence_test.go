package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/similarity"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// answersOf returns answers about some rows. Each row is compared with the previous row of its level, and the first row
// with itself.
func answersOf(in *Input, rows []int) *similarity.Answers {
	a := &similarity.Answers{Rows: in.Codes.Rows}
	k := len(in.Factors)
	for f := range in.Factors {
		last := map[int]int{}
		for _, row := range rows {
			level, i := in.Levels[row*k+f], row
			other, ok := last[level]
			if !ok {
				other = i
			}
			a.Add(i, other, in.Factors[f].Name, true)
			last[level] = i
		}
	}
	return a
}

// TestPairsGolden computes table 4 of Zhang and Sugiyama 2024 from pairs of rows only.
func TestPairsGolden(t *testing.T) {
	var golden struct {
		Subsets   [][]int
		PerSubset map[string][][]float64 `json:"per_subset"`
	}
	readJSON(t, "testdata/enriching/subsets.json", &golden)
	checked := 0
	for encoder, values := range golden.PerSubset {
		in, sub := encoded(t, encoder)
		for s, rows := range golden.Subsets {
			classes := must.Get(similarity.Unite(answersOf(in, rows), similarity.Options{}))(t)
			weak := &Input{Codes: in.Codes}
			must.OK(t, weak.SetClasses(classes))
			for c, d := range []factor.Deviation{factor.Radius, factor.MAD, factor.Variance, factor.Diameter, factor.MPD} {
				m := NewSubCodeDeviation(d)
				m.Codes = sub
				r := must.Get(Evaluate(context.Background(), weak, 0, []Choice{{Name: "m", Value: m}}))(t)
				near(t, fmt.Sprintf("%s, subset %d, %v", encoder, s, d), math.Exp(-r[0].Value), values[s][c], 1e-6)
				checked++
			}
		}
	}
	must.Equal(t, checked, 300, "of 300 values")
}

// TestClassesAreNotLevels checks that exactly the metrics of levels refuse classes.
func TestClassesAreNotLevels(t *testing.T) {
	in := &Input{Codes: matrix.Matrix{Rows: 6, Cols: 2, Data: []float64{0, 1, 2, 3, 4, 5, 6, 8, 7, 9, 1, 2}}}
	a := &similarity.Answers{Rows: 6, Factors: []string{"empty"}}
	for i, same := range []bool{true, false, true, true} {
		a.Add(i, i+1, "x", same)
		a.Add(i, i+2, "y", !same)
	}
	classes := must.Get(similarity.Unite(a, similarity.Options{}))(t)
	must.OK(t, in.SetClasses(classes))
	must.EqualSlices(t, factor.Names(in.Factors), []string{"x", "y"}, "factors")
	fromClasses := []string{"variance", "mad", "radius", "diameter", "mpd", "separation"}
	for _, e := range Registry.Entries {
		err := Suits(in, []Choice{{Name: e.Name, Value: e.New()}})
		if refused := errors.Is(err, MissingLevels); refused == (readsNoLevels(e.New()) || slices.Contains(fromClasses, e.Name)) {
			t.Errorf("%s: error %v; want %v exactly for metrics that need levels and cannot use classes (the list fromClasses)",
				e.Name, err, MissingLevels)
		}
	}
	results, err := Evaluate(context.Background(), in, 0, []Choice{{Name: "variance", Value: NewSubCodeDeviation(factor.Variance)}})
	const want = (1+14.0/9)/2 + 6.25 // classes {0, 1} and {2, 3, 4} of x, {1, 3} of y
	if err != nil || !(math.Abs(results[0].Value-want) <= 1e-12) ||
		results[0].Basis.String() != "5 of 6 rows (1 without a known level; y: 3 with an unknown level), 3 groups of at least 2 rows" {
		t.Errorf("%+v, error %v; want %v", results, err, want)
	}
	for want, c := range map[string]*similarity.Classes{
		"no two rows are known to agree":                    {Factors: []string{"x"}, Of: [][]int32{{-1, -1, -1, -1, -1, -1}}, Count: []int{0}},
		"classes are about 5 rows; want 6, the rows of the": {Factors: []string{"x"}, Of: [][]int32{{0, 0, -1, -1, -1}}, Count: []int{1}},
	} {
		must.Error(t, (&Input{Codes: in.Codes}).SetClasses(c), want)
	}
}
