package train

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
)

// inheriting returns a config with losses and metrics.
func inheriting(t *testing.T, losses, measures string) Config {
	t.Helper()
	c, err := Load("run.yaml",
		[]byte("dataset: square\nmodel: {encoder: {encoder: {mlp: {hidden: [8]}}, latent: 4}}\nsupervision: {labels: {fraction: 1}}\n"+
			"losses: "+losses+"\nmetrics: "+measures+"\n"))
	must.OK(t, err)
	return c
}

// listed formats metrics as in a config.
func listed(t *testing.T, list []metrics.Choice) string {
	t.Helper()
	text := must.Get(config.Encode(struct {
		List []metrics.Choice `yaml:"list"`
	}{list}))(t)
	return string(text)
}

func TestInherit(t *testing.T) {
	const codes = "codes: {row: [0], column: [2, 3]}"
	for _, test := range []struct{ losses, metrics, want string }{
		{"[{variance: {" + codes + "}}]", "[variance]", "[{variance: {" + codes + "}}]"},
		{"[{variance: {" + codes + "}}]", "[{variance: {standardise: true}}]", "[{variance: {" + codes + ", standardise: true}}]"},
		{"[{variance: {" + codes + "}}]", "[{variance: {codes: {row: [1], column: [0]}}}]", "[{variance: {codes: {row: [1], column: [0]}}}]"},
		{"[{variance: {" + codes + "}}]", "[{variance: {assign: best}}, {variance: {project: linear}}]", "[{variance: {assign: best}}, {variance: {project: linear}}]"},
		{"[{variance: {" + codes + "}}]", "[mad, mig]", "[mad, mig]"}, // other losses
		{"[{mpd: {aggregate: max, " + codes + "}}]", "[mpd]", "[{mpd: {aggregate: max, " + codes + "}}]"},
		{"[{mpd: {aggregate: max}}]", "[{mpd: {aggregate: mean}}]", "[{mpd: {aggregate: mean}}]"},
		{"[{variance: {" + codes + "}}, {variance: {weight: 2, codes: {row: [1], column: [0]}}}]", "[mig, variance]",
			"[mig, {variance: {" + codes + "}}, {variance: {codes: {row: [1], column: [0]}}}]"},
		{"[{contraction: {columns: [1, 3], factors: [row], units: range}}]", "[contraction-max, contraction-mean]",
			"[{contraction-max: {columns: [1, 3], factors: [row], units: range}}, {contraction-mean: {columns: [1, 3], factors: [row], units: range}}]"},
		{"[{separation: {margin: 2, aggregate: max, " + codes + "}}]", "[separation, {separation: {margin: 3}}]",
			"[{separation: {margin: 2, aggregate: max, " + codes + "}}, {separation: {margin: 3, aggregate: max, " + codes + "}}]"},
		{"[{separation: {margin: 2, " + codes + "}}]", "[{separation: {codes: {row: [1], column: [0]}}}]", "[{separation: {margin: 2, codes: {row: [1], column: [0]}}}]"},
		{"[{separation: {margin: 2}}]", "[{separation: {assign: order}}]", "[{separation: {margin: 2, assign: order}}]"},
		{"[{left-inverse: {units: range, kind: minimax}}]", "[mse, {mae: {units: as-given}}, me]", "[{mse: {units: range}}, {mae: {units: as-given}}, {me: {units: range, fit: minimax}}]"},
		{"[{hsic: {codes: {row: [0], column: [1]}, between: factors, bandwidth: 2}}]", "[hsic]", "[{hsic: {codes: {row: [0], column: [1]}, between: factors, bandwidth: 2}}]"},
		{"[{hsic: {codes: {row: [0], column: [1]}, bandwidth: 2}}]", "[{hsic: {assign: best}}]", "[{hsic: {assign: best, bandwidth: 2}}]"},
		{"[{conditional-tc: {estimator: minibatch, active: [{columns: [0], factor: row, levels: [1]}]}}]", "[conditional-tc]",
			"[{conditional-tc: {active: [{columns: [0], factor: row, levels: [1]}]}}]"},
		{"[{lsbd: {planes: {row: [3, 1], column: [0, 2]}, on: codes}}]", "[dlsbd]", "[{dlsbd: {codes: {row: [3, 1], column: [0, 2]}}}]"},
		{"[{logic: {sentence: 'forall[mean] i: z.own(i) =[squared] y.row(i)', codes: {own: [2]}}}]", "[{logic: 'forall[mean] i: z.own(i) =[squared] y.row(i)'}]",
			"[{logic: {sentence: 'forall[mean] i: z.own(i) =[squared] y.row(i)', codes: {own: [2]}}}]"},
	} {
		got, want := inheriting(t, test.losses, test.metrics), inheriting(t, "[kl]", test.want)
		if !reflect.DeepEqual(got.Metrics.Final, want.Metrics.Final) {
			t.Errorf("losses %s, metrics %s:\n%s\nwant\n%s", test.losses, test.metrics, listed(t, got.Metrics.Final), listed(t, want.Metrics.Final))
		}
		text := must.Get(got.Encode())(t)
		again, err := Load("config.yaml", text)
		if err != nil || !reflect.DeepEqual(again.Metrics.Final, got.Metrics.Final) {
			t.Errorf("%s, read again: %v, %v", test.metrics, again.Metrics.Final, err)
		}
	}
	c := inheriting(t, "[{variance: {"+codes+"}}]", "{final: [], during: [fast, variance], every: 1}")
	if got, want := c.Metrics.During.List, inheriting(t, "[kl]", "[{variance: {"+codes+"}}]").Metrics.Final; !reflect.DeepEqual(got, want) {
		t.Errorf("during: %s", listed(t, got))
	}
}

// Metrics on another data set inherit, too, and its entry moves no settings of other metrics.
func TestInheritOn(t *testing.T) {
	const loss, own = "[{variance: {codes: {row: [0], column: [1]}}}]", "{variance: {codes: {row: [2], column: [3]}}}"
	want := func(measures string) []metrics.Choice { return inheriting(t, "[kl]", measures).Metrics.Final }
	inherited := want("[{variance: {codes: {row: [0], column: [1]}}}]")
	for measures, on := range map[string][]metrics.Choice{
		"[{dataset: square, metrics: [mig, variance]}, " + own + "]":                                  append(want("[mig]"), inherited...),
		"[{dataset: square}, " + own + "]":                                                            want("[" + own + "]"),
		"{final: [" + own + "], on: [{dataset: square, metrics: [variance]}]}":                        inherited,
		"{final: [" + own + "], on: [{dataset: square, metrics: [{variance: {codes: {row: [3]}}}]}]}": want("[{variance: {codes: {row: [3]}}}]"),
	} {
		c := inheriting(t, loss, measures)
		if !reflect.DeepEqual(c.Metrics.Final, want("["+own+"]")) || !reflect.DeepEqual(c.Metrics.On[0].Metrics, on) {
			t.Errorf("%s: %+v", measures, c.Metrics)
		}
	}
}

// TestInheritNames checks that two losses with one name give two named results.
func TestInheritNames(t *testing.T) {
	c := inheriting(t, "[{variance: {codes: {row: [0], column: [1]}}}, {variance: {codes: {row: [2], column: [3]}}}]", "[variance]")
	if names := strings.Join(metrics.ResultNames(c.Metrics.Final), " "); names != "variance variance-2" {
		t.Errorf("names %s, metrics %s", names, fmt.Sprint(c.Metrics.Final))
	}
}
