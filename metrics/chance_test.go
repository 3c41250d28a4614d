package metrics_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

// withChance evaluates a metric with its chance level.
func withChance(t *testing.T, in *Input, c Choice) Result {
	t.Helper()
	r := []Result{evaluated(t, in, []Choice{c})}
	must.OK(t, (Chances{Shuffles: DefaultShuffles}).Add(ctx, in, 3, []Choice{c}, r))
	return r[0]
}

// TestChanceLevels checks every metric of factors on codes that determine the factors, and on codes without information
// about them.
func TestChanceLevels(t *testing.T) {
	long.NotShort(t)
	sizes := []factor.Factor{{Name: "a", Size: 8, Kind: factor.Circular}, {Name: "b", Size: 8, Kind: factor.Circular}}
	good := gridInput(sizes, 4, func(l []int, z []float64) {
		for j, v := range l {
			z[2*j], z[2*j+1] = math.Sincos(2 * math.Pi * float64(v) / 8)
		}
	})
	plain := gridInput(ordinals(6, 7, 8), 3, func(l []int, z []float64) {
		for j, v := range l {
			z[j] = float64(v) / 8
		}
	})
	for _, e := range entries() {
		c := fewRows(e.Name)
		in := plain
		if Suits(in, []Choice{c}) != nil {
			in = good
		}
		if needy, ok := c.Value.(Needy); ok && needy.Needs() == NoLevels || Suits(in, []Choice{c}) != nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			r := withChance(t, in, c)
			if r.Chance == nil || r.Chance.Shuffles < 3 || r.Chance.Rows < 1 || r.Chance.Rows > in.Codes.Rows {
				t.Fatalf("%+v, notes %q", r.Chance, r.Notes)
			}
			// these metrics take an extreme or the error of a map, so other codes also reach the best value
			if perfect := !slices.Contains([]string{"contraction-max", "contraction-mean"}, e.Name); perfect && !r.Chance.Differs {
				t.Errorf("of perfect codes: value %v, chance %+v", r.Value, r.Chance)
			}
			again := withChance(t, in, c)
			if !reflect.DeepEqual(r.Chance, again.Chance) {
				t.Errorf("chance %+v, and again %+v", r.Chance, again.Chance)
			}
			random := *in
			random.Codes.Data = make([]float64, len(in.Codes.Data))
			s := rng.New(1, "random codes")
			for i := range random.Codes.Data {
				random.Codes.Data[i] = s.NormFloat64()
			}
			if r := withChance(t, &random, c); r.Chance.Differs {
				t.Errorf("of random codes: value %v, chance %+v", r.Value, r.Chance)
			}
		})
	}
}

// Codes with weak information about 640 rows are better than chance, also by metrics that fit predictors.
func TestChanceOfWeakCodes(t *testing.T) {
	s := rng.New(2, "weak codes")
	in := gridInput(ordinals(8, 8, 10), 3, func(l []int, z []float64) {
		for j, v := range l {
			z[j] = float64(v) + 2.2*s.NormFloat64()
		}
	})
	for _, name := range []string{"probe", "knn", "downstream", "dci"} {
		if r := withChance(t, in, choice(name)); !r.Chance.Differs {
			t.Errorf("%s: value %v, chance %+v", name, r.Value, r.Chance)
		}
	}
}

// TestChanceOfCodes checks that metrics of codes alone have no chance level.
func TestChanceOfCodes(t *testing.T) {
	in := gridInput(ordinals(3, 4), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	for _, c := range []Choice{choice("total-correlation"), {Name: "logic", Value: sentence(t, "independent(z.f0, z.f1)")}} {
		if r := withChance(t, in, c); r.Chance != nil {
			t.Errorf("%s: %+v", c.Name, r.Chance)
		}
	}
}

// TestBasis checks the text of a basis.
func TestBasis(t *testing.T) {
	for want, b := range map[string]Basis{
		"5 rows":            {Rows: 5, Of: 5},
		"5 rows, one group": {Rows: 5, Of: 5, Groups: 1, Smallest: 5},
		"3 of 9 rows (2 without a known level; hair: 4 with an unknown level), 4 groups of at least 2 rows": {Rows: 3, Of: 9, Groups: 4, Smallest: 2,
			Excluded: []Exclusion{{Rows: 2, Why: "without a known level"}, {Factor: "hair", Rows: 4, Why: "with an unknown level"}}},
		"9 rows, 3 of 4 groups of a single row, without variation, fitted to 6 and tested on 3 others":                     {Rows: 9, Of: 9, Groups: 4, Smallest: 1, Single: 3, Train: 6, Test: 3},
		"9 rows, fitted to 60 and tested on 30, which may be the same rows, too few: want at least 21 rows of each object": {Rows: 9, Of: 9, Train: 60, Test: 30, Shared: true, Want: 21, For: "rows of each object"},
		"9 rows, fitted to the rows that are measured":                                                                     {Rows: 9, Of: 9, Shared: true},
	} {
		must.Equal(t, b.String(), want)
	}
	// D_LSBD of one object with five rows
	in := gridInput([]factor.Factor{{Name: "angle", Size: 5, Kind: factor.Circular}}, 3,
		func(l []int, z []float64) { z[0], z[1] = math.Sincos(float64(l[0])) })
	if b := evaluated(t, in, []Choice{choice("dlsbd")}).Basis; b.Want != 21 || b.Groups != 1 || b.Smallest != 5 {
		t.Errorf("%+v", b)
	}
	// more columns than rows: an affine map has no error
	wide := gridInput(ordinals(3, 2), 8, func(_ []int, z []float64) { copy(z, []float64{1, 2, 3}) })
	if b := evaluated(t, wide, []Choice{choice("mse")}).Basis; b.Want != 10 || !b.Shared {
		t.Errorf("%+v", b)
	}
	// the other factor uses all rows, and no rows are drawn
	partly := gridInput(ordinals(8, 4), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	partly.Levels[0] = factor.Unknown
	for _, name := range []string{"mse", "r4"} {
		if b := evaluated(t, partly, []Choice{choice(name)}).Basis; b.Rows != 32 || len(b.Excluded) != 1 || b.Excluded[0].Rows != 1 {
			t.Errorf("%s: %+v", name, b)
		}
	}
}
