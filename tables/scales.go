package tables

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
	"github.com/unravel-ml/unravel/runs/sweep"
)

// The scales that every table has.
const (
	QuickScale = "quick" // minutes on two cores
	FullScale  = "full"  // as in the paper, or more
)

// Scales are the sizes of a computation, the smallest first: quick, then those that the table has besides, in its
// order, then full.
type Scales []Scale

// Scale says how much is computed.
type Scale struct {
	Name    string         `yaml:"-"`
	Seeds   int            `yaml:"seeds" doc:"draws, or runs, of what is random; the seeds are 0, 1, ..."`
	Set     sweep.Settings `yaml:"set" doc:"key.path: value, in the configs of all runs"`
	Dataset string         `yaml:"dataset" doc:"the data set whose printed cells are meant at this scale, if not that of the reference"`
	Label   string         `yaml:"label" doc:"with dataset: who has printed them"`
	Draws   int            `yaml:"draws" doc:"with dataset: runs that a printed value of it is the mean of; 0: as the reference says"`
	Remark  string         `yaml:"remark" doc:"what this scale can show, and what not"`
}

// defaultScales are those of a table that says nothing of them.
func defaultScales() Scales {
	return Scales{{Name: QuickScale, Seeds: 5}, {Name: FullScale, Seeds: 20}}
}

var scaleName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// DecodeConfig reads a mapping from names to scales.
func (s *Scales) DecodeConfig(n *config.Node) error {
	if !n.IsMap() {
		return n.Errorf("want a mapping, %s", s.ConfigType())
	}
	all := defaultScales()
	for i, name := range n.Keys() {
		if !scaleName.MatchString(name) {
			return n.Items()[i].Errorf("%q is not the name of a scale: want a small letter, then small letters, digits and -", name)
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

// ConfigType says what can be given.
func (s Scales) ConfigType() string {
	return "{quick: {seeds: 5}, full: {seeds: 20}} and others by name"
}

// Names lists the scales, the smallest first.
func (s Scales) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}

// Find returns a scale; the error of another name lists those that there are.
func (s Scales) Find(name string) (*Scale, error) {
	at := slices.IndexFunc(s, func(one Scale) bool { return one.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no scale %q%s", name, registry.Suggest(name, s.Names()))
	}
	return &s[at], nil
}

// printed is where the printed values of a scale are.
func (s *Scale) printed(usual ReferenceFile) ReferenceFile {
	if s.Dataset == "" {
		return usual
	}
	usual.Dataset, usual.Label = s.Dataset, cmp.Or(s.Label, usual.Label)
	usual.Draws = cmp.Or(s.Draws, usual.Draws)
	return usual
}

// scale is the scale of a name; no name means quick.
func (t *Table) scale(name string) (*Scale, error) {
	if name == "" {
		name = QuickScale
	}
	s, err := t.Scales.Find(name)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w; its scales are %s", t.Name, err, strings.Join(t.Scales.Names(), ", "))
	}
	return s, nil
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
