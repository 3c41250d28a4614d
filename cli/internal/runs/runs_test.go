package runs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

func TestParseResults(t *testing.T) {
	results := []metrics.Result{{Name: "mig", Value: 0.5}, {Name: "dlsbd", Value: 0.1, Better: metrics.LowerIsBetter, Notes: []string{"x"}}}
	list := must.Get(json.Marshal(results))(t)
	got, err := ParseResults(list)
	if err != nil || !reflect.DeepEqual(got, results) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = ParseResults([]byte(` {"metrics": {"mig": {"value": 0.5, "better": "higher", "score": 3}, "dlsbd": {"value": 0.1, "better": "lower"}}}`))
	if err != nil || len(got) != 2 || got[0].Name != "dlsbd" || got[0].Better != metrics.LowerIsBetter || got[1].Value != 0.5 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = ParseResults([]byte(`[{"name": "mig", "value": null}, {"name": "dci"}, {"name": "dlsbd", "value": 0}, {"name": "mine", "value": 1}]`))
	if err != nil || len(got) != 2 || got[0].Better != metrics.LowerIsBetter || got[1].Better != metrics.HigherIsBetter {
		t.Errorf("without a value or a direction: %+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                             "unexpected end",
		"{}":                           `no key "metrics"`,
		`[{"value": 1}]`:               "is empty or repeated",
		`[{"name":"a"},{"name":"a"}]`:  "is empty or repeated",
		`[{"name":"a","better":"up"}]`: `unknown direction "up"`,
		`[{"name":"a","value":"x"}]`:   "cannot unmarshal",
	} {
		must.ErrorOf(ParseResults([]byte(text)))(t, want, text)
	}
}

func FuzzParseResults(f *testing.F) {
	f.Add([]byte(`[{"name":"mig","value":0.5,"better":"higher","parts":[{"name":"p","values":[1]}]}]`))
	f.Add([]byte(`{"metrics":{"mig":{"value":1e-3,"better":"lower","grids":[{"name":"g","rows":["a"],"columns":[],"values":[[]]}]}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		list, err := ParseResults(src)
		if err != nil {
			return
		}
		again := must.Get(json.Marshal(list))(t)
		if len(list) == 0 {
			return
		}
		if second, err := ParseResults(again); err != nil || len(second) != len(list) {
			t.Errorf("%s becomes %s: %v", src, again, err)
		}
	})
}

func TestInFolder(t *testing.T) {
	for want, names := range map[string][]string{
		"[a b/c]": {"runs/x/a", "runs/x/b/c"}, "[x/a y/a]": {"runs/x/a", "runs/y/a"}, "[runs/a b]": {"runs/a", "b"}, "[mig dci]": {"mig", "dci"}, "[ab ac]": {"/ab", "/ac"},
	} {
		must.Equal(t, fmt.Sprint(shortNames(names)), want, names)
	}
}

// The list shows the state if a run has not finished.
func TestColumnsFit(t *testing.T) {
	list := []shownColumn{{header: "run", cells: []string{"a"}}, {header: "state", cells: []string{"stopped"}},
		{header: "a.long.setting", cells: []string{"-"}}}
	rank(list, []*index.Run{{State: sweep.Stopped}})
	if fitting, left := fitWidth(list, 5); len(fitting) != 2 || fitting[1].header != "state" || len(left) != 1 {
		t.Errorf("shown: %v, left out: %q", fitting, left)
	}
}

// The header of a column is the shortest end of its key that no other key has, and that does not begin with a number.
func TestShortName(t *testing.T) {
	all := []string{"seed", "train.batch", "losses.0.kl.weight", "losses.1.variance.weight", "losses.2.kl.weight"}
	for name, want := range map[string]string{"seed": "seed", "train.batch": "batch", "losses.1.variance.weight": "variance.weight",
		"losses.2.kl.weight": "losses.2.kl.weight"} {
		must.Equal(t, shortName(name, all), want, name)
	}
}

// A comparison notes options that differ between runs.
func TestOtherOptions(t *testing.T) {
	with := func(options ...map[string]any) (list []runResult) {
		for i, o := range options {
			list = append(list, runResult{2 * i, metrics.Result{Options: o}})
		}
		return list
	}
	codes := func(columns ...int) map[string]any {
		return map[string]any{"codes": map[string]any{"y": columns, "x": 5}}
	}
	for i, c := range []struct {
		list []runResult
		want string
	}{
		{with(map[string]any{"bins": 20}, map[string]any{"bins": 20}), "[]"},
		{with(map[string]any{"bins": 20}, nil), "[]"},
		{with(map[string]any{"bins": 20, "c": 1}, map[string]any{"bins": 30, "c": 1}), "[mig has different bins: 20 in run 1, 30 in run 3]"},
		{with(codes(1, 2), codes(3)), "[mig is measured on different columns: x 5 y [1 2] in run 1, x 5 y [3] in run 3; --blocks gives all runs the same columns]"},
		{with(codes(1), map[string]any{"codes": map[string]any{}}),
			"[mig is measured on different columns: x 5 y [1] in run 1, equal shares or the best columns in run 3; --blocks gives all runs the same columns]"},
	} {
		must.Equal(t, fmt.Sprint(optionNotes("mig", c.list)), c.want, i)
	}
}

// A comparison notes other numbers of rows and other factors once.
func TestOtherData(t *testing.T) {
	result := func(run, rows int, factors ...string) runResult {
		r := runResult{run, metrics.Result{Basis: metrics.Basis{Rows: rows}}}
		if factors != nil {
			r.result.Parts = []metrics.Part{{Name: "columns"}, {Name: "per_factor", Labels: factors}}
		}
		return r
	}
	for i, c := range []struct {
		mig, dci []runResult
		want     string
	}{
		{[]runResult{result(0, 9, "x"), result(1, 9, "x")}, []runResult{result(0, 9), result(1, 0)}, "[]"},
		{[]runResult{result(0, 9, "x"), result(2, 8, "x")}, []runResult{result(0, 9), result(2, 8)}, "[mig is measured on different numbers of rows: 9 in run 1; 8 in run 3]"},
		{[]runResult{result(0, 0), result(1, 9, "x"), result(2, 9, "x", "y")}, nil, "[mig is measured on different factors: x in run 2; x, y in run 3]"},
		{[]runResult{result(0, 9)}, []runResult{result(0, 9), result(1, 5)}, "[dci is measured on different numbers of rows: 9 in run 1; 5 in run 2]"},
	} {
		must.Equal(t, fmt.Sprint(dataNotes([]string{"mig", "dci"}, map[string][]runResult{"mig": c.mig, "dci": c.dci})), c.want, i)
	}
}

// A comparison warns of codes that are more than twice as wide as others.
func TestOtherScales(t *testing.T) {
	result := func(run int, scale float64, fractions ...float64) runResult {
		r := runResult{run, metrics.Result{Scale: scale}}
		if fractions != nil {
			r.result.Parts = []metrics.Part{{Name: "fraction", Values: fractions}}
		}
		return r
	}
	for i, c := range []struct {
		list []runResult
		want string
	}{
		{[]runResult{result(0, 1), result(1, 2)}, "[]"},
		{[]runResult{result(0, 1), result(1, 0)}, "[]"},
		{[]runResult{result(0, 1), result(1, 3, 0.5), result(2, 2)}, "[mad depends on the scale of the codes, which are 3 times as wide in run 2 as in run 1]"},
		{[]runResult{result(0, 4, 0.25), result(1, 0), result(2, 1, 0.5, 1)}, "[mad depends on the scale of the codes, which are 4 times as wide in run 1 as in run 3; " +
			"the mean fraction of the remaining variance does not depend on it: 0.25 in run 1, 0.75 in run 3]"},
	} {
		must.Equal(t, fmt.Sprint(scaleNotes("mad", c.list)), c.want, i)
	}
}

// Values that differ by rounding share a rank, also small ones of codes that are small.
func TestSharedRanks(t *testing.T) {
	for want, values := range map[string][]metrics.Result{
		"[1.5 1.5 3]": {{Value: 0}, {Value: 8e-17}, {Value: 1e-9}},
		"[2 2 2]":     {{Value: 0.3}, {Value: 0.1 + 0.2}, {Value: 0.3 - 1e-16}},
		"[1 3 2]":     {{Value: 0}, {Value: 8e-17, Scale: 1e-8}, {Value: 1e-18, Scale: 1e-8}},
	} {
		var runs []*compared
		for i, r := range values {
			r.Name, r.Better = "m", metrics.LowerIsBetter
			runs = append(runs, &compared{name: fmt.Sprint(i), results: []metrics.Result{r}})
		}
		must.Equal(t, fmt.Sprint(newComparison(runs, nil).Metrics[0].Ranks), want, values)
	}
}

// A mean of fewer runs than the group has says so.
func TestResultOf(t *testing.T) {
	g := &index.Group{Runs: 3, Mean: map[string]float64{"all": 1, "two": 2, "one": 3}, Std: map[string]float64{"all": 0.5, "two": 0.25},
		Count: map[string]int{"all": 3, "two": 2, "one": 1}}
	for name, want := range map[string]string{"all": "1±0.5", "two": "2±0.25 (2)", "one": "3 (1)", "none": "-"} {
		must.Equal(t, resultOf(g, name), want, name)
	}
}

// A table of groups has a line for each group: the columns, the number of runs, then means and deviations, then counts.
func TestGroupRecords(t *testing.T) {
	groups := []*index.Group{
		{Values: []string{"1", "a"}, Runs: 3, Mean: map[string]float64{"mig": 0.5, "dci": 0.25}, Std: map[string]float64{"mig": 0.125}, Count: map[string]int{"mig": 3, "dci": 1}},
		{Values: []string{"2", "b"}, Runs: 1, Mean: map[string]float64{"mig": 1}, Count: map[string]int{"mig": 1}},
	}
	want := [][]string{{"seed", "model", "runs", "dci_mean", "dci_std", "mig_mean", "mig_std", "dci_runs", "mig_runs"},
		{"1", "a", "3", "0.25", "", "0.5", "0.125", "1", "3"}, {"2", "b", "1", "", "", "1", "", "0", "1"}}
	if got := groupRecords([]string{"seed", "model"}, groups, []string{"dci", "mig"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
