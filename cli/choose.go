package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/metrics"
)

// chooseMetrics returns metrics by name with their defaults, changed by options METRIC.KEY=VALUE; nil without names.
func chooseMetrics(names, options []string) ([]metrics.Choice, error) {
	if presetNamed(names) {
		names = presets()[names[0]]
	}
	settings := map[string][]string{}
	for _, option := range options {
		key, value, ok := strings.Cut(option, "=")
		name, key, of := strings.Cut(key, ".")
		if !ok || !of || strings.ContainsAny(option, "\n\r") {
			return nil, usagef("--option %q: want METRIC.KEY=VALUE, such as med.k=2", option)
		}
		if len(names) > 0 && !slices.Contains(names, name) {
			return nil, usagef("--option %q: %s is not among --metrics", option, name)
		}
		settings[name] = append(settings[name], key+": "+value)
	}
	var list []metrics.Choice
	for _, name := range names {
		entry, err := metrics.Registry.Lookup(name)
		if err != nil {
			return nil, usageError{err}
		}
		choice := metrics.Choice{Name: name, Value: entry.New()}
		if s := settings[name]; s != nil {
			if choice, err = decodeChoice(name, s); err != nil {
				return nil, usageError{err}
			}
		}
		list = append(list, choice)
	}
	if names == nil && options != nil {
		return nil, usagef("--option belongs to --metrics")
	}
	return list, nil
}

func presetNamed(names []string) bool { return len(names) == 1 && presets()[names[0]] != nil }

// presets maps names to lists of metrics; those of a list that do not apply are left out.
func presets() map[string][]string {
	return map[string][]string{"all": metrics.Registry.Names(), "fast": metrics.FastNames()}
}

// decodeChoice decodes the settings of a metric as a config does.
func decodeChoice(name string, settings []string) (metrics.Choice, error) {
	var c struct {
		Metrics []metrics.Choice `yaml:"metrics"`
	}
	node, err := config.Parse("--option", fmt.Appendf(nil, "metrics:\n  - %s: {%s}\n", name, strings.Join(settings, ", ")))
	if err == nil {
		err = node.Decode(&c)
	}
	if err != nil {
		return metrics.Choice{}, err
	}
	return c.Metrics[0], nil
}
