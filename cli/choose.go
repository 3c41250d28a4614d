package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/metrics"
)

// chooseMetrics returns metrics by name with their defaults, or with the options of a dialect if like names one, changed by
// options METRIC.KEY=VALUE; nil without names. Metrics of a preset that the dialect does not have are left out.
func chooseMetrics(names, options []string, like string) (list []metrics.Choice, leftOut []string, err error) {
	preset := presetNamed(names)
	if preset {
		names = presets()[names[0]]
	}
	if like != "" {
		entry, err := metrics.Dialects.Lookup(like)
		if err != nil {
			return nil, nil, usageError{err}
		}
		has := entry.New()
		for _, name := range slices.Clone(names) {
			_, err := has.In(like, name)
			if _, unknown := metrics.Registry.Lookup(name); err == nil || unknown != nil {
				continue
			}
			if !preset {
				return nil, nil, usagef("--like: %w", err)
			}
			leftOut = append(leftOut, name)
		}
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(leftOut, name) })
	}
	list, err = optedMetrics(names, options, like)
	return list, leftOut, err
}

// optedMetrics returns metrics by name with options.
func optedMetrics(names, options []string, like string) ([]metrics.Choice, error) {
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
		if like != "" {
			settings[name] = append([]string{"like: " + like}, settings[name]...)
		}
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
