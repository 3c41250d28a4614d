package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
	"github.com/unravel-ml/unravel/models/latent"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/engine"
)

// listCommand is `unravel list [KIND] [NAME]`; kinds may be singular or plural.
type listCommand struct {
	Kind string `arg:"" optional:"" help:"Kind of part: models, encoders, decoders, layers, latents, losses, metrics, datasets, supervisions, augmentations, pipelines, optimizers, schedules, algorithms, sources, dialects or configs." detail:"Sources are sources of codes for tables."`
	Name string `arg:"" optional:"" help:"Name of one part, to print its options, defaults and source." detail:"With encoder or decoder, the name of a config or a FILE.yaml lists the layers of its network."`

	Overrides []string `arg:"" optional:"" name:"option=value" help:"Options of an encoder or decoder with --image or --layers, such as width=32, or settings of a config." detail:"A setting of a config is, for instance, dataset.square.size=32."`

	networkFlags
}

// item is an entry of a registry.
type item struct {
	name, doc, source, units string
	settings                 any
}

// kind is a registry with the plural of its name.
type kind struct {
	plural string
	items  []item
}

func itemsOf[T any](t *registry.Registry[T]) []item {
	var list []item
	for _, e := range t.Entries {
		list = append(list, item{e.Name, e.Doc, e.Source, e.Units, e.New()})
	}
	return list
}

// kinds lists the registries of parts for configs.
func kinds() []kind {
	return []kind{
		{"models", itemsOf(models.Registry)},
		{"encoders", itemsOf(nn.Encoders)},
		{"decoders", itemsOf(nn.Decoders)},
		{"layers", itemsOf(nn.Parts)},
		{"latents", itemsOf(latent.Registry)},
		{"losses", itemsOf(losses.Registry)},
		{"metrics", itemsOf(metrics.Registry)},
		{"dialects", itemsOf(metrics.Dialects)},
		{"datasets", itemsOf(datasets.Registry)},
		{"supervisions", itemsOf(datasets.SupervisionRegistry)},
		{"augmentations", itemsOf(augment.Registry)},
		{"pipelines", pipelineItems()},
		{"optimizers", itemsOf(engine.Optimizers)},
		{"schedules", itemsOf(engine.Schedules)},
		{"sources", itemsOf(tables.Sources)},
		{"algorithms", algorithmItems()},
		{"configs", configItems()},
	}
}

// pipelineItems lists the pipelines of augmentations by name.
func pipelineItems() []item {
	var list []item
	for _, e := range augment.Presets.Entries {
		list = append(list, item{e.Name, e.Doc, e.Source, e.Units, e.New()})
	}
	return list
}

// algorithmItems lists the algorithms with commands.
func algorithmItems() []item {
	options := mimosa.Defaults()
	return []item{{
		name: "mimosa", doc: "hierarchies of dimensions from codes alone: unravel mimosa",
		source: "Ross and Doshi-Velez 2021, section 5.1 and appendix A.5", settings: &options,
	}}
}

func configItems() []item {
	var list []item
	for _, name := range configs.Names() {
		list = append(list, item{name: name, doc: configs.Title(name)})
	}
	return list
}

// Run prints the list.
func (c *listCommand) Run(s *streams) error {
	if c.Kind == "" {
		return c.printKinds(s.out)
	}
	for _, network := range []string{"encoder", "decoder"} {
		if (c.Kind == network || c.Kind == network+"s") && (c.given() || namesConfig(c.Name)) {
			if c.Name == "" {
				return usagef("--image and --layers describe one %s; want its name too, such as conv64", network)
			}
			return c.network(s.out, network, c.Name, c.Overrides)
		}
	}
	const want = "want, for example, unravel list encoder resnet18 --image 64x64x3"
	if len(c.Overrides) > 0 {
		return usagef("unexpected argument %s: options are for encoders and decoders by name; %s", c.Overrides[0], want)
	}
	if c.given() {
		return usagef("--image and --layers are for encoders and decoders by name; %s", want)
	}
	k, err := findKind(c.Kind)
	switch {
	case err != nil:
		return err
	case c.Name != "":
		return printOne(s.out, k, c.Name, c.JSON)
	case c.JSON:
		return writeKind(s.out, k)
	}
	printItems(s.out, k.items)
	return nil
}

// printKinds prints all kinds with their parts.
func (c *listCommand) printKinds(w io.Writer) error {
	if c.JSON {
		return writeKinds(w)
	}
	for i, k := range kinds() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, k.plural)
		printItems(w, k.items)
	}
	return nil
}

// findKind returns a kind by its name, singular or plural.
func findKind(name string) (kind, error) {
	var names []string
	for _, k := range kinds() {
		if k.plural == name || k.plural == name+"s" || k.plural == name+"es" {
			return k, nil
		}
		names = append(names, k.plural)
	}
	return kind{}, usagef("there is no list of %q%s", name, registry.Suggest(strings.TrimSuffix(name, "s")+"s", names))
}

func printItems(w io.Writer, items []item) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, i := range items {
		fmt.Fprintf(t, "  %s\t%s\n", i.name, i.doc)
	}
	t.Flush()
}

// printOne describes an entry with its options, or prints a config.
func printOne(w io.Writer, k kind, name string, asJSON bool) error {
	var names []string
	for _, i := range k.items {
		if i.name != name {
			names = append(names, i.name)
			continue
		}
		if asJSON {
			p, err := jsonPart(k, i)
			if err != nil {
				return err
			}
			return writeJSON(w, p)
		}
		if k.plural == "configs" {
			source, err := configs.Read(name)
			if err != nil {
				return err
			}
			_, err = w.Write(source)
			return err
		}
		fmt.Fprintf(w, "%s: %s\n", i.name, i.doc)
		if i.source != "" {
			fmt.Fprintf(w, "Source: %s\n", i.source)
		}
		if i.units != "" {
			fmt.Fprintf(w, "Units: %s\n", i.units)
		}
		if p, ok := i.settings.(augment.Pipeline); ok {
			text, err := config.Encode(struct {
				Pipeline augment.Pipeline `yaml:"pipeline"`
			}{p})
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		}
		if d, ok := i.settings.(metrics.Dialect); ok {
			return printDialect(w, d)
		}
		return printOptions(w, k, i)
	}
	return usagef("%s: there is no %q%s", k.plural, name, registry.Suggest(name, names))
}

// printDialect prints the metrics of a dialect with their options, as in a config.
func printDialect(w io.Writer, d metrics.Dialect) error {
	text, err := config.Encode(struct {
		Metrics []metrics.Choice `yaml:"metrics"`
	}{d})
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// longDefault is the longest default shown in a table, in bytes.
const longDefault = 120

// printOptions prints the options of a part. For a network it says how to see the layers.
func printOptions(w io.Writer, k kind, i item) error {
	options := config.Options(i.settings)
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
	if _, is := i.settings.(losses.Loss); is {
		fmt.Fprintln(w, "A ramp is, for example, weight: {from: 0, to: 1, steps: 10000}, also with shape: cosine or cycle: 20000; or {from: 1, to: 0, decay: 0.999}")
	}
	network := strings.TrimSuffix(k.plural, "s")
	if network != "encoder" && network != "decoder" {
		return nil
	}
	fmt.Fprintf(w, "Shapes, parameters and FLOP: unravel list %s %s --image 64x64x3\n", network, i.name)
	_, encoder := i.settings.(nn.EncoderParts)
	if _, decoder := i.settings.(nn.DecoderParts); encoder || decoder {
		fmt.Fprintf(w, "The list of its layers, to copy: unravel list %s %s --layers\n", network, i.name)
	}
	return nil
}
