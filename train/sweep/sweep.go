// Package sweep trains many runs of one experiment. A [Plan], a YAML file, lists the settings that vary, and [Execute]
// trains the missing runs.
//
// Every run is an ordinary run folder. A sweep stores no other state: it trains every run without a finished folder. An
// interrupted sweep can therefore continue on any machine that has access to the folder. Several processes can work on
// one folder at once. The hash of the resolved config ([train.Config.Hash]) identifies a run, under any folder name.
package sweep

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/search"
)

// Plan is a sweep: a base config, the settings of all runs, and the settings that vary. Its runs are all combinations
// of four choices: a seed, a group of the list, an index into the zip's lists, and a value for every key of the
// product. With a search, the runs depend on results instead, see [Plan.NewSearch].
type Plan struct {
	Name    string   `yaml:"name" doc:"name of the sweep and its folder under runs/"`
	Base    string   `yaml:"base" doc:"config of the runs: a .yaml file or the name of a built-in config"`
	Set     Settings `yaml:"set" doc:"key.path: value; settings of all runs"`
	Seeds   []uint64 `yaml:"seeds" doc:"seeds; if absent, the base's seed"`
	List    []Group  `yaml:"list" doc:"groups of settings {name: ..., key.path: value}; each run takes one group"`
	Zip     Axes     `yaml:"zip" doc:"key.path: [values], lists of equal length; each run takes the values at one index"`
	Product Axes     `yaml:"product" doc:"key.path: [values]; the runs take every combination of values"`

	Search search.MethodChoice `yaml:"search" doc:"instead of list, zip and product: search for the best settings, {METHOD: {metric: ..., runs: ..., space: {key.path: range}}}"`

	file string // for messages, and to find base
	root *config.Node
}

// Run is a run of a sweep: its name, its config and the hash that identifies it.
type Run struct {
	Name   string
	Config train.Config
	Hash   string
}

// NewRun returns a run with a name and a config, and hashes the config together with the weights at its start.
func NewRun(name string, c train.Config) (Run, error) {
	c.Name = name
	err, hash := c.Validate(), ""
	if err == nil {
		c, err = c.Resolve()
	}
	if err == nil {
		hash, err = c.Hash()
	}
	if err != nil {
		return Run{}, fmt.Errorf("run %s: %w", name, err)
	}
	return Run{name, c, hash}, nil
}

// Open reads a plan from a file.
func Open(file string) (*Plan, error) {
	source, err := config.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Load(file, source)
}

// Load reads a plan from YAML source; file is its name. It first looks for the plan's files next to that file.
func Load(file string, source []byte) (*Plan, error) {
	root, err := config.Parse(file, source)
	if err != nil {
		return nil, err
	}
	p := &Plan{file: file, root: root, Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	return p, root.Decode(p)
}

// Validate checks the settings.
func (p *Plan) Validate() error {
	if p.Base == "" {
		return config.Invalid("base", "the sweep has no base config; want a .yaml file, or a name of %s",
			"unravel list configs")
	}
	if p.Name == "" || p.Name == "." || !filepath.IsLocal(p.Name) || strings.ContainsAny(p.Name, `/\`) {
		return config.Invalid("name", "%q is not a folder's name", p.Name)
	}
	seen := map[uint64]bool{}
	for i, s := range p.Seeds {
		if seen[s] {
			return config.Invalid(fmt.Sprintf("seeds.%d", i), "seed %d is in the list twice", s)
		}
		seen[s] = true
	}
	for _, a := range p.Zip {
		if len(a.Values) != len(p.Zip[0].Values) {
			return config.Invalid("zip", "%s has %s, %s %d; want lists of equal length",
				p.Zip[0].Key, wording.Count(len(p.Zip[0].Values), "value"), a.Key, len(a.Values))
		}
	}
	if p.Search.Value != nil {
		switch {
		case len(p.List)+len(p.Zip)+len(p.Product) > 0:
			return config.Invalid("search", "a search draws the settings of its runs; want it without list, zip and product")
		case len(p.Seeds) > 1:
			return config.Invalid("seeds", "%d seeds; want at most one for all runs of a search", len(p.Seeds))
		}
	}
	return p.checkKeys()
}

// HintValue explains a single number for seeds, which may mean the seed or the number of seeds.
func (p *Plan) HintValue(n *config.Node, _ string) string {
	if n.Path() == "seeds" && n.IsScalar() {
		return "seeds are listed: [0, 1, 2] makes three runs, and [3] one of the seed 3"
	}
	return ""
}

// Hint explains where the settings of the runs belong.
func (p *Plan) Hint(key string) string {
	switch key {
	case "seed":
		return "a sweep has a list of seeds, such as seeds: [0, 1, 2]"
	case "grid", "params", "parameters", "sweep":
		return "did you mean \"product\"?"
	}
	for _, o := range config.Options(train.Defaults()) {
		if first, _, _ := strings.Cut(o.Key, "."); first == key {
			return fmt.Sprintf("settings of all runs stand under set, with their whole paths: set: {%s: ...}", o.Key)
		}
	}
	if first, _, dotted := strings.Cut(key, "."); dotted && p.Hint(first) != "" {
		return fmt.Sprintf("settings of all runs stand under set: {%s: ...}, and lists of values under product: {%s: [...]}",
			key, key)
	}
	return ""
}

// checkKeys returns an error for keys that two parts of the plan set.
func (p *Plan) checkKeys() error {
	partOf := map[string]string{}
	add := func(part, key string) error {
		if key == "seed" {
			return config.Invalid(part, "seed belongs under seeds; want seeds: [0, 1], with the seeds of the runs")
		}
		if other := partOf[key]; other != "" && other != part {
			return config.Invalid(part, "%s is set by %s, too; want it in one of them", key, other)
		}
		partOf[key] = part
		return nil
	}
	var errs []error
	for _, s := range p.Set {
		errs = append(errs, add("set", s.Key))
	}
	for _, g := range p.List {
		for _, s := range g.Settings {
			errs = append(errs, add("list", s.Key))
		}
	}
	if p.Search.Value != nil {
		for _, r := range p.Search.Value.Common().Space {
			errs = append(errs, add("search", r.Key))
		}
	}
	for part, axes := range map[string]Axes{"zip": p.Zip, "product": p.Product} {
		for _, a := range axes {
			errs = append(errs, add(part, a.Key))
		}
	}
	return errors.Join(errs...)
}
