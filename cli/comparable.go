package cli

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
)

// widest is the smallest ratio between scales of codes that gives a warning.
const widest = 2

// comparability lists reasons why values of the runs are hard to compare: other options of a metric, or other scales
// of codes.
func comparability(runs []*compared) (notes []string) {
	all := map[string][]runResult{}
	var names []string
	for i, r := range runs {
		for _, result := range r.results {
			if all[result.Name] == nil {
				names = append(names, result.Name)
			}
			all[result.Name] = append(all[result.Name], runResult{i, result})
		}
	}
	for _, name := range names {
		notes = append(notes, otherOptions(name, all[name])...)
		notes = append(notes, otherScales(name, all[name])...)
	}
	return notes
}

// runResult is a result of a run.
type runResult struct {
	run    int
	result metrics.Result
}

// otherOptions names options of a metric that differ between runs, with the value in each run.
func otherOptions(name string, list []runResult) (notes []string) {
	keys := map[string]bool{}
	for _, m := range list {
		if m.result.Options == nil { // stored without
			return nil
		}
		for key := range m.result.Options {
			keys[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		first := list[0].result.Options[key]
		if !slices.ContainsFunc(list, func(m runResult) bool { return !reflect.DeepEqual(m.result.Options[key], first) }) {
			continue
		}
		var of []string
		for _, m := range list {
			of = append(of, fmt.Sprintf("%s in run %d", optionText(key, m.result.Options[key]), m.run+1))
		}
		if key == "codes" {
			notes = append(notes, fmt.Sprintf("%s is measured on other columns: %s; --blocks gives all runs the same columns", name, strings.Join(of, ", ")))
			continue
		}
		notes = append(notes, fmt.Sprintf("%s has other %s: %s", name, key, strings.Join(of, ", ")))
	}
	return notes
}

// optionText writes an option in a few words. Columns of factors are sorted by the factors' names.
func optionText(key string, value any) string {
	codes, ok := value.(map[string]any)
	switch {
	case key != "codes" || !ok:
		return fmt.Sprint(value)
	case len(codes) == 0:
		return "equal shares or the best columns"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(codes)) {
		parts = append(parts, fmt.Sprintf("%s %v", name, codes[name]))
	}
	return strings.Join(parts, " ")
}

// otherScales warns of other scales of codes if they change the value. It adds the fractions of variance, because
// scales do not change these.
func otherScales(name string, list []runResult) []string {
	var scaled []runResult
	for _, m := range list {
		if m.result.Scale > 0 {
			scaled = append(scaled, m)
		}
	}
	if len(scaled) < 2 {
		return nil
	}
	by := func(a, b runResult) int {
		if a.result.Scale < b.result.Scale {
			return -1
		}
		return 1
	}
	least, most := slices.MinFunc(scaled, by), slices.MaxFunc(scaled, by)
	if most.result.Scale <= widest*least.result.Scale {
		return nil
	}
	note := fmt.Sprintf("%s depends on the scale of the codes, which are %s times as wide in run %d as in run %d",
		name, report.Number(most.result.Scale/least.result.Scale), most.run+1, least.run+1)
	var fractions []string
	for _, m := range scaled {
		if part := m.result.Part("fraction"); part != nil {
			fractions = append(fractions, fmt.Sprintf("%s in run %d", report.Number(factor.Mean.Of(part)), m.run+1))
		}
	}
	if len(fractions) == len(scaled) {
		note += "; the mean fraction of variance that is left is free of it: " + strings.Join(fractions, ", ")
	}
	return []string{note}
}
