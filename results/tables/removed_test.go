package tables

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Each key of earlier tables is an error with its position and its replacement.
func TestRemovedKeys(t *testing.T) {
	const head = "name: t\ntitle: t\nsource: t\nreference: {file: r.csv}\n"
	const byScale = "in tables, settings of a scale stand under by_scale"
	for _, c := range []struct{ key, instead, place string }{
		{"quick", byScale, "rows: [{label: a, from: {runs: {config: quickstart, quick: {train.epochs: 1}}}}]"},
		{"quick", byScale, "datasets: [{label: a, quick: {train.epochs: 1}}]"},
		{"quick", byScale, "rows: [{label: a, from: {mimosa: {config: ae/chopsticks, quick: {}}}}]"},
		{"full", byScale, "rows: [{label: a, full: true}]"},
		{"full", byScale, "datasets: [{label: a, full: true}]"},
		{"full", byScale, "rows: [{label: a, from: {runs: {config: quickstart, full: {}}}}]"},
		{"fixed", "in tables, set has its place", "rows: [{label: a, from: {runs: {config: quickstart, fixed: {train.epochs: 1}}}}]"},
		{"merged_share", "in tables, min_merged has its place", "rows: [{label: a, from: {mimosa: {config: ae/chopsticks, merged_share: 0.1}}}]"},
		{"compare", "in tables, times are compared by their ratios without it", "compare: ratio"},
		{"aggregate", "in tables, times are medians without it", "columns: [{label: a, metric: mig, aggregate: median}]"},
		{"subset", "in tables, it is a key of the source", "subset: 100"},
		{"shipped", "in tables, the ledger has the results of runs", "shipped: results/t.csv"},
	} {
		files := fstest.MapFS{"t.yaml": {Data: []byte(head + c.place + "\n")}, "r.csv": {Data: []byte("row,a\n")}}
		_, err := Load(files, "t.yaml", "")
		if err == nil || !strings.Contains(err.Error(), `unknown key "`+c.key+`"; `+c.instead) || !strings.HasPrefix(err.Error(), "t.yaml:5:") {
			t.Errorf("%s: %v", c.place, err)
		}
	}
}
