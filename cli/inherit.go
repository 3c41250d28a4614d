package cli

import (
	"slices"
	"strings"
)

// setKeys reports which keys of metric i of --metrics are set: by its own settings or by --option. A dialect sets all
// keys except the code columns, which belong to the codes.
func setKeys(texts, leftOut, options []string, like string) func(i int, key string) bool {
	items, err := metricItems(texts)
	if err != nil { // chooseMetrics has reported it
		return func(int, string) bool { return true }
	}
	items = slices.DeleteFunc(items, func(m metricItem) bool { return slices.Contains(leftOut, m.name) })
	return func(i int, key string) bool {
		m := items[i]
		if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, m.name+"."+key+"=") }) {
			return true
		}
		if m.with != nil {
			if m.with.Get(m.name).Get(key) != nil {
				return true
			}
		}
		return like != "" && key != "codes" && key != "assign" && key != "columns"
	}
}
