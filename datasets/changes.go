package datasets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Changes draws pairs of images that differ in few factors, anew for every epoch (Locatello et al. 2020, section 3). A
// model learns only the pairs: neither levels nor the names of the changed factors. In a pair
//
//   - of the law redraw, k factors get a new value, or with HalfSingle one factor in half of the pairs;
//   - of the law uniform (UNI in Klindt et al. 2021), k factors get a different value;
//   - of the law laplace (LAP there), every ordinal or circular factor changes from its old value u to the value v with a
//     probability proportional to exp(-|v-u| rate/log(size)), and at least one factor changes;
//   - of the law independent, the images are consecutive images of a shuffled pass, without repetition.
//
// The first image is uniform. A random k is uniform on 1..F-1 for F factors that may change. Where combinations of
// levels are missing, the second image is uniform among the images that agree with the first in all other factors.
// Images of unknown levels are in no pair.
type Changes struct {
	Law        string       `yaml:"law" doc:"redraw: k factors get a new value; uniform: k factors get a different one; laplace: all ordinal and circular factors move a little; independent: consecutive images of a shuffled pass"`
	K          ChangedCount `yaml:"k" doc:"factors that change, or random: 1 to one less than all"`
	HalfSingle bool         `yaml:"half_single" doc:"law redraw: change only one factor in half of the pairs"`
	Redraw     string       `yaml:"redraw" doc:"law redraw: any value, also the old one, or a different one"`
	Rate       float64      `yaml:"rate" doc:"rate of the law laplace"`
	Nuisance   []string     `yaml:"nuisance" doc:"factors that both images draw independently"`
	Fixed      []string     `yaml:"fixed" doc:"factors that never change"`
	Count      int          `yaml:"count" doc:"pairs in an epoch; 0: half as many as images, or all of the file"`
	File       string       `yaml:"file" doc:"pairs of your own in place of a law: a .csv, .npy or .npz file with the indices of two images in each row"`
	Unlabelled bool         `yaml:"unlabelled" doc:"train also on single images"`
}

// NewChanges returns the default settings of disentanglement_lib.
func NewChanges() *Changes {
	return &Changes{Law: "redraw", HalfSingle: true, Redraw: "any", Rate: 1}
}

// ChangedCount is a number of factors; 0: random.
type ChangedCount int

// DecodeConfig reads a number, or random.
func (k *ChangedCount) DecodeConfig(n *config.Node) error {
	var text string
	if n.Decode(&text) == nil && text == "random" {
		*k = 0
		return nil
	}
	var count int
	if n.Decode(&count) != nil || count < 1 {
		return n.Errorf("want random, or a number of factors from 1 on")
	}
	*k = ChangedCount(count)
	return nil
}

// EncodeConfig is the reverse of DecodeConfig.
func (k ChangedCount) EncodeConfig() (any, error) {
	if k == 0 {
		return "random", nil
	}
	return int(k), nil
}

// ConfigForms implements config.Former.
func (ChangedCount) ConfigForms() []any { return []any{0, config.Words{"random"}} }

// ConfigType describes the accepted values.
func (ChangedCount) ConfigType() string { return "random, or a number" }

func (k ChangedCount) String() string {
	if k == 0 {
		return "random"
	}
	return strconv.Itoa(int(k))
}

// Validate checks the settings.
func (p *Changes) Validate() error {
	switch {
	case !slices.Contains([]string{"redraw", "uniform", "laplace", "independent"}, p.Law):
		return config.Invalid("law", "unknown law %q; known: redraw, uniform, laplace, independent", p.Law)
	case p.K < 0:
		return config.Invalid("k", "%d is negative; want random, or 1 or more", int(p.K))
	case p.Redraw != "any" && p.Redraw != "different":
		return config.Invalid("redraw", "unknown values %q; known: any, different", p.Redraw)
	case !(p.Rate > 0 && p.Rate <= 1e6):
		return config.Invalid("rate", "%v is out of range; want more than 0, and at most 1e6", p.Rate)
	case p.Count < 0 || p.Count > maxWalked/2:
		return config.Invalid("count", "%d is out of range; want 0 to %d", p.Count, maxWalked/2)
	case p.K > 0 && (p.Law == "laplace" || p.Law == "independent"):
		return config.Invalid("k", "the law %s has no number of factors that change; want random", p.Law)
	case p.Law == "independent" && len(p.Nuisance)+len(p.Fixed) > 0:
		return config.Invalid("law", "independent pairs know no factors; want no nuisance and no fixed")
	case p.File != "" && (p.Law != "redraw" || p.K > 0 || len(p.Nuisance)+len(p.Fixed) > 0):
		return config.Invalid("file", "the pairs come from a file; want no law, k, nuisance or fixed beside it")
	}
	return nil
}

// Split prepares the draws of pairs.
func (p *Changes) Split(d Dataset, _ *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	drawn, err := p.drawn(d)
	if err != nil {
		return nil, fmt.Errorf("changes: %w", err)
	}
	split := &Split{M: 2, Drawn: drawn, Rotations: rotations(d)}
	if p.Unlabelled {
		split.Unlabelled = make([]int, d.Len())
		for i := range split.Unlabelled {
			split.Unlabelled[i] = i
		}
	}
	return split, nil
}

func (p *Changes) drawn(d Dataset) (*Drawn, error) {
	switch {
	case p.File != "":
		pairs, err := readPairs(p.File, d)
		if err != nil {
			return nil, err
		}
		return p.passed(&Drawn{M: 2, Groups: pairs}, len(pairs)/2, p.File+" has")
	case p.Law == "independent":
		pass := make([]int, d.Len())
		for i := range pass {
			pass[i] = i
		}
		return p.passed(&Drawn{M: 2, Pass: pass}, d.Len()/2, "dataset "+d.Name()+" gives")
	}
	c, err := p.changer(d)
	if err != nil {
		return nil, err
	}
	count := p.Count
	if count == 0 {
		count = max(1, c.images()/2)
	}
	return &Drawn{M: 2, Count: count, Draw: func(s *rng.Stream, images []int, _ []int32) { c.draw(s, images) }}, nil
}

// passed sets the number of pairs in an epoch to Count or, if Count is 0, to all pairs.
func (p *Changes) passed(g *Drawn, pairs int, whose string) (*Drawn, error) {
	switch {
	case pairs == 0:
		return nil, fmt.Errorf("%s no pair; want two images or more", whose)
	case p.Count > pairs:
		return nil, config.Invalid("count", "%d is too many: %s %d pairs; want at most as many", p.Count, whose, pairs)
	}
	if g.Count = p.Count; g.Count == 0 {
		g.Count = pairs
	}
	return g, nil
}

// changer prepares the law by which factors change.
func (p *Changes) changer(d Dataset) (*changer, error) {
	c := &changer{set: d, factors: d.Factors(), law: *p, different: p.Law == "uniform" || p.Redraw == "different"}
	role := make([]string, len(c.factors))
	for _, list := range []struct {
		key   string
		names []string
	}{{"nuisance", p.Nuisance}, {"fixed", p.Fixed}} {
		for i, name := range list.names {
			k, err := factorNamed(d, name)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", list.key, i, err)
			}
			if role[k] != "" {
				return nil, fmt.Errorf("%s[%d]: factor %q is named before; want it once, in nuisance or in fixed", list.key, i, name)
			}
			role[k] = list.key
		}
	}
	for k, f := range c.factors {
		switch {
		case f.Size < 2:
		case role[k] == "nuisance":
			c.nuisance = append(c.nuisance, k)
		case role[k] == "" && !(p.Law == "laplace" && f.Kind == factor.Categorical):
			c.moving = append(c.moving, k)
		}
	}
	if len(c.moving) == 0 {
		return nil, fmt.Errorf("dataset %s has no factor that may change; want one of two levels or more that is not in nuisance or fixed, or law: independent", d.Name())
	}
	if int(p.K) > len(c.moving) {
		return nil, fmt.Errorf("k: dataset %s has %d factors that may change; want random, or 1 to %d", d.Name(), len(c.moving), len(c.moving))
	}
	return c, c.prepare()
}

// errNoneKnown is returned if no image has known levels of all factors.
var errNoneKnown = errors.New("no image has known levels of all factors; want some, or law: independent")
