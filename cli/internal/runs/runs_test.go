package runs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

func TestParseResults(t *testing.T) {
	results := []metrics.Result{{Name: "mig", Value: 0.5}, {Name: "dlsbd", Value: 0.1, Better: metrics.LowerIsBetter, Notes: []string{"x"}}}
	list, err := json.Marshal(results)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseResults(list)
	if err != nil || !reflect.DeepEqual(got, results) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = ParseResults([]byte(` {"metrics": {"mig": {"value": 0.5, "better": "higher", "score": 3}, "dlsbd": {"value": 0.1, "better": "lower"}}}`))
	if err != nil || len(got) != 2 || got[0].Name != "dlsbd" || got[0].Better != metrics.LowerIsBetter || got[1].Value != 0.5 {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                             "unexpected end",
		"{}":                           `no key "metrics"`,
		`[{"value": 1}]`:               "is empty or repeated",
		`[{"name":"a"},{"name":"a"}]`:  "is empty or repeated",
		`[{"name":"a","better":"up"}]`: `unknown direction "up"`,
		`[{"name":"a","value":"x"}]`:   "cannot unmarshal",
	} {
		if _, err := ParseResults([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
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
		again, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
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
		if got := fmt.Sprint(inFolder(names)); got != want {
			t.Errorf("%v: %s, want %s", names, got, want)
		}
	}
}

// The list shows the state if a run has not finished.
func TestColumnsFit(t *testing.T) {
	list := []shownColumn{{header: "run", cells: []string{"a"}}, {header: "state", cells: []string{"stopped"}}, {header: "a.long.setting", cells: []string{"-"}}}
	rank(list, []*index.Run{{State: sweep.Stopped}})
	if fitting, left := fit(list, 5); len(fitting) != 2 || fitting[1].header != "state" || len(left) != 1 {
		t.Errorf("shown: %v, left out: %q", fitting, left)
	}
}
