package metrics_test

import (
	"math"
	"testing"

	. "github.com/unravel-ml/unravel/metrics"

	"github.com/unravel-ml/unravel/internal/must"
)

func irs() *IRS { return named("irs").(*IRS) }

func TestIRSGolden(t *testing.T) {
	for key, test := range map[string]struct {
		quantile float64
		cases    int
	}{"irs_q0.99": {0.99, 12}, "irs_q1.0": {1, 11}, "irs_q0.9": {0.9, 11}} {
		eachLibraryCase(t, key, test.cases, func(t *testing.T, in *Input, want map[string]libraryValue) {
			shuffleRows(in)
			m := irs()
			m.Quantile, m.Bins = test.quantile, 0 // the references use whole levels, even for factors with more than 20
			near(t, key, compute(t, m, in).Value, want[key].number(), want[key].Tolerance)
		})
	}
}

func TestIRSOracles(t *testing.T) {
	factors := ordinals(5, 4)
	for _, test := range []struct {
		name string
		d    int
		code func(l []int, z []float64)
		want float64
	}{
		{"perfect", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), -float64(l[1]) }, 1},
		{"functions of one factor", 3, func(l []int, z []float64) {
			z[2], z[1] = math.Exp(float64(l[0])), math.Cos(float64(l[0]))
		}, 1},
		{"constant", 3, func(l []int, z []float64) { z[0] = 0.1 }, 0},
		// |z - mean| is at most 8. It is 6 for any fixed l[0], and 2 for any fixed l[1].
		{"both", 1, func(l []int, z []float64) { z[0] = float64(l[0]) + 4*float64(l[1]) }, 1 - 2.0/8},
		{"weights", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0])+4*float64(l[1]), 24*float64(l[0]%2*l[0]/3) }, (8*0.75 + 19.2) / 27.2},
		{"huge", 1, func(l []int, z []float64) { z[0] = 4e307 * float64(l[0]-2) }, 1},
		{"far", 1, func(l []int, z []float64) { z[0] = 1e9 + float64(l[0]) }, 1},
	} {
		m := irs()
		m.Quantile = 1
		near(t, test.name, compute(t, m, gridInput(factors, test.d, test.code)).Value, test.want, 1e-12)
	}
	in := gridInput(factors, 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	near(t, "one row", compute(t, irs(), subset(in, []int{2})).Value, 0, 0)
	// 2 bins join the levels 0 1 | 2 3 of the factor; the code is its level
	m := &IRS{Quantile: 1, Bins: 2}
	joined := gridInput(ordinals(4), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	near(t, "two bins", compute(t, m, joined).Value, 1-0.5/1.5, 1e-12)
	m.Bins = 0
	near(t, "no bins", compute(t, m, joined).Value, 1, 0)
	// the deviations 1.5 0.5 0.5 1.5 of one level have median 1
	m.Quantile = 0.5
	still := gridInput(ordinals(1, 4), 1, func(l []int, z []float64) { z[0] = float64(l[1]) })
	near(t, "median", compute(t, m, still).Grids[0].Values[0][0], 1-1/1.5, 1e-12)
	for _, bad := range []*IRS{{Quantile: 1.1}, {Quantile: math.NaN()}, {Quantile: 1, Bins: -1}} {
		must.ErrorOf(bad.Compute(ctx, in))(t, "out of range", bad)
	}
}
