package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train"
)

// Setting is a key path of a config and a value, as one line of YAML.
type Setting struct{ Key, Value string }

// String returns the setting as a command-line override.
func (s Setting) String() string { return s.Key + "=" + s.Value }

// Settings is a list of settings. YAML: a mapping from key paths to values, {train.epochs: 3}.
type Settings []Setting

// Axis is a key path with its list of values.
type Axis struct {
	Key    string
	Values []string
}

// Axes is a list of axes. YAML: a mapping from key paths to lists, {model.vae.latent: [2, 4]}.
type Axes []Axis

// Group is a named list of settings, {name: beta, losses.1.kl.weight: 4}.
type Group struct {
	Name     string
	Settings Settings
}

// DecodeConfig reads a mapping.
func (s *Settings) DecodeConfig(n *config.Node) error {
	*s = nil
	if !n.IsMap() {
		return n.Errorf("want a mapping, {key.path: value}")
	}
	for i, item := range n.Items() {
		text, err := inline(item)
		if err != nil {
			return err
		}
		*s = append(*s, Setting{n.Keys()[i], text})
	}
	return nil
}

// EncodeConfig writes the mapping.
func (s Settings) EncodeConfig() (any, error) {
	m := yaml.MapSlice{}
	for _, setting := range s {
		n, err := config.Parse("", []byte(setting.Value))
		if err != nil {
			return nil, err
		}
		m = append(m, yaml.MapItem{Key: setting.Key, Value: n})
	}
	return m, nil
}

// ConfigForms implements config.Former.
func (Settings) ConfigForms() []any { return []any{map[string]any{}} }

// ConfigType implements config.Typer.
func (s Settings) ConfigType() string { return "mapping of key paths to values" }

// DecodeConfig reads a mapping of lists.
func (a *Axes) DecodeConfig(n *config.Node) error {
	*a = nil
	if !n.IsMap() {
		return n.Errorf("want a mapping, {key.path: [values]}")
	}
	for i, item := range n.Items() {
		axis := Axis{Key: n.Keys()[i]}
		if item.IsList() && len(item.Items()) == 0 {
			return item.Errorf("the list is empty; want a list of values for %s", axis.Key)
		}
		if item.IsMap() && len(item.Keys()) > 0 {
			return item.Errorf("want a list of values; keys are whole paths, such as %s.%s: [...]", axis.Key, item.Keys()[0])
		}
		if !item.IsList() {
			return item.NotList("a list of values for "+axis.Key, new([]any))
		}
		for _, v := range item.Items() {
			text, err := inline(v)
			if err != nil {
				return err
			}
			axis.Values = append(axis.Values, text)
		}
		*a = append(*a, axis)
	}
	return nil
}

// EncodeConfig writes the mapping.
func (a Axes) EncodeConfig() (any, error) {
	var lists Settings
	for _, axis := range a {
		lists = append(lists, Setting{axis.Key, "[" + strings.Join(axis.Values, ", ") + "]"})
	}
	return lists.EncodeConfig()
}

// ConfigForms implements config.Former.
func (Axes) ConfigForms() []any { return []any{map[string][]any{}} }

// ConfigType implements config.Typer.
func (a Axes) ConfigType() string { return "mapping of key paths to lists of values" }

// DecodeConfig reads a mapping with a name.
func (g *Group) DecodeConfig(n *config.Node) error {
	if !n.IsMap() || n.Get("name") == nil {
		return n.Errorf("want a mapping with a name, {name: ..., key.path: value}")
	}
	if err := n.Get("name").Decode(&g.Name); err != nil {
		return err
	}
	if g.Name == "" {
		return n.Get("name").Errorf("the group has no name")
	}
	if err := g.Settings.DecodeConfig(n); err != nil {
		return err
	}
	g.Settings = slices.DeleteFunc(g.Settings, func(s Setting) bool { return s.Key == "name" })
	return nil
}

// ConfigForms implements config.Former.
func (Group) ConfigForms() []any { return []any{map[string]any{}} }

// inline returns a value as one line of YAML. It returns an error for unsupported YAML.
func inline(n *config.Node) (string, error) {
	var whole *config.Node
	if err := n.Decode(&whole); err != nil {
		return "", err
	}
	return whole.Inline(), nil
}

const maxRuns = 100000 // maximum number of runs of a sweep: a larger plan is probably a mistake

// choice holds the settings that distinguish a run, and the corresponding part of the run's name.
type choice struct {
	names    []string
	settings Settings
}

// Runs lists the runs by group, index of the zip and combination of the product, with the last key changing fastest.
// The seed changes fastest of all. For an override that matches no config, the error is a *config.Error.
func (p *Plan) Runs() ([]Run, error) {
	if p.Search.Value != nil {
		return nil, p.root.Invalid("search", "the runs of a search follow from their results; want NewSearch")
	}
	file, source, err := configs.Find(p.Base, filepath.Dir(p.file))
	if err != nil {
		return nil, p.root.Invalid("base", "%w", err)
	}
	choices, err := p.combinations()
	if err != nil {
		return nil, err
	}
	base, err := train.Load(file, source)
	if err != nil {
		return nil, err
	}
	var runs []Run
	names, hashes := map[string]bool{}, map[string]string{}
	for _, c := range choices {
		config, err := train.Load(file, source, c.settings.Overrides()...)
		if err != nil {
			return nil, p.withPosition(err)
		}
		name := Free(nameOf(c.names, base.Name), func(name string) bool { return names[name] })
		names[name] = true
		r, err := NewRun(name, config)
		if err != nil {
			return nil, err
		}
		if same := hashes[r.Hash]; same != "" {
			return nil, p.root.Errorf("the runs %s and %s have the same settings", same, r.Name)
		}
		hashes[r.Hash] = r.Name
		runs = append(runs, r)
	}
	return runs, nil
}

// withPosition adds the position in the plan to the error of a setting.
func (p *Plan) withPosition(err error) error {
	var single *config.Error
	var several config.Errors
	switch {
	case p.root == nil:
	case errors.As(err, &several):
		var all []error
		for _, e := range several {
			all = append(all, p.withPosition(e))
		}
		return errors.Join(all...)
	case errors.As(err, &single):
		if n := p.settingNode(single.File); n != nil {
			return n.Errorf("%w", single)
		}
	}
	return err
}

// settingNode returns the setting of the plan that caused an error, given the argument in the error. It returns nil if
// no setting caused the error.
func (p *Plan) settingNode(argument string) *config.Node {
	parts := []*config.Node{p.root.Get("set"), p.root.Get("zip"), p.root.Get("product"), p.searchNode("space")}
	if list := p.root.Get("list"); list != nil {
		parts = append(parts, list.Items()...)
	}
	for _, part := range parts {
		if part == nil {
			continue
		}
		for _, key := range part.Keys() {
			if strings.HasPrefix(argument, "argument "+strings.TrimSuffix(strconv.Quote(key+"="), `"`)) {
				return part.Get(key)
			}
		}
	}
	return nil
}

func (p *Plan) combinations() ([]choice, error) {
	list := []choice{{settings: p.Set}}
	cross := func(options []choice) error {
		if len(options) == 0 {
			return nil
		}
		if len(list)*len(options) > maxRuns {
			return p.root.Errorf("the sweep has more than %d runs", maxRuns)
		}
		var all []choice
		for _, before := range list {
			for _, o := range options {
				all = append(all, choice{slices.Concat(before.names, o.names), slices.Concat(before.settings, o.settings)})
			}
		}
		list = all
		return nil
	}
	var groups, zipped, seeds []choice
	for _, g := range p.List {
		groups = append(groups, choice{[]string{g.Name}, g.Settings})
	}
	if len(p.Zip) > 0 {
		for i := range p.Zip[0].Values {
			var c choice
			for _, a := range p.Zip {
				c.names, c.settings = append(c.names, a.label(i)), append(c.settings, Setting{a.Key, a.Values[i]})
			}
			zipped = append(zipped, c)
		}
	}
	for _, s := range p.Seeds {
		c := choice{settings: Settings{{"seed", fmt.Sprint(s)}}}
		if len(p.Seeds) > 1 {
			c.names = []string{fmt.Sprint("seed", s)}
		}
		seeds = append(seeds, c)
	}
	all := [][]choice{groups, zipped}
	for _, a := range p.Product {
		var values []choice
		for i, v := range a.Values {
			values = append(values, choice{[]string{a.label(i)}, Settings{{a.Key, v}}})
		}
		all = append(all, values)
	}
	for _, options := range append(all, seeds) {
		if err := cross(options); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (a Axis) label(i int) string { return Setting{a.Key, a.Values[i]}.label() }

// label returns a setting's part of a run's name: the last key, and the value in letters and digits.
func (s Setting) label() string {
	key := strings.TrimSuffix(s.Key, ".+")
	last := key[strings.LastIndex(key, ".")+1:]
	if place := strings.TrimSuffix(key, "."+last); place != key && numeral.MatchString(last) { // losses.2
		last = place[strings.LastIndex(place, ".")+1:] + "." + last
	}
	if plainValue.MatchString(s.Value) {
		return last + s.Value
	}
	text := strings.Trim(notInNames.ReplaceAllString(s.Value, "-"), "-")
	return last + "-" + strings.TrimRight(text[:min(len(text), maxLabel)], "-")
}

const maxLabel = 24 // maximum length of one value in a name

var (
	plainValue = regexp.MustCompile(`^[A-Za-z0-9._+-]{1,24}$`)
	numeral    = regexp.MustCompile(`^[0-9]+$`)
)

// unnamed lists the name itself and the settings that do not affect results.
var unnamed = []string{"name", "train.threads", "train.checkpoint", "train.figures"}

// FolderName returns the folder name of a run with overrides, joined in the same way as for the runs of a sweep.
func FolderName(base string, overrides []Setting) string {
	parts := []string{base}
	for _, s := range overrides {
		if !slices.Contains(unnamed, s.Key) {
			parts = append(parts, s.label())
		}
	}
	return nameOf(parts, base)
}

// Overrides returns the settings as overrides for [train.Load].
func (s Settings) Overrides() (list []string) {
	for _, one := range s {
		list = append(list, one.String())
	}
	return list
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

const maxName = 100

func nameOf(parts []string, base string) string {
	name := notInNames.ReplaceAllString(strings.Join(parts, "_"), "-")
	if name = strings.TrimLeft(name, "._-"); name == "" {
		name = base
	}
	return name[:min(len(name), maxName)]
}

// Free adds a number to a name if the name is taken.
func Free(name string, taken func(string) bool) string {
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}
