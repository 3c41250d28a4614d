package metrics_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	. "github.com/unravel-ml/unravel/metrics"
)

// like returns a metric in a dialect.
func like[M Metric](t testing.TB, dialect, name string) M {
	t.Helper()
	c := must.Get(Like(dialect, name))(t)
	return c.Value.(M)
}

// Every definition is valid, equals a config with `like`, and survives a round trip.
func TestDialects(t *testing.T) {
	for _, entry := range Dialects.Entries {
		names := entry.New().Names()
		if len(names) == 0 || entry.Source == "" {
			t.Errorf("%s has %d metrics and the source %q", entry.Name, len(names), entry.Source)
		}
		for _, c := range entry.New() {
			var read struct {
				Metrics []Choice `yaml:"metrics"`
			}
			text := fmt.Sprintf("metrics: [{%s: {like: %s}}]", c.Name, entry.Name)
			if err := config.Load("like.yaml", []byte(text), &read); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if !reflect.DeepEqual(read.Metrics[0], c) {
				t.Errorf("%s gives %+v; want %+v", text, read.Metrics[0].Value, c.Value)
			}
			written := must.Get(config.Encode(read))(t)
			if err := config.Load("again.yaml", written, &read); err != nil || strings.Contains(string(written), "like") {
				t.Errorf("%s resolves to %s, %v", text, written, err)
			}
		}
		if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
			t.Errorf("%s defines a metric twice: %v", entry.Name, names)
		}
	}
}

func TestDialectErrors(t *testing.T) {
	for text, want := range map[string]string{
		"metrics: [{med: {like: disent}}]":            "like.yaml:1:24: metrics.0.med.like: med is not in disent; it has factor-vae, mig, dci,",
		"metrics: [{mig: {like: diset}}]":             `like.yaml:1:24: metrics.0.mig.like: unknown dialect "diset"; did you mean "disent"?`,
		"metrics: [{mug: {like: disent}}]":            `unknown metric "mug"; did you mean "mig"?`,
		"metrics: [{mig: {like: disent, bens: 10}}]":  `"bens"`,
		"metrics: [{mig: {like: disent, bins: 0.5}}]": "metrics.0.mig.bins",
		"metrics: [{mig: {like: disent}, sap: {}}]":   "like.yaml:1:33: metrics.0: a metric with two names: mig is chosen at like.yaml:1:12, and here sap",
	} {
		var read struct {
			Metrics []Choice `yaml:"metrics"`
		}
		must.Error(t, config.Load("like.yaml", []byte(text), &read), want, text)
	}
	var read struct {
		Metrics []Choice `yaml:"metrics"`
	}
	must.OK(t, config.Load("like.yaml", []byte("metrics: [{mig: {bins: 10, like: enriching}}]"), &read))
	if m := read.Metrics[0].Value.(*MIG); m.Bins != 10 || m.Gap != "factors" {
		t.Errorf("a changed option gives %+v", m)
	}
}

// A result lists its options, and the sources that define it so.
func TestResultDefinition(t *testing.T) {
	in := gridInput(ordinals(4, 3), 3, func(l []int, z []float64) { z[0], z[1], z[2] = float64(l[0]), float64(l[1]), float64(l[0]+l[1]) })
	ten := choice("mig")
	ten.Value.(*MIG).Bins = 10
	sub := choice("variance")
	sub.Value.(SubCoded).SetCodes(nil, AssignBest)
	results := must.Get(Evaluate(ctx, in, 1, []Choice{choice("mig"), ten, sub}))(t)
	for i, want := range [][]string{{"disentanglement_lib", "disent", "lsbd-vae", "hierarchical"}, nil, {"enriching"}} {
		must.EqualSlices(t, results[i].Like, want, results[i].Name, "is like")
	}
	if o := results[1].Options; o["bins"] != 10.0 || o["gap"] != "columns" || len(o) != 4 {
		t.Errorf("options %v", o)
	}
}

// The reference values of disentanglement_lib test its dialect: the defaults, except predictors of downstream.
func TestDialectLibraryGolden(t *testing.T) {
	const source = "disentanglement_lib"
	for key, test := range map[string]struct {
		name  string
		cases int
	}{
		"modularity": {"modularity", 21}, "mean_mi_between_codes": {"mutual-information", 9},
		"gaussian_total_correlation": {"total-correlation", 7}, "gaussian_wasserstein_correlation": {"wasserstein-correlation", 7},
	} {
		eachLibraryCase(t, key, test.cases, func(t *testing.T, in *Input, want map[string]libraryValue) {
			near(t, key, compute(t, like[Metric](t, source, test.name), in).Value, want[key].number(), max(want[key].Tolerance, 1e-9))
		})
	}
	for _, name := range []string{"mig", "modularity", "explicitness", "dci", "sap", "irs", "beta-vae", "factor-vae",
		"mutual-information", "total-correlation", "wasserstein-correlation"} {
		known := named(name)
		if s := splitOf(known); s != nil {
			s.TestShare = 0 // the default holds rows out
		}
		if got := like[Metric](t, source, name); !reflect.DeepEqual(got, known) {
			t.Errorf("%s is %+v; want the default %+v, which other tests compare with golden values", name, got, known)
		}
	}
}

func TestDialectMEDGolden(t *testing.T) {
	eachLibraryCase(t, "med", 20, func(t *testing.T, in *Input, want map[string]libraryValue) {
		if v, ok := want["med"].Value.(float64); ok && !math.IsNaN(v) {
			near(t, "med", compute(t, like[Metric](t, "negative-free", "med"), in).Value, v, 1e-8)
		}
	})
}

func TestDialectEnrichingGolden(t *testing.T) {
	long.NotShort(t)
	const source = "enriching"
	var golden, sampled map[string]map[string]expectation
	readJSON(t, "testdata/enriching/expected.json", &golden)
	readJSON(t, "testdata/enriching/sampled.json", &sampled)
	for name, want := range golden {
		in, sub := encoded(t, name)
		check := func(e expectation, metric string, got float64) {
			t.Helper()
			near(t, name+" "+metric, got, e.Value.(float64), *e.Tolerance)
		}
		for key, metric := range map[string]string{"rad": "radius", "mad": "mad", "var": "variance", "diam": "diameter", "mpd": "mpd",
			"me_paper": "me", "mae": "mae", "mse": "mse", "contraction_max": "contraction-max", "contraction_mean": "contraction-mean"} {
			m := like[Metric](t, source, metric)
			if s, ok := m.(SubCoded); ok {
				s.SetCodes(sub, AssignAuto)
			}
			r := compute(t, m, in)
			check(want[key], metric, r.Part("score")[0])
		}
		check(want["mig_codewise"], "mig", compute(t, like[Metric](t, source, "mig"), in).Value)
		check(sampled[name]["beta_bs8_standardised"], "beta-vae", repeated(t, like[Metric](t, source, "beta-vae"), in))
		check(sampled[name]["factor_direct_bs8_rawvar"], "factor-vae", repeated(t, like[Metric](t, source, "factor-vae"), in))
	}
}

// The values come from a separate program based on disent's documentation: factor-vae on codes with a column that
// disentanglement_lib would omit.
func TestDialectDisentGolden(t *testing.T) {
	var golden map[string]map[string]any
	readJSON(t, "testdata/dialects/disent.json", &golden)
	if len(golden) != 3 {
		t.Fatalf("%d cases; want 3", len(golden))
	}
	eachLibraryCase(t, "modularity", 21, func(t *testing.T, in *Input, _ map[string]libraryValue) {
		want, ok := golden[strings.TrimPrefix(t.Name(), "TestDialectDisentGolden/")]
		if !ok {
			t.Skip("no value")
		}
		for name, value := range want {
			m := like[Metric](t, "disent", name)
			if name != "factor-vae" {
				near(t, name, compute(t, m, in).Value, value.(float64), 1e-6)
				continue
			}
			small := scaledColumn(in, 0, 0.02)
			v := value.(map[string]any)
			near(t, name, repeated(t, m, small), v["value"].(float64), v["tolerance"].(float64))
			near(t, "pruned", repeated(t, like[Metric](t, "disentanglement_lib", name), small), v["pruned"].(float64), 0.03)
		}
	})
}

// scaledColumn returns an input with a new standard deviation of one column.
func scaledColumn(in *Input, c int, deviation float64) *Input {
	var mean, square float64
	n := float64(in.Codes.Rows)
	for i := range in.Codes.Rows {
		mean += in.Codes.Row(i)[c] / n
	}
	for i := range in.Codes.Rows {
		square += math.Pow(in.Codes.Row(i)[c]-mean, 2) / (n - 1)
	}
	some := *in
	some.Codes.Data = slices.Clone(in.Codes.Data)
	for i := range in.Codes.Rows {
		some.Codes.Data[i*in.Codes.Cols+c] *= deviation / math.Sqrt(square)
	}
	return &some
}
