// Package overrides completes overrides key.path=value of a config.
package overrides

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/catalog"
)

// Complete returns the overrides of a config n with their consequences. A public data set takes over the settings of
// the data set that imitates it, and a short list of metrics becomes a mapping if overrides set other keys of metrics.
// parse reads the config again.
func Complete(n *config.Node, parse func() (*config.Node, error), measureKeys, overrides []string) []string {
	return longMetrics(n, measureKeys, standIns(parse, overrides))
}

// standIns adds overrides if an override replaces a drawn data set by the public data set that it imitates.
func standIns(parse func() (*config.Node, error), overrides []string) []string {
	const data = "dataset="
	if !slices.ContainsFunc(overrides, func(o string) bool {
		return strings.HasPrefix(o, data) &&
			!strings.Contains(o, "{")
	}) {
		return overrides
	}
	n, err := parse()
	if err != nil {
		return overrides
	}
	var all []string
	for _, o := range overrides {
		added := []string{o}
		if name, ok := strings.CutPrefix(o, data); ok {
			added = append(added, realSettings(n.Get("dataset"), strings.TrimSpace(name))...)
		}
		if n.Override(added...) != nil {
			return overrides // Load reports the error
		}
		all = append(all, added...)
	}
	return all
}

// realSettings lists, as overrides, the settings that a public data set takes over from its twin in a config.
func realSettings(n *config.Node, name string) (list []string) {
	var c catalog.Choice
	if n == nil || n.Decode(&c) != nil {
		return nil
	}
	stands, ok := catalog.RealOf(c.Value)
	plain, err := catalog.Named(name)
	if !ok || stands.Name != name || err != nil {
		return nil
	}
	real, defaults := settingsOf(stands), settingsOf(plain)
	if real == nil || defaults == nil {
		return nil
	}
	for _, key := range real.Keys() {
		if value := real.Get(key).Inline(); value != defaults.Get(key).Inline() {
			list = append(list, fmt.Sprintf("dataset.%s.%s=%s", name, key, value))
		}
	}
	return list
}

// settingsOf returns the config's settings of a data set; nil if there are none.
func settingsOf(c catalog.Choice) *config.Node {
	text, err := config.Encode(c.Value)
	if err != nil {
		return nil
	}
	n, err := config.Parse(c.Name, text)
	if err != nil {
		return nil
	}
	return n
}

// longMetrics converts a short list of metrics to a mapping with the key final, if overrides set other keys.
func longMetrics(n *config.Node, measureKeys, overrides []string) []string {
	if !slices.ContainsFunc(overrides, func(o string) bool {
		path, _, _ := strings.Cut(o, "=")
		return slices.ContainsFunc(measureKeys, func(key string) bool {
			return path == "metrics."+key || strings.HasPrefix(path, "metrics."+key+".")
		})
	}) {
		return overrides
	}
	if m := n.Get("metrics"); m != nil {
		m.Nest("final")
	}
	long := slices.Clone(overrides)
	for i, o := range long {
		if value, ok := strings.CutPrefix(o, "metrics="); ok && strings.HasPrefix(strings.TrimSpace(value), "[") {
			long[i] = "metrics.final=" + value
		}
	}
	return long
}
