package docs

import (
	_ "embed" // for commandExamples
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/version"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// ReferenceFolder is the folder of the reference's pages among the documents.
const ReferenceFolder = "docs/reference"

// ReferencePage is a page of the reference: Markdown made from the code.
type ReferencePage struct{ Path, Text string }

// ReferencePages returns the pages of the reference in order: everything that this program's configs and command
// lines can name, including parts registered by other code.
func ReferencePages(app *kong.Application) ([]ReferencePage, error) {
	var pages []ReferencePage
	add := func(name, text string) {
		pages = append(pages, ReferencePage{path.Join(ReferenceFolder, name+".md"), text})
	}
	all := Kinds()
	types := typeLinks(all)
	add("commands", commandsPage(app))
	add("config", configPage(types))
	for _, k := range all {
		text, err := partsPage(k, types)
		if err != nil {
			return nil, err
		}
		add(k.Plural, text)
	}
	text, err := tablesPage()
	if err != nil {
		return nil, err
	}
	add("tables", text)
	add("files", filesPage())
	var index strings.Builder
	index.WriteString("# Reference\n\nAll that a config and a command line can name. These pages are made from the code, by `unravel docs`; " +
		"`unravel list` prints the same.\n\n")
	names := map[string]string{}
	for _, k := range all {
		names[path.Join(ReferenceFolder, k.Plural+".md")] = nameList(k)
	}
	for _, p := range pages {
		title, rest, _ := strings.Cut(strings.TrimPrefix(p.Text, "# "), "\n\n")
		about, _, _ := strings.Cut(rest, "\n\n")
		fmt.Fprintf(&index, "* [%s](%s): %s%s\n", title, path.Base(p.Path), strings.TrimSuffix(lowerFirst(about), "."), names[p.Path])
	}
	return append([]ReferencePage{{path.Join(ReferenceFolder, "index.md"), index.String()}}, pages...), nil
}

// nameList lists a kind's parts with links to their sections. Experiments have one page without sections.
func nameList(k kind) string {
	if k.Plural == "configs" {
		return ""
	}
	links := make([]string, len(k.Items))
	for at, i := range k.Items {
		links[at] = fmt.Sprintf("[%s](%s.md#%s)", i.Name, k.Plural, i.Name)
	}
	return ". " + strings.Join(links, ", ")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// Escapes keeps Markdown from interpreting texts from the code.
var Escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`, "[", `\[`, "]", `\]`, "`", "\\`", "\n", " ")

// codeSpan shows a text as code; the text may lie in a table.
func codeSpan(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\n", " "), "|", `\|`)
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// optionTable is a table of keys.
func optionTable(options []config.Option, types *strings.Replacer) string {
	var b strings.Builder
	b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	for _, o := range options {
		value := o.Default
		if len(value) > longDefault {
			value = "..."
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", codeSpan(o.Key), types.Replace(Escapes.Replace(o.Type)), codeSpan(value), Escapes.Replace(o.Doc))
	}
	return b.String()
}

// typeLinks replaces lists of the names of parts by links to their pages.
func typeLinks(all []kind) *strings.Replacer {
	var pairs []string
	for _, k := range all {
		names := make([]string, len(k.Items))
		for i, item := range k.Items {
			names[i] = item.Name
		}
		pairs = append(pairs, Escapes.Replace("one of "+strings.Join(names, ", ")), fmt.Sprintf("one of the [%s](%[1]s.md)", k.Plural))
	}
	return strings.NewReplacer(pairs...)
}

// configPage lists the keys of experiments, sweeps and tables.
func configPage(types *strings.Replacer) string {
	var b strings.Builder
	b.WriteString("# Keys of configs\n\nAll keys of experiments, sweeps and tables, with their defaults.\n\n" +
		"Keys of keys stand after a dot, as in overrides: `train.epochs=5`. `N` stands for the place in a list, from 0, and `NAME` for a name. " +
		"A part is chosen by its name, `model: vae`, or with options, `model: {vae: {latent: 10}}`.\n")
	c := train.Defaults()
	groups := map[string][]config.Option{}
	var order []string
	for _, o := range config.Options(&c) {
		first, _, _ := strings.Cut(o.Key, ".")
		if groups[first] == nil {
			order = append(order, first)
		}
		groups[first] = append(groups[first], o)
	}
	b.WriteString("\n## Experiments\n\n")
	single := config.Options(&configs.Child{})
	for _, key := range order {
		if len(groups[key]) == 1 {
			single = append(single, groups[key]...)
		}
	}
	b.WriteString(optionTable(single, types))
	for _, key := range order {
		if len(groups[key]) > 1 {
			fmt.Fprintf(&b, "\n### %s\n\n%s", key, optionTable(groups[key], types))
		}
	}
	b.WriteString("\n## Sweeps\n\nThe file of `unravel sweep FILE`.\n\n" + optionTable(config.Options(&sweep.Plan{}), types))
	b.WriteString("\n## Tables\n\nThe file of `unravel table FILE`.\n\n" + optionTable(config.Options(&tables.Table{}), types))
	return b.String()
}

// filesPage lists the files of a run's folder.
func filesPage() string {
	var b strings.Builder
	b.WriteString("# Files of a run\n\nWhat a run leaves in its folder, `runs/NAME`.\n\n| file | content |\n|---|---|\n")
	for _, f := range rundir.Files() {
		fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(f.Name), Escapes.Replace(f.Doc))
	}
	return b.String()
}

// exitCodes gives the meanings of the exit codes.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{ui.ExitDone, "done"},
	{ui.ExitFailed, "failed"},
	{ui.ExitUsage, "wrong usage, or a mistake in a config"},
	{ui.ExitStopped, "stopped by a signal, after saving"},
}

// variables are the variables of the environment.
var variables = []struct{ name, meaning string }{
	{cache.RootVariable, "folder of public data sets and of converted files without --data; the default is unravel in the user's folder for caches"},
	{kernel.Variable, "instruction set of the kernels, to repeat a run of another machine: go, on amd64 avx2 or avx512, on arm64 neon; the default is the machine's best"},
	{"GOMAXPROCS", "threads, where the config's train.threads is 0; the default is all processors"},
}

// commandExamples is the first part of the page of commands: command lines that work unchanged.
//
//go:embed commands.md
var commandExamples string

// commandsPage describes the commands with their arguments and flags, from kong's model of them.
func commandsPage(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("# Commands\n\nThe commands of `unravel`: examples first, then all arguments, flags and exit codes.\n\n" + commandExamples + "\n## All commands\n\nThe sections below describe these commands.\n\n")
	var sections strings.Builder
	writeCommands(&b, &sections, app.Node)
	b.WriteString(sections.String())
	b.WriteString("\n## Flags of all commands\n\n" + flagTable(app.Flags))
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, Escapes.Replace(e.meaning))
	}
	b.WriteString("\n## Variables of the environment\n\n| variable | meaning |\n|---|---|\n")
	for _, v := range variables {
		fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(v.name), Escapes.Replace(v.meaning))
	}
	return b.String()
}

// writeCommands writes the list of a node's commands, and their sections.
func writeCommands(list, sections *strings.Builder, n *kong.Node) {
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if len(c.Children) > 0 {
			writeCommands(list, sections, c)
			continue
		}
		name := strings.TrimPrefix(c.FullPath(), "unravel ")
		fmt.Fprintf(list, "* [%s](#%s): %s\n", name, strings.ReplaceAll(name, " ", "-"), strings.TrimSuffix(lowerFirst(Escapes.Replace(c.Help)), "."))
		fmt.Fprintf(sections, "\n## %s\n\n%s\n\n```text\n%s\n```\n", name, Escapes.Replace(c.Help), c.Summary())
		if len(c.Positional) > 0 {
			sections.WriteString("\n| argument | default | meaning |\n|---|---|---|\n")
			for _, a := range c.Positional {
				fmt.Fprintf(sections, "| %s | %s | %s |\n", codeSpan(a.Summary()), codeSpan(a.Default), Meaning(a))
			}
		}
		if len(c.Flags) > 0 {
			sections.WriteString("\n" + flagTable(c.Flags))
		}
	}
}

// flagTable writes a table of flags.
func flagTable(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n|---|---|---|\n")
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", codeSpan(flagUsage(f)), codeSpan(f.Default), Meaning(f.Value))
	}
	return b.String()
}

// flagUsage returns the written form of a flag: --quiet, --[no-]color or --out=DIR.
func flagUsage(f *kong.Flag) string {
	switch {
	case f.Tag.Negatable != "":
		return "--[no-]" + f.Name
	case f.IsBool() || f.IsCounter():
		return "--" + f.Name
	case f.PlaceHolder == "":
		return "--" + f.Name + "=" + strings.ToUpper(f.Name)
	}
	return "--" + f.Name + "=" + f.PlaceHolder
}

// Meaning is plainMeaning for a table in Markdown.
func Meaning(v *kong.Value) string { return Escapes.Replace(plainMeaning(v)) }

// plainMeaning returns the help of a value with its details, and the possible words if the texts do not name them. The
// tag detail holds the details, because kong prints only the tag help.
func plainMeaning(v *kong.Value) string {
	text := strings.TrimSpace(v.Help + " " + v.Tag.Get("detail"))
	words := v.EnumSlice()
	if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
		text = strings.TrimSpace(text + " One of " + strings.Join(words, ", ") + ".")
	}
	return text
}

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
	about, ok := partTitles[k.Plural]
	if !ok {
		return "", fmt.Errorf("reference: the kind %s has no title", k.Plural)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", about[0], about[1])
	if k.Plural == "configs" {
		b.WriteString("`unravel list configs NAME` prints one as a starting point.\n\n| name | what |\n|---|---|\n")
		for _, i := range k.Items {
			fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(i.Name), Escapes.Replace(i.Doc))
		}
		return b.String(), nil
	}
	b.WriteString(jumps(k.Items))
	if k.Plural == "losses" {
		b.WriteString("\nA weight is a number or a ramp: `{from: 0, to: 1, steps: 10000}`, also with `shape: cosine` or `cycle: 20000`, or `{from: 1, to: 0, decay: 0.999}`.\n")
	}
	for _, i := range k.Items {
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
		links[at] = fmt.Sprintf("[%s](#%s)", i.Name, i.Name)
	}
	return strings.Join(links, ", ") + "\n"
}

// partSection describes a part: its purpose, source, units, range and options.
func partSection(i item, types *strings.Replacer) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s.\n", i.Name, upperFirst(Escapes.Replace(strings.TrimSuffix(i.Doc, "."))))
	var facts []string
	if i.Source != "" {
		facts = append(facts, "Source: "+Escapes.Replace(i.Source)+".")
	}
	if m, ok := i.Settings.(metrics.Metric); ok {
		facts = append(facts, metricFacts(m))
	}
	if i.Units != "" {
		facts = append(facts, "Units: "+Escapes.Replace(i.Units)+".")
	}
	if len(facts) > 0 {
		b.WriteString("\n" + strings.Join(facts, " ") + "\n")
	}
	list, err := partList(i.Settings)
	if err != nil {
		return "", fmt.Errorf("%s: %w", i.Name, err)
	}
	options := config.Options(i.Settings)
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
		text = fmt.Sprintf("Range: %s to %s. ", ui.Digits(least), ui.Digits(most))
	case !math.IsInf(least, 0):
		text = fmt.Sprintf("Range: %s and more. ", ui.Digits(least))
	}
	return text + "Better: " + m.Better().String() + "."
}

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
		fmt.Fprintf(&b, "* [%s](#%s): %s\n", name, name, Escapes.Replace(t.Title))
		fmt.Fprintf(&sections, "\n## %s\n\n%s. Source: %s. Scales: %s. Rows: %d.\n\n| column | measured by | meaning |\n|---|---|---|\n",
			name, Escapes.Replace(t.Title), Escapes.Replace(t.Source), strings.Join(t.Scales.Names(), ", "), len(t.Rows))
		for _, c := range t.Columns {
			label := c.Label
			if c.Group != "" {
				label = c.Group + ": " + c.Label
			}
			fmt.Fprintf(&sections, "| %s | %s | %s |\n", Escapes.Replace(label), measuredBy(c), Escapes.Replace(c.Doc))
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
			text += ", " + Escapes.Replace(c.Part)
		}
		return text
	case len(c.Seconds) > 0:
		return "seconds of " + Escapes.Replace(strings.Join(c.Seconds, ", "))
	case len(c.Share) > 0:
		return "share of " + Escapes.Replace(strings.Join(c.Share, ", "))
	}
	return "the run's fit, " + Escapes.Replace(string(c.Fit))
}

// roff keeps roff from interpreting a text.
var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ", "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// Manual returns the manual page unravel(1), from kong's model of the command line, for man and groff.
func Manual(app *kong.Application) string {
	var b strings.Builder
	name := version.Name()
	fmt.Fprintf(&b, ".TH UNRAVEL 1 \"\" \"unravel %s\" \"User Commands\"\n", roff.Replace(name[:min(12, len(name))]))
	fmt.Fprintf(&b, ".SH NAME\nunravel \\- train and measure disentangled representations\n.SH SYNOPSIS\n.B unravel\n.I COMMAND\n[\\fIARGUMENT\\fR ...]\n")
	b.WriteString(".SH COMMANDS\n")
	manualCommands(&b, app.Node)
	b.WriteString(".SH OPTIONS OF ALL COMMANDS\n")
	manualFlags(&b, app.Flags)
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range exitCodes {
		manualItem(&b, fmt.Sprint(e.code), e.meaning)
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range variables {
		manualItem(&b, v.name, v.meaning)
	}
	b.WriteString(".SH FILES\nA run leaves these files in its folder, runs/NAME.\n")
	for _, f := range rundir.Files() {
		manualItem(&b, f.Name, f.Doc)
	}
	b.WriteString(".SH SEE ALSO\n.B unravel docs\nwrites all pages as a site.\n")
	return b.String()
}

// manualCommands writes a subsection for each command below a node.
func manualCommands(b *strings.Builder, n *kong.Node) {
	for _, c := range n.Children {
		switch {
		case c.Hidden:
		case len(c.Children) > 0:
			manualCommands(b, c)
		default:
			fmt.Fprintf(b, ".SS %s\n%s\n", roff.Replace(strings.TrimPrefix(c.Summary(), "unravel ")), ManualText(c.Help))
			for _, a := range c.Positional {
				manualItem(b, a.Summary(), manualMeaning(a))
			}
			manualFlags(b, c.Flags)
		}
	}
}

// manualFlags writes a list of flags.
func manualFlags(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		if !f.Hidden {
			manualItem(b, flagUsage(f), manualMeaning(f.Value))
		}
	}
}

// manualMeaning returns the help of a value, with its default.
func manualMeaning(v *kong.Value) string {
	text := plainMeaning(v)
	if v.Default != "" && !v.IsBool() {
		text += fmt.Sprintf(" Default: %s.", v.Default)
	}
	return text
}

// manualItem writes a term and its meaning.
func manualItem(b *strings.Builder, term, meaning string) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff.Replace(term), ManualText(meaning))
}

// ManualText returns a paragraph. A dot at its beginning would be a request of roff.
func ManualText(text string) string {
	text = roff.Replace(text)
	if slices.ContainsFunc([]string{".", `\(aq`}, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return `\&` + text
	}
	return text
}
