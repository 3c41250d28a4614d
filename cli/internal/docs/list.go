package docs

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/search"
	"github.com/unravel-ml/unravel/train/sweep"
)

// List is `unravel list [KIND] [NAME]`; kinds may be singular or plural.
type List struct {
	Kind string `arg:"" optional:"" help:"Kind of part: models, encoders, decoders, layers, latents, losses, metrics, datasets, supervisions, augmentations, pipelines, optimizers, schedules, searches, algorithms, sources, dialects, configs or schema." detail:"Sources are sources of codes for tables. The schema is a JSON Schema of experiments, for editors; schema sweep and schema table describe the other files."`
	Name string `arg:"" optional:"" help:"Name of one part, to print its options, defaults and source." detail:"With encoder or decoder, the name of a config or a FILE.yaml lists the layers of its network."`

	Overrides []string `arg:"" optional:"" name:"option=value" help:"Options of an encoder or decoder with --image or --layers, such as width=32, or settings of a config." detail:"A setting of a config is, for instance, dataset.square.size=32."`

	networkFlags
}

// ListedKind is a kind of parts in `unravel list --json`.
type ListedKind struct {
	Kind  string       `json:"kind"` // plural
	Parts []ListedPart `json:"parts"`
}

// ListedPart is a part in `unravel list KIND --json`.
type ListedPart struct {
	Name    string          `json:"name"`
	Doc     string          `json:"doc,omitempty"`
	Source  string          `json:"source,omitempty"`
	Units   string          `json:"units,omitempty"`
	Options []config.Option `json:"options,omitempty"`
	// text of a config, or the list behind a pipeline or dialect
	YAML string `json:"yaml,omitempty"`

	settings any // nil: a config
}

// PartsOf lists the parts of a registry, without options.
func PartsOf[T any](t *registry.Registry[T]) []ListedPart {
	list := []ListedPart{}
	for _, e := range t.All() {
		list = append(list, ListedPart{Name: e.Name, Doc: e.Doc, Source: e.Source, Units: e.Units, settings: e.New()})
	}
	return list
}

// Kinds lists the parts for configs, without options.
func Kinds() []ListedKind {
	algorithms := []ListedPart{{
		Name: "mimosa", Doc: "hierarchies of dimensions from codes alone: unravel mimosa",
		Source: "Ross and Doshi-Velez 2021, section 5.1 and appendix A.5", settings: new(mimosa.Defaults()),
	}}
	var experiments []ListedPart
	for _, name := range configs.Names() {
		experiments = append(experiments, ListedPart{Name: name, Doc: configs.Title(name)})
	}
	return []ListedKind{
		{"models", PartsOf(models.Registry)},
		{"encoders", PartsOf(nn.Encoders)},
		{"decoders", PartsOf(nn.Decoders)},
		{"layers", PartsOf(nn.Parts)},
		{"latents", PartsOf(latent.Registry)},
		{"losses", PartsOf(losses.Registry)},
		{"metrics", PartsOf(metrics.Registry)},
		{"dialects", PartsOf(metrics.Dialects)},
		{"datasets", PartsOf(catalog.Registry)},
		{"supervisions", PartsOf(supervision.Registry)},
		{"augmentations", PartsOf(augment.Registry)},
		{"pipelines", PartsOf(augment.Presets)},
		{"optimizers", PartsOf(engine.Optimizers)},
		{"schedules", PartsOf(engine.Schedules)},
		{"searches", PartsOf(search.Methods)},
		{"sources", PartsOf(tables.Sources)},
		{"algorithms", algorithms},
		{"configs", experiments},
	}
}

func (k *ListedKind) names() (names []string) {
	for _, p := range k.Parts {
		names = append(names, p.Name)
	}
	return names
}

func (k *ListedKind) describe() error {
	for i := range k.Parts {
		if err := k.Parts[i].describe(); err != nil {
			return err
		}
	}
	return nil
}

func (p *ListedPart) describe() (err error) {
	if p.settings == nil {
		var text []byte
		text, err = configText(p.Name)
		p.YAML = string(text)
	} else if p.YAML, err = partList(p.settings); p.YAML == "" {
		p.Options = config.Options(p.settings)
	}
	return err
}

func (c *List) Run(s *ui.Streams) error {
	if c.Kind == "" {
		return c.printKinds(s.Out)
	}
	for _, network := range []string{"encoder", "decoder"} {
		if (c.Kind == network || c.Kind == network+"s") && (c.given() || namesConfig(c.Name)) {
			if c.Name == "" {
				return ui.Usagef("--image and --layers describe one %s; want its name too, such as conv64", network)
			}
			return c.network(s.Out, network, c.Name, c.Overrides)
		}
	}
	const want = "want, for example, unravel list encoder resnet18 --image 64x64x3"
	if c.Kind == "schema" && len(c.Overrides) == 0 && !c.given() {
		return WriteSchema(s.Out, c.Name)
	}
	if len(c.Overrides) > 0 {
		return ui.Usagef("unexpected argument %s: options are for encoders and decoders by name; %s", c.Overrides[0], want)
	}
	if c.given() {
		return ui.Usagef("--image and --layers are for encoders and decoders by name; %s", want)
	}
	k, err := findKind(c.Kind)
	switch {
	case err != nil:
		return err
	case c.Name != "":
		return printOne(s.Out, k, c.Name, c.JSON)
	case c.JSON:
		if err := k.describe(); err != nil {
			return err
		}
		return ui.WriteJSON(s.Out, k)
	}
	PrintParts(s.Out, k.Parts)
	return nil
}

func (c *List) printKinds(w io.Writer) error {
	list := Kinds()
	for i := range list {
		switch {
		case c.JSON:
			if err := list[i].describe(); err != nil {
				return err
			}
			continue
		case i > 0:
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, list[i].Kind)
		PrintParts(w, list[i].Parts)
	}
	if c.JSON {
		return ui.WriteJSON(w, map[string]any{"kinds": list})
	}
	return nil
}

func findKind(name string) (*ListedKind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Kind == name || k.Kind == name+"s" || k.Kind == name+"es" {
			return &k, nil
		}
		names = append(names, k.Kind)
	}
	return nil, ui.Usagef("there is no list of %q%s", name, registry.Suggest(strings.TrimSuffix(name, "s")+"s", names))
}

func PrintParts(w io.Writer, parts []ListedPart) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, p := range parts {
		fmt.Fprintf(t, "  %s\t%s\n", p.Name, p.Doc)
	}
	t.Flush()
}

// printOne describes a part with its options, or prints a config.
func printOne(w io.Writer, k *ListedKind, name string, asJSON bool) error {
	index := slices.Index(k.names(), name)
	if index < 0 {
		return ui.Usagef("%s: there is no %q%s", k.Kind, name, registry.Suggest(name, k.names()))
	}
	p := k.Parts[index]
	if err := p.describe(); err != nil {
		return err
	}
	if asJSON {
		return ui.WriteJSON(w, p)
	}
	if p.settings != nil {
		fmt.Fprintf(w, "%s: %s\n", p.Name, p.Doc)
	}
	if p.Source != "" {
		fmt.Fprintf(w, "Source: %s\n", p.Source)
	}
	if p.Units != "" {
		fmt.Fprintf(w, "Units: %s\n", p.Units)
	}
	if p.YAML == "" {
		printOptions(w, k, p)
	}
	fmt.Fprint(w, p.YAML)
	return nil
}

// configText returns an experiment that comes with Unravel, below a line that names the schema for editors.
func configText(name string) ([]byte, error) {
	source, err := configs.Read(name)
	if err != nil {
		return nil, err
	}
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), source...), nil
}

const longDefault = 120 // maximum length, in bytes, of a default in a table

func shortDefault(text string) string {
	if len(text) > longDefault {
		return "..."
	}
	return text
}

// printOptions prints the options of a part. For a network it says how to see the layers.
func printOptions(w io.Writer, k *ListedKind, p ListedPart) {
	if len(p.Options) == 0 {
		fmt.Fprintln(w, "It has no options.")
	} else {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "  OPTION\tTYPE\tDEFAULT\tMEANING")
		for _, o := range p.Options {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", o.Key, o.Type, shortDefault(o.Default), o.Doc)
		}
		t.Flush()
	}
	if _, isLoss := p.settings.(losses.Loss); isLoss {
		fmt.Fprintln(w, "A ramp is, for example, weight: {from: 0, to: 1, steps: 10000}, also with shape: cosine or cycle: 20000; or {from: 1, to: 0, decay: 0.999}")
	}
	network := strings.TrimSuffix(k.Kind, "s")
	if network != "encoder" && network != "decoder" {
		return
	}
	fmt.Fprintf(w, "Shapes, parameters and FLOP: unravel list %s %s --image 64x64x3\n", network, p.Name)
	_, encoder := p.settings.(nn.EncoderParts)
	if _, decoder := p.settings.(nn.DecoderParts); encoder || decoder {
		fmt.Fprintf(w, "The list of its layers, to copy: unravel list %s %s --layers\n", network, p.Name)
	}
}

const schemaFile = "unravel.schema.json" // schema that the first line of a printed config names

var documentKinds = []string{"experiment", "sweep", "table"}

// document describes a kind of file; "" means an experiment.
func document(kind string) (config.Document, error) {
	switch kind {
	case "", "experiment":
		return config.Document{Title: "experiment of Unravel", Settings: []any{new(train.Defaults()), &configs.Child{}},
			Required: []string{"dataset", "model", "losses"}, Or: "base"}, nil
	case "sweep":
		return config.Document{Title: "sweep of Unravel", Settings: []any{&sweep.Plan{}}, Required: []string{"base"}}, nil
	case "table":
		return config.Document{Title: "table of Unravel", Settings: []any{&tables.Table{}}}, nil
	}
	return config.Document{}, ui.Usagef("there is no schema of %q%s", kind, registry.Suggest(kind, documentKinds))
}

func WriteSchema(w io.Writer, kind string) error {
	d, err := document(kind)
	if err != nil {
		return err
	}
	text, err := d.Schema()
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// Names lists the kinds of parts for the first argument, and the names of that kind for the second.
func Names(values []string) (names []string) {
	for _, k := range Kinds() {
		switch {
		case len(values) == 0:
			names = append(names, k.Kind)
		case len(values) == 1 && k.Kind == values[0]:
			names = k.names()
		}
	}
	switch {
	case len(values) == 0:
		names = append(names, "schema")
	case len(values) == 1 && values[0] == "schema":
		names = documentKinds
	}
	return names
}
