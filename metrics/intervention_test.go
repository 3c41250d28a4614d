package metrics_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

// repeated returns the mean of a metric over a few streams.
func repeated(t *testing.T, m Metric, in *Input) (mean float64) {
	t.Helper()
	const repeats = 3
	for seed := range repeats {
		mine := *in
		mine.Stream = rng.New(uint64(seed), "repeat")
		mean += compute(t, m, &mine).Value / repeats
	}
	return mean
}

func TestInterventionGolden(t *testing.T) {
	long.NotShort(t)
	for key, m := range map[string]Metric{
		"beta_vae":   &BetaVAE{Batch: 64, Train: 2000, Test: 1000},
		"factor_vae": &FactorVAE{Batch: 64, Train: 2000, Test: 1000, Prune: 0.05},
	} {
		eachLibraryCase(t, key, 10, func(t *testing.T, in *Input, want map[string]libraryValue) {
			if strings.HasSuffix(t.Name(), "highdim200") {
				long.Only(t)
			}
			near(t, key, repeated(t, m, in), want[key].number(), want[key].Tolerance)
		})
	}
}

// The scores in table 2 of Zhang and Sugiyama 2024, and the published definitions.
func TestInterventionEnriching(t *testing.T) {
	long.NotShort(t)
	var golden map[string]map[string]expectation
	readJSON(t, "testdata/enriching/sampled.json", &golden)
	if len(golden) != 10 {
		t.Fatalf("%d encoders; want 10", len(golden))
	}
	// The values of beta_bs8 and beta_bs64 are multiples of 1/1500. For codes as small as contraction's, the penalty
	// changes the score, and this many points show by how much.
	for _, name := range long.Sample(slices.Sorted(maps.Keys(golden)), 4) {
		want := golden[name]
		in, _ := encoded(t, name)
		for key, m := range map[string]Metric{
			"beta_bs64":                &BetaVAE{Batch: 64, Train: 1500, Test: 1500},
			"beta_bs8":                 &BetaVAE{Batch: 8, Train: 1500, Test: 1500},
			"beta_bs8_standardised":    &BetaVAE{Batch: 8, Train: 4000, Test: 4000, Standardise: true},
			"factor_direct_bs8":        &FactorVAE{Batch: 8, Train: 4000, Test: 4000, Direct: true},
			"factor_direct_bs64":       &FactorVAE{Batch: 64, Train: 4000, Test: 4000, Direct: true},
			"factor_direct_bs8_rawvar": &FactorVAE{Batch: 8, Train: 4000, Test: 4000, Direct: true, Raw: true},
			"factor_majority_bs8":      &FactorVAE{Batch: 8, Train: 4000, Test: 4000},
			"factor_majority_bs64":     &FactorVAE{Batch: 64, Train: 4000, Test: 4000},
		} {
			if f, ok := m.(*FactorVAE); ok && !f.Raw && name == "constant" {
				continue // no column has a variance
			}
			near(t, name+" "+key, repeated(t, m, in), want[key].Value.(float64), *want[key].Tolerance)
		}
	}
}

func TestInterventionOracles(t *testing.T) {
	factors := ordinals(4, 5)
	for _, test := range []struct {
		name         string
		d            int
		code         func(l []int, z []float64)
		beta, factor float64
	}{
		{"perfect", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), -float64(l[1]) }, 1, 1},
		{"permuted and duplicated", 4, func(l []int, z []float64) {
			z[0], z[1], z[2], z[3] = float64(l[1]), float64(l[0]), float64(l[0]), float64(l[1])
		}, 1, 1},
		{"constant", 3, func(l []int, z []float64) { z[0] = 7 }, 0.5, 0},
		{"one of two factors", 1, func(l []int, z []float64) { z[0] = float64(l[0]) }, 1, 0.5},
		{"small", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), 0.01*float64(l[1]) }, 1, 0.5},
	} {
		in := gridInput(factors, test.d, test.code)
		near(t, test.name, repeated(t, &BetaVAE{Batch: 64, Train: 500, Test: 500}, in), test.beta, 0.06)
		near(t, test.name, repeated(t, &FactorVAE{Batch: 64, Train: 500, Test: 500, Prune: 0.05}, in), test.factor, 0.06)
	}
	perfect := gridInput(factors, 2, func(l []int, z []float64) { z[0], z[1] = float64(l[1]), float64(l[0]) })
	near(t, "direct", repeated(t, &FactorVAE{Batch: 64, Train: 1, Test: 500, Direct: true}, perfect), 0, 0)
	for _, n := range []int{1, 255, 256, 257, 511, 513} { // around the numbers of votes in one block
		near(t, fmt.Sprint(n, " votes"), repeated(t, &FactorVAE{Batch: 64, Train: 513, Test: n}, perfect), 1, 1e-12)
	}
	one := subset(perfect, []int{3})
	for _, m := range []Selective{&FactorVAE{}, &BetaVAE{}} {
		must.Error(t, m.Suits(one), "0 of 2 factors have several levels in the 1 rows")
	}
}

func TestInterventionErrors(t *testing.T) {
	in := gridInput(ordinals(4, 2), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	one := gridInput(ordinals(4), 2, func(l []int, z []float64) { z[0] = float64(l[0]) })
	for _, test := range []struct {
		m    Metric
		in   *Input
		want string
	}{
		{&BetaVAE{Batch: 0, Train: 1, Test: 1}, in, "batch: 0 is out of range; want 1 to"},
		{&BetaVAE{Batch: 1, Train: 0, Test: 1}, in, "train: 0 is out"},
		{&FactorVAE{Batch: 1, Train: 1, Test: 1}, in, "batch: 1 is out of range; want 2 to"},
		{&FactorVAE{Batch: 2, Train: 1, Test: 0}, in, "test: 0 is out"},
		{&FactorVAE{Batch: 2, Train: 1, Test: 1, Prune: math.NaN()}, in, "prune: NaN is not"},
		{&FactorVAE{Batch: 2, Train: 1, Test: 1, Prune: -1}, in, "prune: -1 is not"},
		{named("beta-vae"), in, "the input's Stream is nil"},
		{named("factor-vae"), in, "the input's Stream is nil"},
		{named("beta-vae"), one, "there is 1 factor"},
		{named("factor-vae"), one, "there is 1 factor"},
	} {
		must.ErrorOf(test.m.Compute(ctx, test.in))(t, test.want, test.m)
	}
}
