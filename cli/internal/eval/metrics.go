package eval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
)

// Choice is the value of --metrics, with the metrics that it names.
type Choice struct {
	Items   []Item           // as written, without LeftOut
	Metrics []metrics.Choice // with their options; nil without --metrics
	LeftOut []string         // metrics of a preset that the dialect does not have
}

// ChooseMetrics returns metrics with their defaults, or with the options of the dialect like. Options METRIC.KEY=VALUE
// change them. A text is a list of names, or of metrics with settings in config format: `mig, logic: "forall i: ..."`.
func ChooseMetrics(texts, options []string, like string) (c Choice, err error) {
	if c.Items, err = metricItems(texts); err != nil {
		return c, err
	}
	if like != "" {
		entry, err := metrics.Dialects.Lookup(like)
		if err != nil {
			return c, ui.Usage(err)
		}
		dialect := entry.New()
		for _, m := range c.Items {
			_, err := dialect.In(like, m.name)
			if _, unknown := metrics.Registry.Lookup(m.name); err == nil || unknown != nil {
				continue
			}
			if !PresetNamed(texts) {
				return c, ui.Usagef("--like: %w", err)
			}
			c.LeftOut = append(c.LeftOut, m.name)
		}
		c.Items = slices.DeleteFunc(c.Items, func(m Item) bool { return slices.Contains(c.LeftOut, m.name) })
	}
	c.Metrics, err = metricsWithOptions(c.Items, options, like)
	return c, err
}

func metricsWithOptions(items []Item, options []string, like string) ([]metrics.Choice, error) {
	settings := map[string][]string{}
	for _, option := range options {
		key, value, ok := strings.Cut(option, "=")
		name, key, hasName := strings.Cut(key, ".")
		if !ok || !hasName || strings.ContainsAny(option, "\n\r") {
			return nil, ui.Usagef("--option %q: want METRIC.KEY=VALUE, such as med.k=2", option)
		}
		if len(items) > 0 && !slices.ContainsFunc(items, func(m Item) bool { return m.name == name }) {
			return nil, ui.Usagef("--option %q: %s is not among --metrics", option, name)
		}
		settings[name] = append(settings[name], key+": "+value)
	}
	var list []metrics.Choice
	for _, m := range items {
		choice, err := m.choose(settings[m.name], like)
		if err != nil {
			return nil, ui.Usage(err)
		}
		list = append(list, choice)
	}
	if items == nil && options != nil {
		return nil, ui.Usagef("--option belongs to --metrics")
	}
	return list, nil
}

// Item is a metric of --metrics.
type Item struct {
	name string
	With *config.Node // the metric with its settings; nil: only a name
}

// unquoted matches a metric with an unquoted text, such as a sentence.
var unquoted = regexp.MustCompile(`^\s*([a-z0-9-]+):\s+([^\s"'{\[].*)$`)

// innerQuotes matches a name in double quotes inside a double-quoted text, which ends the text too early.
var innerQuotes = regexp.MustCompile(`:\s*"[^"]*[yz]\."`)

func metricItems(texts []string) ([]Item, error) {
	var list []Item
	if PresetNamed(texts) {
		for _, name := range presets()[texts[0]] {
			list = append(list, Item{name: name})
		}
		return list, nil
	}
	for _, text := range texts {
		if m := unquoted.FindStringSubmatch(text); m != nil {
			text = m[1] + ": " + strconv.Quote(m[2])
		}
		sequence := text
		if !strings.HasPrefix(strings.TrimSpace(text), "[") { // otherwise it already is a list, as in a config
			sequence = "[" + text + "]"
		}
		root, err := config.Parse("--metrics", []byte(sequence))
		if err != nil {
			hint := ""
			if innerQuotes.MatchString(text) {
				hint = "; a name in quotes inside a sentence in double quotes: put the sentence in single quotes, or write \\\" in it"
			}
			return nil, ui.Usagef("--metrics %s: want names separated by commas, or NAME: SETTINGS, such as 'mig, logic: \"forall[mean] i: z(i) =[squared] y(i)\"'%s: %w", text, hint, err)
		}
		for _, n := range root.Items() {
			switch keys := n.Keys(); {
			case n.IsScalar() && presets()[n.Text()] != nil:
				return nil, ui.Usagef("--metrics: %s already is a list of metrics; want it alone, or only names of metrics",
					n.Text())
			case n.IsScalar():
				list = append(list, Item{name: n.Text()})
			case len(keys) == 1:
				list = append(list, Item{name: keys[0], With: n})
			default:
				return nil, ui.Usage(n.Errorf("want the name of a metric, or NAME: SETTINGS"))
			}
		}
	}
	return list, nil
}

// choose returns the metric with its settings and with further settings in config format.
func (m Item) choose(settings []string, like string) (metrics.Choice, error) {
	if m.With == nil {
		if like != "" {
			settings = append([]string{"like: " + like}, settings...)
		}
		choice, err := metrics.Named(m.name)
		if err == nil && settings != nil {
			choice, err = decodeChoice(m.name, settings)
		}
		return choice, err
	}
	var choice metrics.Choice
	if metricNode := m.With.Get(m.name); like != "" && metricNode.Get("like") == nil {
		if err := m.With.Override(m.name + ".like=" + like); err != nil {
			return choice, err
		}
	}
	if err := m.With.Decode(&choice); err != nil || settings == nil {
		return choice, err
	}
	return choice, config.Load("--option", []byte("{"+strings.Join(settings, ", ")+"}"), choice.Value)
}

func PresetNamed(names []string) bool { return len(names) == 1 && presets()[names[0]] != nil }

// presets maps names to lists of metrics. Metrics of a preset are skipped if they do not apply.
func presets() map[string][]string {
	return map[string][]string{"all": measuring(), "fast": metrics.FastNames()}
}

// measuring lists the metrics that can measure with default settings; logic, for example, needs a sentence.
func measuring() []string {
	var names []string
	for _, e := range metrics.Registry.Entries {
		if v, ok := e.New().(config.Validator); !ok || v.Validate() == nil {
			names = append(names, e.Name)
		}
	}
	return names
}

func decodeChoice(name string, settings []string) (metrics.Choice, error) {
	var c struct {
		Metrics []metrics.Choice `yaml:"metrics"`
	}
	if err := config.Load("--option", fmt.Appendf(nil, "metrics:\n  - %s: {%s}\n", name, strings.Join(settings, ", ")), &c); err != nil {
		return metrics.Choice{}, err
	}
	return c.Metrics[0], nil
}

// sets reports which keys of the i-th metric are set: none without --metrics. A dialect sets all keys except code
// columns.
func (c Choice) sets(options []string, like string) func(i int, key string) bool {
	return func(i int, key string) bool {
		if i >= len(c.Items) {
			return false
		}
		m := c.Items[i]
		if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, m.name+"."+key+"=") }) {
			return true
		}
		return m.With != nil && m.With.Get(m.name).Get(key) != nil || like != "" && key != "codes" && key != "assign" &&
			key != "columns"
	}
}
