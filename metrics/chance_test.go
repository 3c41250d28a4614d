package metrics_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/factor"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/rng"
)

// withChance evaluates a metric with its chance level.
func withChance(t *testing.T, in *Input, c Choice) Result {
	t.Helper()
	r := []Result{evaluated(t, in, []Choice{c})}
	if err := (Chances{Shuffles: DefaultShuffles}).Add(ctx, in, 3, []Choice{c}, r); err != nil {
		t.Fatal(err)
	}
	return r[0]
}

// TestChanceLevels checks every metric of factors on codes that determine the factors, and on codes that know nothing of them.
func TestChanceLevels(t *testing.T) {
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
		if c.Value.(Needy).Needs() == NoLevels || Suits(in, []Choice{c}) != nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			r := withChance(t, in, c)
			if r.Chance == nil || r.Chance.Shuffles < 3 || r.Chance.Rows < 1 || r.Chance.Rows > in.Codes.Rows {
				t.Fatalf("%+v, notes %q", r.Chance, r.Notes)
			}
			// the best value of these is as good as any: extremes, and maps of no error
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

// TestChanceOfCodes checks that metrics of codes alone have no chance level.
func TestChanceOfCodes(t *testing.T) {
	if r := withChance(t, gridInput(ordinals(3, 4), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) }), choice("total-correlation")); r.Chance != nil {
		t.Errorf("%+v", r.Chance)
	}
}
