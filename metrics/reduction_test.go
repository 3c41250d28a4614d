package metrics_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Codes are rotated, and one factor varies more than the other. The principal components are the factors.
func TestReduction(t *testing.T) {
	sin, cos := math.Sincos(0.7)
	rotated := gridInput(ordinals(5, 6), 4, func(l []int, z []float64) {
		a, b := 10*float64(l[0]), float64(l[1])
		z[0], z[1], z[2], z[3] = cos*a-sin*b, sin*a+cos*b, 3, 1
	})
	plain := compute(t, named("mig"), rotated)
	m := named("mig").(*MIG)
	m.Components, m.Bins = 2, 7 // levels are off the edges of bins
	r := compute(t, m, rotated)
	if !(plain.Value <= 0.9) {
		t.Errorf("%v without components", plain.Value)
	}
	near(t, "mig", r.Value, 1, 1e-12)
	if g := r.Grids[0]; strings.Join(g.Rows, " ") != "pc0 pc1" || plain.Grids[0].Rows[1] != "z1" {
		t.Errorf("%+v", g)
	}
	m.Gap = "factors"
	if r = compute(t, m, rotated); r.Parts[0].Labels[1] != "pc1" {
		t.Errorf("%+v", r.Parts)
	}
	s := sap()
	s.Score, s.TrainRows, s.Components = "correlation", 30, 2
	r = compute(t, s, rotated)
	near(t, "sap", r.Value, 1, 1e-9)
	s.Components = 4
	same := sap()
	same.Score, same.TrainRows = "correlation", 30
	if got, want := compute(t, s, rotated), compute(t, same, rotated); !reflect.DeepEqual(got, want) {
		t.Errorf("no fewer components than columns: %+v, want %+v", got, want)
	}
	for want, components := range map[string]int{"components: -1 is negative": -1, "there is 1 code column": 1} {
		for _, metric := range []Metric{&MIG{Histogram: mutual.Histogram{Bins: 20, Binning: mutual.EqualWidth},
			Gap: "columns", Reduction: Reduction{Components: components}},
			&SAP{Score: "correlation", Cost: 1, TrainTest: TrainTest{TrainRows: 30}, Reduction: Reduction{Components: components}}} {
			must.ErrorOf(metric.Compute(ctx, rotated))(t, want)
		}
	}
}
