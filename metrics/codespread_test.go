package metrics_test

import (
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

func TestCodeSpread(t *testing.T) {
	random := rng.New(1, "codes")
	for _, test := range []struct {
		name      string
		d         int
		code      func(l []int, z []float64)
		want      float64
		tolerance float64
	}{
		{"equal", 3, func(_ []int, z []float64) { z[0], z[1], z[2] = 0.1, 0.2, 0.7 }, 0, 0},
		{"of one direction", 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]+1), 2*float64(l[0]+1) }, 0, 1e-15},
		{"opposite", 1, func(l []int, z []float64) { z[0] = float64(l[0]%2) - 0.5 }, 1, 1e-15},
		{"zero", 2, func(_ []int, z []float64) {}, 0, 0},
		{"on two axes", 2, func(l []int, z []float64) { z[l[0]%2] = 3 }, 0.5 * math.Sqrt2, 1e-15},
		{"huge and tiny", 2, func(l []int, z []float64) { z[l[0]%2] = []float64{1e300, 1e-300}[l[0]%2] }, 0.5 * math.Sqrt2, 1e-15},
		{"random", 50, func(_ []int, z []float64) {
			for c := range z {
				z[c] = random.NormFloat64()
			}
		}, 1, 0.02},
	} {
		in := gridInput(ordinals(40, 25), test.d, test.code)
		near(t, test.name, compute(t, named("code-spread"), in).Value, test.want, test.tolerance)
	}
	if _, err := named("code-spread").Compute(ctx, &Input{}); err == nil {
		t.Error("no codes have a spread")
	}
}

// A repeated metric has other options and a name with a number.
func TestResultNames(t *testing.T) {
	best, bins := med(), named("mig").(*MIG)
	best.TopK, bins.Bins = 1, 3
	choices := []Choice{{Name: "med", Value: med()}, {Name: "mig", Value: named("mig")}, {Name: "med", Value: best},
		{Name: "mig", Value: bins}, {Name: "med", Value: best}}
	want := []string{"med", "mig", "med-2", "mig-2", "med-3"}
	must.EqualSlices(t, ResultNames(choices), want)
	in := gridInput(ordinals(4, 3), 2, func(l []int, z []float64) { z[0], z[1] = float64(l[0]), float64(l[1]) })
	results := must.Get(Evaluate(ctx, in, 0, choices))(t)
	for i, r := range results {
		must.Equal(t, r.Name, want[i])
	}
	choices[2].Value = &MED{}
	if _, err := Evaluate(ctx, in, 0, choices); err == nil || !strings.HasPrefix(err.Error(), "metric med-2: ") {
		t.Error(err)
	}
}

// With samples, med equals med of a table with the same number of rows.
func TestMEDSamples(t *testing.T) {
	random := rng.New(3, "codes")
	in := gridInput(ordinals(30, 20), 12, func(_ []int, z []float64) {
		for c := range z {
			z[c] = random.NormFloat64()
		}
	})
	m := med()
	m.Samples = 200
	must.ErrorOf(m.Compute(ctx, in))(t, "the input's Stream is nil")
	in.Stream = rng.New(0, "metric/med")
	r := compute(t, m, in)
	must.Equal(t, r.Basis.Rows, 200, r.Basis)
	rows := rng.New(0, "metric/med").Perm(600)[:200]
	near(t, "of the rows", r.Value, compute(t, med(), subset(in, rows)).Value, 1e-12)
	all := med()
	all.Samples = 600
	if r := compute(t, all, in); r.Basis.Rows != 0 || r.Value != compute(t, med(), in).Value {
		t.Errorf("%+v", r)
	}
	all.Samples = -1
	must.ErrorOf(all.Compute(ctx, in))(t, "samples: -1 is negative")
}

// With a test share, train and test rows are disjoint, and train rows are random.
func TestDownstreamShare(t *testing.T) {
	random := rng.New(3, "codes")
	noise := gridInput(ordinals(30, 2), 59, func(_ []int, z []float64) {
		for c := range z {
			z[c] = random.NormFloat64()
		}
	})
	m := named("downstream").(*Downstream)
	m.Sizes, m.TestShare = []int{20, 40, 41}, 1.0/3
	noise.Stream = rng.New(0, "metric/downstream")
	r := compute(t, m, noise)
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "there are 40 rows for training: the sizes 41 are left out") {
		t.Errorf("%q", r.Notes)
	}
	if fit, test := r.Part("train_per_size")[1], r.Part("per_size")[1]; fit != 1 || !(test <= 0.5) {
		t.Errorf("accuracy %v and %v of noise", fit, test)
	}
	// the first factor changes by blocks of rows: the first 20 rows would lack its other levels
	plain := gridInput(ordinals(3, 20), 1, func(l []int, z []float64) { z[0] = float64(l[0]) })
	m.Sizes, plain.Stream = []int{20}, rng.New(0, "metric/downstream")
	if r := compute(t, m, plain); r.Part("per_factor")[0] != 1 {
		t.Errorf("%+v", r.Parts)
	}
}
