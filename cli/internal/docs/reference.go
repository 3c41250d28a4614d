package docs

import (
	"cmp"
	_ "embed" // for the templates
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/lock"
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

//go:embed reference.md.tmpl
var referenceText string

// commandExamples is the first part of the page of commands: command lines that work unchanged.
//
//go:embed commands.md
var commandExamples string

// indexed is a page in the index of the reference.
type indexed struct {
	File, Title, About string
	Parts              []string // names with sections
}

// ReferencePages returns the pages of the reference in order, including parts that other code has registered.
func ReferencePages(app *kong.Application) ([]ReferencePage, error) {
	all := Kinds()
	for i := range all {
		if err := all[i].describe(); err != nil {
			return nil, err
		}
	}
	t, err := pageTemplate(all)
	if err != nil {
		return nil, err
	}
	var pages []ReferencePage
	var index []indexed
	add := func(name, page string, data any, parts ...string) {
		var b strings.Builder
		if err == nil {
			err = t.ExecuteTemplate(&b, page, data)
		}
		pages = append(pages, ReferencePage{path.Join(ReferenceFolder, name+".md"), b.String()})
		title, body, _ := strings.Cut(strings.TrimPrefix(b.String(), "# "), "\n\n")
		about, _, _ := strings.Cut(body, "\n\n")
		index = append(index, indexed{name + ".md", title, about, parts})
	}
	add("commands", "commands", commandLine(app))
	add("config", "config", keysOfConfigs())
	for _, k := range all {
		about, ok := partTitles[k.Kind]
		switch {
		case k.Kind == "configs":
			add(k.Kind, "configs", k)
		case ok:
			add(k.Kind, "parts", titledKind{k, about[0], about[1]}, k.names()...)
		default:
			return nil, fmt.Errorf("reference: the kind %s has no title", k.Kind)
		}
	}
	var list []*tables.Table
	for _, name := range tables.Names() {
		one, err := tables.Open(name)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	add("tables", "tables", list)
	add("files", "files", rundir.Files())
	add("index", "index", index)
	return slices.Concat(pages[len(pages)-1:], pages[:len(pages)-1]), err
}

// Manual returns the manual page unravel(1), from kong's model of the command line, for man and groff.
func Manual(app *kong.Application) (string, error) {
	t, err := pageTemplate(nil)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.ExecuteTemplate(&b, "manual", commandLine(app))
	return b.String(), err
}

func pageTemplate(all []ListedKind) (*template.Template, error) {
	types := typeLinks(all)
	return template.New("reference").Funcs(template.FuncMap{
		"anchor":    func(c *kong.Node) string { return strings.ReplaceAll(commandName(c), " ", "-") },
		"clause":    func(s string) string { return strings.TrimSuffix(strings.ToLower(s[:1])+s[1:], ".") },
		"code":      codeSpan,
		"escape":    Escapes.Replace,
		"facts":     facts,
		"item":      manualItem,
		"join":      strings.Join,
		"meaning":   Meaning,
		"measured":  valueSource,
		"name":      commandName,
		"paragraph": ManualText,
		"plain":     manualMeaning,
		"roff":      roff.Replace,
		"sentence": func(s string) string {
			s = Escapes.Replace(s)
			if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "?") {
				s += "."
			}
			return strings.ToUpper(s[:1]) + s[1:]
		},
		"short":    shortDefault,
		"synopsis": func(c *kong.Node) string { return strings.TrimPrefix(c.Summary(), "unravel ") },
		"type":     func(s string) string { return types.Replace(Escapes.Replace(s)) },
		"usage":    flagUsage,
	}).Parse(referenceText)
}

// Escapes keeps Markdown from interpreting texts from the code.
var Escapes = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "|", `\|`, "[", `\[`, "]", `\]`, "`",
	"\\`", "\n", " ")

// codeSpan formats a text as code, also inside a table.
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

// typeLinks replaces lists of part names by links to their pages.
func typeLinks(all []ListedKind) *strings.Replacer {
	var pairs []string
	for _, k := range all {
		pairs = append(pairs, Escapes.Replace("one of "+strings.Join(k.names(), ", ")),
			fmt.Sprintf("one of the [%s](%[1]s.md)", k.Kind))
	}
	return strings.NewReplacer(pairs...)
}

type optionGroup struct {
	Title   string // empty: none
	Options []config.Option
}

type configKeys struct {
	Experiment   []optionGroup // single keys, then keys with subkeys
	Sweep, Table []config.Option
}

func keysOfConfigs() configKeys {
	keys := configKeys{Experiment: []optionGroup{{Options: config.Options(&configs.Child{})}},
		Sweep: config.Options(&sweep.Plan{}), Table: config.Options(&tables.Table{})}
	first := func(o config.Option) string { name, _, _ := strings.Cut(o.Key, "."); return name }
	groups := map[string][]config.Option{}
	all := config.Options(new(train.Defaults()))
	for _, o := range all {
		groups[first(o)] = append(groups[first(o)], o)
	}
	for _, o := range all {
		switch list := groups[first(o)]; {
		case len(list) == 1:
			keys.Experiment[0].Options = append(keys.Experiment[0].Options, o)
		case len(list) > 1 && list[0].Key == o.Key:
			keys.Experiment = append(keys.Experiment, optionGroup{first(o), list})
		}
	}
	return keys
}

// commands is the data of the page of commands and of the manual page, from kong's model of the command line.
type commands struct {
	Version, Examples    string
	Commands             []*kong.Node
	Flags                []*kong.Flag // of all commands
	ExitCodes, Variables []explained
	Files                []rundir.File
}

type explained struct{ Term, Meaning string }

func commandLine(app *kong.Application) commands {
	name := version.Name()
	return commands{
		Version: name[:min(12, len(name))], Examples: commandExamples, Commands: leaves(app.Node), Flags: app.Flags,
		Files: rundir.Files(),
		ExitCodes: []explained{
			{fmt.Sprint(ui.ExitDone), "done"},
			{fmt.Sprint(ui.ExitFailed), "failed"},
			{fmt.Sprint(ui.ExitUsage), "wrong usage, or a mistake in a config"},
			{fmt.Sprint(ui.ExitStopped), "stopped by a signal, after saving"},
		},
		Variables: []explained{
			{cache.RootVariable, "folder of public data sets and of converted files without --data; the default is unravel in the user's folder for caches"},
			{kernel.Variable, "instruction set of the kernels, to repeat a run of another machine: go, on amd64 avx2 or avx512, on arm64 neon; the default is the machine's best"},
			{lock.ClaimsVariable, "which runs get claims, to share a folder that file locks do not cover: auto (the default: on network file systems and where locks fail), always, never, or only (no locks)"},
			{lock.AfterVariable, "time without a heartbeat after which another process takes a claim over, such as 60s, the default"},
			{"GOMAXPROCS", "threads, where the config's train.threads is 0; the default is all processors"},
		},
	}
}

func leaves(n *kong.Node) (list []*kong.Node) {
	for _, c := range n.Children {
		switch {
		case c.Hidden:
		case len(c.Children) > 0:
			list = append(list, leaves(c)...)
		default:
			list = append(list, c)
		}
	}
	return list
}

func commandName(c *kong.Node) string { return strings.TrimPrefix(c.FullPath(), "unravel ") }

// flagUsage returns the written form of a flag, as in the help: --quiet, --[no-]color, --out=DIR or --std=NUMBER,...
func flagUsage(f *kong.Flag) string {
	switch {
	case f.Tag.Negatable != "":
		return "--[no-]" + f.Name
	case f.IsBool() || f.IsCounter():
		return "--" + f.Name
	}
	usage := "--" + f.Name + "=" + cmp.Or(f.PlaceHolder, strings.ToUpper(f.Name))
	if f.IsSlice() && f.Tag.Sep != -1 {
		usage += ",..."
	}
	return usage
}

// Meaning is plainMeaning for a table in Markdown.
func Meaning(v *kong.Value) string { return Escapes.Replace(plainMeaning(v)) }

// plainMeaning returns the help of a value with its details, and the possible words if neither names them. The tag
// detail holds the details, because kong prints only the tag help.
func plainMeaning(v *kong.Value) string {
	text := strings.TrimSpace(v.Help + " " + v.Tag.Get("detail"))
	words := v.EnumSlice()
	if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
		text = strings.TrimSpace(text + " One of " + strings.Join(words, ", ") + ".")
	}
	return text
}

// titledKind is a kind with the title of its page and the config text that chooses a part.
type titledKind struct {
	ListedKind
	Title, About string
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
}

// facts gives the source of a part, the range of a metric's values, and units.
func facts(p ListedPart) string {
	var list []string
	if p.Source != "" {
		list = append(list, "Source: "+Escapes.Replace(p.Source)+".")
	}
	if m, ok := p.settings.(metrics.Metric); ok {
		list = append(list, metricFacts(m))
	}
	if p.Units != "" {
		list = append(list, "Units: "+Escapes.Replace(p.Units)+".")
	}
	return strings.Join(list, " ")
}

// partList returns the YAML of settings that are a list of parts, or "" for other settings.
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
	low, high := math.Inf(-1), math.Inf(1)
	if r, ok := m.(metrics.Bounded); ok {
		low, high = r.Range()
	}
	text := ""
	switch {
	case !math.IsInf(high, 0):
		text = fmt.Sprintf("Range: %s to %s. ", ui.Digits(low), ui.Digits(high))
	case !math.IsInf(low, 0):
		text = fmt.Sprintf("Range: %s and more. ", ui.Digits(low))
	}
	return text + "Better: " + m.Better().String() + "."
}

// valueSource names the source of a column's values.
func valueSource(c tables.Column) string {
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

func manualMeaning(v *kong.Value) string {
	text := plainMeaning(v)
	if v.Default != "" && !v.IsBool() {
		text += fmt.Sprintf(" Default: %s.", v.Default)
	}
	return text
}

func manualItem(term, meaning string) string {
	return fmt.Sprintf(".TP\n\\fB%s\\fR\n%s\n", roff.Replace(term), ManualText(meaning))
}

// ManualText returns a paragraph. It escapes a dot at the beginning, which would be a request of roff.
func ManualText(text string) string {
	text = roff.Replace(text)
	if slices.ContainsFunc([]string{".", `\(aq`}, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
		return `\&` + text
	}
	return text
}
