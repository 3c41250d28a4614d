package docs

import (
	"errors"
	"fmt"
	"io"
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

// item is an entry of a registry.
type item struct {
	Name, Doc, Source, Units string
	Settings                 any
}

// kind is a registry with the plural of its name.
type kind struct {
	Plural string
	Items  []item
}

// ItemsOf lists the parts of a registry.
func ItemsOf[T any](t *registry.Registry[T]) []item {
	var list []item
	for _, e := range t.All() {
		list = append(list, item{e.Name, e.Doc, e.Source, e.Units, e.New()})
	}
	return list
}

// Kinds lists the registries of parts for configs.
func Kinds() []kind {
	return []kind{
		{"models", ItemsOf(models.Registry)},
		{"encoders", ItemsOf(nn.Encoders)},
		{"decoders", ItemsOf(nn.Decoders)},
		{"layers", ItemsOf(nn.Parts)},
		{"latents", ItemsOf(latent.Registry)},
		{"losses", ItemsOf(losses.Registry)},
		{"metrics", ItemsOf(metrics.Registry)},
		{"dialects", ItemsOf(metrics.Dialects)},
		{"datasets", ItemsOf(catalog.Registry)},
		{"supervisions", ItemsOf(supervision.Registry)},
		{"augmentations", ItemsOf(augment.Registry)},
		{"pipelines", ItemsOf(augment.Presets)},
		{"optimizers", ItemsOf(engine.Optimizers)},
		{"schedules", ItemsOf(engine.Schedules)},
		{"searches", ItemsOf(search.Methods)},
		{"sources", ItemsOf(tables.Sources)},
		{"algorithms", algorithmItems()},
		{"configs", configItems()},
	}
}

// algorithmItems lists the algorithms with commands.
func algorithmItems() []item {
	options := mimosa.Defaults()
	return []item{{
		Name: "mimosa", Doc: "hierarchies of dimensions from codes alone: unravel mimosa",
		Source: "Ross and Doshi-Velez 2021, section 5.1 and appendix A.5", Settings: &options,
	}}
}

func configItems() []item {
	var list []item
	for _, name := range configs.Names() {
		list = append(list, item{Name: name, Doc: configs.Title(name)})
	}
	return list
}

// Run prints the list.
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
		l, err := jsonKind(k)
		if err != nil {
			return err
		}
		return ui.WriteJSON(s.Out, l)
	}
	PrintItems(s.Out, k.Items)
	return nil
}

// printKinds prints all kinds with their parts.
func (c *List) printKinds(w io.Writer) error {
	if c.JSON {
		var list []ListedKind
		for _, k := range Kinds() {
			l, err := jsonKind(k)
			if err != nil {
				return err
			}
			list = append(list, l)
		}
		return ui.WriteJSON(w, map[string]any{"kinds": list})
	}
	for i, k := range Kinds() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, k.Plural)
		PrintItems(w, k.Items)
	}
	return nil
}

// findKind returns a kind by its name, singular or plural.
func findKind(name string) (kind, error) {
	var names []string
	for _, k := range Kinds() {
		if k.Plural == name || k.Plural == name+"s" || k.Plural == name+"es" {
			return k, nil
		}
		names = append(names, k.Plural)
	}
	return kind{}, ui.Usagef("there is no list of %q%s", name, registry.Suggest(strings.TrimSuffix(name, "s")+"s", names))
}

// PrintItems prints the names of parts with their descriptions.
func PrintItems(w io.Writer, items []item) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, i := range items {
		fmt.Fprintf(t, "  %s\t%s\n", i.Name, i.Doc)
	}
	t.Flush()
}

// printOne describes an entry with its options, or prints a config.
func printOne(w io.Writer, k kind, name string, asJSON bool) error {
	var names []string
	for _, i := range k.Items {
		if i.Name != name {
			names = append(names, i.Name)
			continue
		}
		if asJSON {
			p, err := jsonPart(k, i)
			if err != nil {
				return err
			}
			return ui.WriteJSON(w, p)
		}
		if k.Plural == "configs" {
			text, err := configText(name)
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", i.Name, i.Doc)
		if i.Source != "" {
			fmt.Fprintf(w, "Source: %s\n", i.Source)
		}
		if i.Units != "" {
			fmt.Fprintf(w, "Units: %s\n", i.Units)
		}
		list, err := partList(i.Settings)
		if err != nil || list != "" {
			_, failed := io.WriteString(w, list)
			return errors.Join(err, failed)
		}
		return printOptions(w, k, i)
	}
	return ui.Usagef("%s: there is no %q%s", k.Plural, name, registry.Suggest(name, names))
}

// configText returns an experiment that comes with Unravel, below a line that names the schema for editors.
func configText(name string) ([]byte, error) {
	source, err := configs.Read(name)
	if err != nil {
		return nil, err
	}
	return append([]byte("# yaml-language-server: $schema="+schemaFile+"\n"), source...), nil
}

// longDefault is the longest default shown in a table, in bytes.
const longDefault = 120

// printOptions prints the options of a part. For a network it says how to see the layers.
func printOptions(w io.Writer, k kind, i item) error {
	options := config.Options(i.Settings)
	if len(options) == 0 {
		fmt.Fprintln(w, "It has no options.")
	} else {
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, "  OPTION\tTYPE\tDEFAULT\tMEANING")
		for _, o := range options {
			if len(o.Default) > longDefault {
				o.Default = "..."
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", o.Key, o.Type, o.Default, o.Doc)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if _, is := i.Settings.(losses.Loss); is {
		fmt.Fprintln(w, "A ramp is, for example, weight: {from: 0, to: 1, steps: 10000}, also with shape: cosine or cycle: 20000; or {from: 1, to: 0, decay: 0.999}")
	}
	network := strings.TrimSuffix(k.Plural, "s")
	if network != "encoder" && network != "decoder" {
		return nil
	}
	fmt.Fprintf(w, "Shapes, parameters and FLOP: unravel list %s %s --image 64x64x3\n", network, i.Name)
	_, encoder := i.Settings.(nn.EncoderParts)
	if _, decoder := i.Settings.(nn.DecoderParts); encoder || decoder {
		fmt.Fprintf(w, "The list of its layers, to copy: unravel list %s %s --layers\n", network, i.Name)
	}
	return nil
}

// schemaFile is the file named by the first line of a printed config.
const schemaFile = "unravel.schema.json"

// documentKinds lists the kinds of files with a schema.
var documentKinds = []string{"experiment", "sweep", "table"}

// document describes a kind of file; "" stands for an experiment.
func document(kind string) (config.Document, error) {
	switch kind {
	case "", "experiment":
		c := train.Defaults()
		return config.Document{Title: "experiment of Unravel", Settings: []any{&c, &configs.Child{}}, Required: []string{"dataset", "model", "losses"}, Or: "base"}, nil
	case "sweep":
		return config.Document{Title: "sweep of Unravel", Settings: []any{&sweep.Plan{}}, Required: []string{"base"}}, nil
	case "table":
		return config.Document{Title: "table of Unravel", Settings: []any{&tables.Table{}}}, nil
	}
	return config.Document{}, ui.Usagef("there is no schema of %q%s", kind, registry.Suggest(kind, documentKinds))
}

// WriteSchema prints the JSON Schema of a kind of file.
func WriteSchema(w io.Writer, kind string) error {
	d, err := document(kind)
	if err != nil {
		return err
	}
	text, err := d.Schema()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// ListedKind is a kind of parts in `unravel list --json`.
type ListedKind struct {
	Kind  string       `json:"kind"`
	Parts []ListedPart `json:"parts"`
}

// ListedPart is a part in `unravel list KIND --json`.
type ListedPart struct {
	Name    string          `json:"name"`
	Doc     string          `json:"doc,omitempty"`
	Source  string          `json:"source,omitempty"`
	Units   string          `json:"units,omitempty"`
	Options []config.Option `json:"options,omitempty"`
	YAML    string          `json:"yaml,omitempty"` // text of a config, or the list behind a pipeline or dialect
}

// jsonKind returns a kind with all its parts.
func jsonKind(k kind) (ListedKind, error) {
	l := ListedKind{Kind: k.Plural, Parts: []ListedPart{}}
	for _, i := range k.Items {
		p, err := jsonPart(k, i)
		if err != nil {
			return l, err
		}
		l.Parts = append(l.Parts, p)
	}
	return l, nil
}

func jsonPart(k kind, i item) (ListedPart, error) {
	p := ListedPart{Name: i.Name, Doc: i.Doc, Source: i.Source, Units: i.Units}
	if k.Plural == "configs" {
		text, err := configText(i.Name)
		p.YAML = string(text)
		return p, err
	}
	var err error
	if p.YAML, err = partList(i.Settings); err != nil || p.YAML != "" {
		return p, err
	}
	p.Options = config.Options(i.Settings)
	return p, nil
}

// Names lists the kinds of parts for the first argument, and the names of that kind for the second.
func Names(values []string) (names []string) {
	for _, k := range Kinds() {
		switch {
		case len(values) == 0:
			names = append(names, k.Plural)
		case len(values) == 1 && k.Plural == values[0]:
			for _, i := range k.Items {
				names = append(names, i.Name)
			}
		}
	}
	switch {
	case len(values) == 0:
		names = append(names, "schema")
	case len(values) == 1 && values[0] == "schema":
		names = append(names, documentKinds...)
	}
	return names
}
