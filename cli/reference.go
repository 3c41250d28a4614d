package cli

import (
	"fmt"
	"path"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// referenceFolder is the folder of the reference's pages among the documents.
const referenceFolder = "docs/reference"

// referencePage is a page of the reference: Markdown made from the code.
type referencePage struct{ path, text string }

// referencePages returns the pages of the reference in order: everything that this program's configs and command
// lines can name, including parts registered by other code.
func referencePages(app *kong.Application) ([]referencePage, error) {
	var pages []referencePage
	add := func(name, text string) {
		pages = append(pages, referencePage{path.Join(referenceFolder, name+".md"), text})
	}
	all := kinds()
	types := typeLinks(all)
	add("commands", commandsPage(app))
	add("config", configPage(types))
	for _, k := range all {
		text, err := partsPage(k, types)
		if err != nil {
			return nil, err
		}
		add(k.plural, text)
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
		names[path.Join(referenceFolder, k.plural+".md")] = nameList(k)
	}
	for _, p := range pages {
		title, rest, _ := strings.Cut(strings.TrimPrefix(p.text, "# "), "\n\n")
		about, _, _ := strings.Cut(rest, "\n\n")
		fmt.Fprintf(&index, "* [%s](%s): %s%s\n", title, path.Base(p.path), strings.TrimSuffix(lowerFirst(about), "."), names[p.path])
	}
	return append([]referencePage{{path.Join(referenceFolder, "index.md"), index.String()}}, pages...), nil
}

// nameList lists a kind's parts with links to their sections. Experiments have one page without sections.
func nameList(k kind) string {
	if k.plural == "configs" {
		return ""
	}
	links := make([]string, len(k.items))
	for at, i := range k.items {
		links[at] = fmt.Sprintf("[%s](%s.md#%s)", i.name, k.plural, i.name)
	}
	return ". " + strings.Join(links, ", ")
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// escapes keeps Markdown from interpreting texts from the code.
var escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`, "[", `\[`, "]", `\]`, "`", "\\`", "\n", " ")

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
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", codeSpan(o.Key), types.Replace(escapes.Replace(o.Type)), codeSpan(value), escapes.Replace(o.Doc))
	}
	return b.String()
}

// typeLinks replaces lists of the names of parts by links to their pages.
func typeLinks(all []kind) *strings.Replacer {
	var pairs []string
	for _, k := range all {
		names := make([]string, len(k.items))
		for i, item := range k.items {
			names[i] = item.name
		}
		pairs = append(pairs, escapes.Replace("one of "+strings.Join(names, ", ")), fmt.Sprintf("one of the [%s](%[1]s.md)", k.plural))
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
		fmt.Fprintf(&b, "| %s | %s |\n", codeSpan(f.Name), escapes.Replace(f.Doc))
	}
	return b.String()
}
