package tables

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Names of scales; every table has quick and full.
const (
	QuickScale  = "quick"  // minutes on two cores
	MediumScale = "medium" // only in some tables: long enough for methods to show their behaviour
	FullScale   = "full"   // as in the paper, or more
)

// Scales lists the scales of a table, smallest first: quick, the table's other scales in order, and full.
type Scales []Scale

// Scale is an amount of computation.
type Scale struct {
	Name    string         `yaml:"-"`
	Seeds   int            `yaml:"seeds" doc:"number of samples or runs for random rows; seeds are 0, 1, ..."`
	Set     sweep.Settings `yaml:"set" doc:"key.path: value in the configs of all runs"`
	Dataset string         `yaml:"dataset" doc:"data set of the printed cells at this scale; empty: the reference's data set"`
	Label   string         `yaml:"label" doc:"with dataset: source of the printed cells"`
	Draws   int            `yaml:"draws" doc:"with dataset: number of runs averaged in a printed value; 0: the reference's draws"`
	Remark  string         `yaml:"remark" doc:"limits of this scale's results"`
}

func defaultScales() Scales {
	return Scales{{Name: QuickScale, Seeds: 5}, {Name: FullScale, Seeds: 20}}
}

var scaleNamePattern = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// DecodeConfig reads a mapping from names to scales.
func (s *Scales) DecodeConfig(n *config.Node) error {
	if !n.IsMap() {
		return n.Errorf("want a mapping, %s", s.ConfigType())
	}
	all := defaultScales()
	for i, name := range n.Keys() {
		if !scaleNamePattern.MatchString(name) {
			return n.Items()[i].Errorf("%q is not the name of a scale; want a small letter, then small letters, digits and -",
				name)
		}
		scale, err := all.Find(name)
		if err != nil {
			all = slices.Insert(all, len(all)-1, Scale{Name: name, Seeds: 5})
			scale = &all[len(all)-2]
		}
		if err := n.Items()[i].Decode(scale); err != nil {
			return err
		}
	}
	*s = all
	return nil
}

// ConfigForms implements config.Former.
func (Scales) ConfigForms() []any { return []any{map[string]Scale{}} }

// ConfigType implements config.Typer.
func (s Scales) ConfigType() string {
	return "{quick: {seeds: 5}, full: {seeds: 20}} and others by name"
}

// Names lists the scales, smallest first.
func (s Scales) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}

// Find returns a scale by name. Its error lists the names.
func (s Scales) Find(name string) (*Scale, error) {
	index := slices.IndexFunc(s, func(scale Scale) bool { return scale.Name == name })
	if index < 0 {
		return nil, fmt.Errorf("there is no scale %q%s", name, registry.Suggest(name, s.Names()))
	}
	return &s[index], nil
}

// printed returns the location of a scale's printed values.
func (s *Scale) printed(usual ReferenceFile) ReferenceFile {
	if s.Dataset == "" {
		return usual
	}
	usual.Dataset, usual.Label = s.Dataset, cmp.Or(s.Label, usual.Label)
	usual.Draws = cmp.Or(s.Draws, usual.Draws)
	return usual
}

// atScale returns the table at a scale, with the data sets and the printed values of the scale. "" means quick.
func (t *Table) atScale(name string) (*Table, *Scale, error) {
	s, err := t.Scales.Find(cmp.Or(name, QuickScale))
	if err != nil {
		return nil, nil, fmt.Errorf("table %s: %w; its scales are %s", t.Name, err, strings.Join(t.Scales.Names(), ", "))
	}
	scaled := *t
	scaled.Printed = s.printed(t.Printed)
	scaled.DataSets = slices.DeleteFunc(slices.Clone(t.DataSets),
		func(d DataSet) bool { return !inScales(s.Name, d.Scales) })
	return &scaled, s, nil
}

// Validate checks the settings.
func (s *Scale) Validate() error {
	if s.Seeds < 1 || s.Seeds > maxSeeds {
		return config.Invalid("seeds", "%d is out of range; want 1 to %d", s.Seeds, maxSeeds)
	}
	if s.Draws < 0 || s.Draws > maxDraws {
		return config.Invalid("draws", "%d is out of range; want 0 to %d", s.Draws, maxDraws)
	}
	if s.Dataset == "" && (s.Label != "" || s.Draws != 0) {
		return config.Invalid("dataset", "label and draws belong to a data set of the reference; want its name")
	}
	return nil
}

// ScaleSettings are settings of runs, by the name of the scale.
type ScaleSettings map[string]sweep.Settings

func (s ScaleSettings) checkScales(key string, known Scales) error {
	for name := range s {
		if _, err := known.Find(name); err != nil {
			return config.Invalid(key+"."+name, "%w; the table's scales are %s", err, strings.Join(known.Names(), ", "))
		}
	}
	return nil
}

// inScales reports whether a row or data set belongs to a scale. scales is its list of scales; empty: all.
func inScales(scale string, scales []string) bool {
	return len(scales) == 0 || slices.Contains(scales, scale)
}
