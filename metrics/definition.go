package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// likeKey is the key in a metric's config that names a dialect; the dialect's options replace the defaults.
const likeKey = "like"

// In returns the metric of a name as a dialect defines it. Errors: an unknown dialect, and a metric that the dialect
// lacks.
func (d Dialect) In(dialect, name string) (Choice, error) {
	i := slices.IndexFunc(d, func(c Choice) bool { return c.Name == name })
	if i < 0 {
		return Choice{}, fmt.Errorf("%s is not in %s; it has %s", name, dialect, strings.Join(d.Names(), ", "))
	}
	return d[i], nil
}

// Names lists the metrics of a dialect.
func (d Dialect) Names() []string {
	names := make([]string, len(d))
	for i, c := range d {
		names[i] = c.Name
	}
	return names
}

// Like returns a metric as a dialect defines it. Errors: a dialect that [Dialects] does not list, and a metric that the
// dialect lacks.
func Like(dialect, name string) (Choice, error) {
	entry, err := Dialects.Lookup(dialect)
	if err != nil {
		return Choice{}, err
	}
	return entry.New().In(dialect, name)
}

// decodeLike reads a choice that starts from the options of a dialect: {mig: {like: disent, bins: 10}}.
func (c *Choice) decodeLike(n *config.Node, name string, like *config.Node) error {
	if _, err := Registry.Lookup(name); err != nil { // it returns the error of an unknown name
		return config.DecodeChoice(n, Registry, (*registry.Choice[Metric])(c))
	}
	if _, err := Like(like.Text(), name); err != nil {
		return like.Errorf("%w", err)
	}
	one := &registry.Registry[Metric]{Kind: Registry.Kind, Entries: []registry.Entry[Metric]{{Name: name, New: func() Metric {
		known, _ := Like(like.Text(), name)
		return known.Value
	}}}}
	return config.DecodeChoice(n.Without(name, likeKey), one, (*registry.Choice[Metric])(c))
}

// likeOf returns the metric of a choice in a config and the dialect that its options name, or nil.
func likeOf(n *config.Node) (name string, like *config.Node) {
	if !n.IsMap() || len(n.Keys()) != 1 {
		return "", nil
	}
	name = n.Keys()[0]
	if options := n.Get(name); options.IsMap() {
		return name, options.Get(likeKey)
	}
	return name, nil
}

// define sets the options of a result, and the dialects that define its metric so. An external metric gets no options
// if its settings cannot be written in a config.
func (r *Result) define(c Choice) {
	var err error
	if r.Options, err = optionsOf(c.Value); err != nil {
		return
	}
	own := withoutCodes(c.Value, r.Options)
	for _, entry := range Dialects.Entries {
		same, err := entry.New().In(entry.Name, c.Name)
		if err != nil {
			continue
		}
		options, err := optionsOf(same.Value)
		if err == nil && reflect.DeepEqual(own, withoutCodes(same.Value, options)) {
			r.Like = append(r.Like, entry.Name)
		}
	}
}

// withoutCodes drops the assignment of code columns to factors, which is not part of a metric's definition.
func withoutCodes(m Metric, options map[string]any) map[string]any {
	if _, ok := m.(SubCoded); !ok {
		return options
	}
	rest := maps.Clone(options)
	delete(rest, "codes")
	delete(rest, "assign")
	return rest
}

// optionsOf returns all options of a metric by key, as JSON has them.
func optionsOf(m Metric) (map[string]any, error) {
	text, err := config.Encode(m)
	if err != nil {
		return nil, err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, err
	}
	var options map[string]any
	if err := json.Unmarshal(text, &options); err != nil {
		return nil, err
	}
	return options, nil
}
