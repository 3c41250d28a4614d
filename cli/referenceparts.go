package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
)

// partTitles has, for each page about parts, its title and the config text that chooses a part.
var partTitles = map[string][2]string{
	"models":        {"Models", "The values of `model`."},
	"encoders":      {"Encoders", "Networks from images to features, the values of `encoder` of a model."},
	"decoders":      {"Decoders", "Networks from codes to images, the values of `decoder` of a model."},
	"layers":        {"Layers", "Layers of networks, for the lists of `encoder: {layers: [...]}` and `decoder: {layers: [...]}`."},
	"latents":       {"Latent spaces", "Spaces of codes, for the list `latent` of `delta-vae` and `lsbd-vae`."},
	"losses":        {"Losses", "The elements of the list `losses`."},
	"metrics":       {"Metrics", "The elements of the list `metrics`, and of `unravel eval --metrics`."},
	"dialects":      {"Dialects", "Definitions of metrics as a library or a paper has them, the values of the option `like` and of `unravel eval --like`."},
	"datasets":      {"Data sets", "The values of `dataset`."},
	"supervisions":  {"Supervision", "Known facts about the images: the values of `supervision`."},
	"augmentations": {"Augmentations", "Operations on images, for the list `views.pipeline`."},
	"pipelines":     {"Pipelines", "Lists of augmentations by name, the values of `views.pipeline`."},
	"optimizers":    {"Optimisers", "The values of `train.optimizer`."},
	"searches":      {"Searches", "How a sweep looks for the best settings, the values of `search`."},
	"schedules":     {"Schedules", "Learning rates over time, the values of `train.schedule`."},
	"sources":       {"Sources of tables", "Where the codes of a row of a table come from, the values of `from`."},
	"algorithms":    {"Algorithms", "Algorithms with a command each; options are arguments `key=value`."},
	"configs":       {"Experiments", "The experiments that come with Unravel, by the names that `unravel train NAME` takes."},
}

// partsPage describes all parts of a kind.
func partsPage(k kind, types *strings.Replacer) (string, error) {
	about, ok := partTitles[k.plural]
	if !ok {
		return "", fmt.Errorf("reference: the kind %s has no title", k.plural)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", about[0], about[1])
	if k.plural == "configs" {
		b.WriteString("`unravel list configs NAME` prints one as a starting point.\n\n| name | what |\n|---|---|\n")
		for _, i := range k.items {
			fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(i.name), escapes.Replace(i.doc))
		}
		return b.String(), nil
	}
	b.WriteString(jumps(k.items))
	if k.plural == "losses" {
		b.WriteString("\nA weight is a number or a ramp: `{from: 0, to: 1, steps: 10000}`, also with `shape: cosine` or `cycle: 20000`, or `{from: 1, to: 0, decay: 0.999}`.\n")
	}
	for _, i := range k.items {
		text, err := partSection(i, types)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + text)
	}
	return b.String(), nil
}

// jumps writes a line of links to the sections of parts.
func jumps(items []item) string {
	links := make([]string, len(items))
	for at, i := range items {
		links[at] = fmt.Sprintf("[%s](#%s)", i.name, i.name)
	}
	return strings.Join(links, ", ") + "\n"
}

// partSection describes a part: its purpose, source, units, range and options.
func partSection(i item, types *strings.Replacer) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s.\n", i.name, upperFirst(escapes.Replace(strings.TrimSuffix(i.doc, "."))))
	var facts []string
	if i.source != "" {
		facts = append(facts, "Source: "+escapes.Replace(i.source)+".")
	}
	if m, ok := i.settings.(metrics.Metric); ok {
		facts = append(facts, metricFacts(m))
	}
	if i.units != "" {
		facts = append(facts, "Units: "+escapes.Replace(i.units)+".")
	}
	if len(facts) > 0 {
		b.WriteString("\n" + strings.Join(facts, " ") + "\n")
	}
	list, err := partList(i.settings)
	if err != nil {
		return "", fmt.Errorf("%s: %w", i.name, err)
	}
	options := config.Options(i.settings)
	switch {
	case list != "":
		b.WriteString("\n```yaml\n" + list + "```\n")
	case len(options) == 0:
		b.WriteString("\nNo options.\n")
	default:
		b.WriteString("\n" + optionTable(options, types))
	}
	return b.String(), nil
}

// partList returns the YAML of settings that are a list of parts; empty for other settings.
func partList(settings any) (string, error) {
	var whole any
	switch s := settings.(type) {
	case augment.Pipeline:
		whole = struct {
			Pipeline augment.Pipeline `yaml:"pipeline"`
		}{s}
	case metrics.Dialect:
		whole = struct {
			Metrics []metrics.Choice `yaml:"metrics"`
		}{s}
	default:
		return "", nil
	}
	text, err := config.Encode(whole)
	return string(text), err
}

// metricFacts gives the range of a metric's values and the better direction.
func metricFacts(m metrics.Metric) string {
	least, most := math.Inf(-1), math.Inf(1)
	if r, ok := m.(metrics.Bounded); ok {
		least, most = r.Range()
	}
	text := ""
	switch {
	case !math.IsInf(most, 0):
		text = fmt.Sprintf("Range: %s to %s. ", decimal(least), decimal(most))
	case !math.IsInf(least, 0):
		text = fmt.Sprintf("Range: %s and more. ", decimal(least))
	}
	return text + "Better: " + m.Better().String() + "."
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// tablesPage lists the tables of papers.
func tablesPage() (string, error) {
	var b strings.Builder
	b.WriteString("# Tables of papers\n\nThe tables that come with Unravel, by the names that `unravel table NAME` takes.\n\n" +
		"`unravel table` also says how many of the printed values are reproduced.\n\n")
	var sections strings.Builder
	for _, name := range tables.Names() {
		t, err := tables.Open(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "* [%s](#%s): %s\n", name, name, escapes.Replace(t.Title))
		fmt.Fprintf(&sections, "\n## %s\n\n%s. Source: %s. Scales: %s. Rows: %d.\n\n| column | measured by | meaning |\n|---|---|---|\n",
			name, escapes.Replace(t.Title), escapes.Replace(t.Source), strings.Join(t.Scales.Names(), ", "), len(t.Rows))
		for _, c := range t.Columns {
			label := c.Label
			if c.Group != "" {
				label = c.Group + ": " + c.Label
			}
			fmt.Fprintf(&sections, "| %s | %s | %s |\n", escapes.Replace(label), measuredBy(c), escapes.Replace(c.Doc))
		}
	}
	return b.String() + sections.String(), nil
}

// measuredBy names the source of a column's values.
func measuredBy(c tables.Column) string {
	switch {
	case c.Metric.Name != "":
		text := fmt.Sprintf("[%s](metrics.md#%[1]s)", c.Metric.Name)
		if c.Part != "" {
			text += ", " + escapes.Replace(c.Part)
		}
		return text
	case len(c.Seconds) > 0:
		return "seconds of " + escapes.Replace(strings.Join(c.Seconds, ", "))
	case len(c.Share) > 0:
		return "share of " + escapes.Replace(strings.Join(c.Share, ", "))
	}
	return "the run's fit, " + escapes.Replace(string(c.Fit))
}
