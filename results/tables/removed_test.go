package tables

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// Each key of an earlier version is an error that names its place and what takes the key's place.
func TestRemovedKeys(t *testing.T) {
	head := "name: t\ntitle: t\nsource: t\nreference: {file: r.csv}\n"
	places := map[string][]string{
		"quick":        {"rows: [{label: a, from: {runs: {config: quickstart, KEY: {train.epochs: 1}}}}]", "datasets: [{label: a, KEY: {train.epochs: 1}}]", "rows: [{label: a, from: {mimosa: {config: ae/chopsticks, KEY: {}}}}]"},
		"full":         {"rows: [{label: a, KEY: true}]", "datasets: [{label: a, KEY: true}]", "rows: [{label: a, from: {runs: {config: quickstart, KEY: {}}}}]"},
		"fixed":        {"rows: [{label: a, from: {runs: {config: quickstart, KEY: {train.epochs: 1}}}}]"},
		"merged_share": {"rows: [{label: a, from: {mimosa: {config: ae/chopsticks, KEY: 0.1}}}]"},
		"compare":      {"KEY: ratio"},
		"aggregate":    {"columns: [{label: a, metric: mig, KEY: median}]"},
		"subset":       {"KEY: 100"},
		"shipped":      {"KEY: results/t.csv"},
	}
	page, err := os.ReadFile("../../docs/promise.md")
	if err != nil {
		t.Fatal(err)
	}
	for key, instead := range removed {
		if !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("docs/promise.md does not list %s", key)
		}
		if len(places[key]) == 0 {
			t.Errorf("%s: the test has no place for it", key)
		}
		for _, place := range places[key] {
			files := fstest.MapFS{"t.yaml": {Data: []byte(head + strings.ReplaceAll(place, "KEY", key) + "\n")}, "r.csv": {Data: []byte("row,a\n")}}
			if _, err := Load(files, "t.yaml", ""); err == nil || !strings.Contains(err.Error(), `unknown key "`+key+`"; `+instead) {
				t.Errorf("%s: %v", place, err)
			} else if !strings.HasPrefix(err.Error(), "t.yaml:5:") {
				t.Errorf("%s: no place: %v", place, err)
			}
		}
	}
}
