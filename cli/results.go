package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
)

// parseResults reads results from metrics.json. A run writes a list; eval writes an object with the results by name
// below the key metrics. The result keeps the list's order, or takes the order of [metrics.Registry].
func parseResults(src []byte) ([]metrics.Result, error) {
	var list []metrics.Result
	if text := bytes.TrimLeft(src, " \t\r\n"); len(text) > 0 && text[0] == '[' {
		if err := json.Unmarshal(src, &list); err != nil {
			return nil, fmt.Errorf("results of metrics: %w", err)
		}
		return list, validResults(list)
	}
	var all struct {
		Metrics map[string]metrics.Result `json:"metrics"`
	}
	if err := json.Unmarshal(src, &all); err != nil {
		return nil, fmt.Errorf("results of metrics: %w", err)
	}
	if all.Metrics == nil {
		return nil, fmt.Errorf("results of metrics: there is no key \"metrics\"; want what training or eval writes")
	}
	names := metrics.Registry.Names()
	for name, r := range all.Metrics {
		r.Name = name
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b metrics.Result) int {
		if c := slices.Index(names, a.Name) - slices.Index(names, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, validResults(list)
}

func validResults(list []metrics.Result) error {
	names := map[string]bool{}
	for i, r := range list {
		if r.Name == "" || names[r.Name] {
			return fmt.Errorf("results of metrics: the name %q of result %d is empty or repeated; want distinct names", r.Name, i)
		}
		names[r.Name] = true
	}
	return nil
}
