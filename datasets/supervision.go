package datasets

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/rng"
)

// Split divides the images of a data set into labelled groups and unlabelled images. A group is M images with
// known transformations relative to its first image (the transformation labels of Tonnaer
// et al. 2022, section 5).
type Split struct {
	M               int         // images in a group of the first kind; 0: the supervision makes no groups
	Groups          [][]int     // M data set indices each, kind by kind: see Kinds
	Transformations [][]float32 // M*K numbers each: the angle of image m in factor k, in radians, at m*K+k; the first K are 0
	Rotations       int         // rotations in space in Transformations, after the factors' angles: axis (x, y, z) and angle in radians each
	Unlabelled      []int       // data set indices in no group, ascending
	Known           *Labels     // labels and similar pairs; nil: none
}

// K returns the number of columns of Transformations: the factors, and 4 for each rotation; 0 when
// there are no groups.
func (s *Split) K() int {
	if len(s.Groups) == 0 {
		return 0
	}
	return len(s.Transformations[0]) / len(s.Groups[0])
}

// GroupKind is a range of groups of the same number of images.
type GroupKind struct {
	M            int // images in a group
	First, Count int // index of its first group in Split.Groups, and number of groups
}

// Kinds lists the kinds of groups, in the groups' order; nil when there are none.
func (s *Split) Kinds() []GroupKind {
	var list []GroupKind
	for g, group := range s.Groups {
		if n := len(list); n == 0 || list[n-1].M != len(group) {
			list = append(list, GroupKind{M: len(group), First: g})
		}
		list[len(list)-1].Count++
	}
	return list
}

// Supervision makes a Split; the settings structs in [SupervisionRegistry] are Supervisions. The
// angle of image m in a circular factor is 2 pi ((v_m - v_1) mod Size)/Size, where v are levels; factors that are
// not circular have one level in a group, and the angle 0. [NewSplit] computes the angles, [TableLabels] makes labels.
// Everything random comes from the stream.
type Supervision interface {
	Split(d Dataset, s *rng.Stream) (*Split, error)
}

// None makes all images unlabelled.
type None struct{}

// Split returns a Split without groups.
func (*None) Split(d Dataset, _ *rng.Stream) (*Split, error) { return NewSplit(d, 0, nil, true) }

// Pairs draws Count pairs of distinct images at random, no image twice, and labels
// the transformation from the first to the second (Tonnaer et al. 2022, section 6). The
// factors named by Hold are equal within a pair; all others must be circular. Images of unknown levels are in no pair.
type Pairs struct {
	Count int      `yaml:"count" doc:"number of labelled pairs; every pair uses two images of its own"`
	Hold  []string `yaml:"hold" doc:"factors that are equal within a pair, such as the identity of an object"`
}

// Validate checks the settings.
func (p *Pairs) Validate() error {
	if p.Count < 0 {
		return config.Invalid("count", "%d is negative; want 0 or more", p.Count)
	}
	return nil
}

// Split draws the pairs. Without held factors, it draws 2 Count images without
// replacement and joins the first with the (Count+1)-th, and so on.
func (p *Pairs) Split(d Dataset, s *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	held := make([]bool, len(d.Factors()))
	for i, name := range p.Hold {
		k, err := factorNamed(d, name)
		if err != nil {
			return nil, fmt.Errorf("pairs: hold[%d]: %w", i, err)
		}
		held[k] = true
	}
	for k, f := range d.Factors() {
		if f.Kind != factor.Circular && !held[k] && p.Count > 0 {
			return nil, fmt.Errorf("pairs: factor %q of dataset %s is %s, and a transformation needs an angle; name it in hold, or use views", f.Name, d.Name(), f.Kind)
		}
	}
	order := s.Perm(d.Len())
	if Missing(d) != nil {
		order = slices.DeleteFunc(order, unknownOf(d, func(k int, f factor.Factor) bool { return held[k] || f.Kind == factor.Circular }))
	}
	var groups [][]int
	possible := len(order) / 2
	switch {
	case len(p.Hold) > 0:
		groups = pairsWithin(d, order, held)
		s.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		possible = len(groups)
	case p.Count <= possible:
		for i := range p.Count {
			groups = append(groups, []int{order[i], order[i+p.Count]})
		}
	}
	if p.Count > possible {
		return nil, fmt.Errorf("pairs: %d pairs of distinct images cannot be drawn from the %d images of dataset %s%s; want at most %d", p.Count, len(order), d.Name(), ofKnown(d, len(order)), possible)
	}
	return NewSplit(d, 2, groups[:p.Count], true)
}

// pairsWithin joins images, taken in the given order, that are equal in the held
// factors.
func pairsWithin(d Dataset, order []int, held []bool) [][]int {
	grid := factor.Grid(d.Factors())
	levels := make([]int, len(grid))
	waiting := map[int]int{}
	var groups [][]int
	for _, i := range order {
		d.FactorsAt(i, levels)
		for k := range levels {
			if !held[k] {
				levels[k] = 0
			}
		}
		key := grid.Index(levels)
		if first, ok := waiting[key]; ok {
			groups = append(groups, []int{first, i})
			delete(waiting, key)
		} else {
			waiting[key] = i
		}
	}
	return groups
}

// Paths draws Count random walks over the images (Tonnaer et al. 2022, section 6):
// a walk starts at a random image, and each of its steps changes one random circular
// factor by Step levels up or down. A walk of Length images, all of known levels, is one group.
type Paths struct {
	Count      int  `yaml:"count" doc:"number of paths"`
	Length     int  `yaml:"length" doc:"images on a path, its start included"`
	Step       int  `yaml:"step" doc:"levels by which a step changes one factor"`
	Unlabelled bool `yaml:"unlabelled" doc:"train also, without labels, on the images on no path"`
}

// maxWalked bounds the images of all paths together, repetitions included.
const maxWalked = 1 << 26

// Validate checks the settings.
func (p *Paths) Validate() error {
	switch {
	case p.Count < 1:
		return config.Invalid("count", "%d is out of range; want 1 or more", p.Count)
	case p.Length < 2:
		return config.Invalid("length", "%d is out of range; want 2 or more", p.Length)
	case p.Count > maxWalked/p.Length:
		return config.Invalid("count", "%d paths of %d images are too many; want at most %d of this length", p.Count, p.Length, maxWalked/p.Length)
	case p.Step < 1:
		return config.Invalid("step", "%d is out of range; want 1 or more", p.Step)
	}
	return nil
}

// Split draws the paths.
func (p *Paths) Split(d Dataset, s *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var circular []int
	for k, f := range d.Factors() {
		if f.Kind != factor.Circular {
			continue
		}
		if p.Step >= f.Size {
			return nil, fmt.Errorf("paths: step %d is too long for factor %q of dataset %s; want 1 to %d", p.Step, f.Name, d.Name(), f.Size-1)
		}
		circular = append(circular, k)
	}
	if circular == nil {
		return nil, fmt.Errorf("paths: dataset %s has no circular factor to walk along", d.Name())
	}
	index, err := NewIndex(d)
	if err != nil {
		return nil, fmt.Errorf("paths: %w", err)
	}
	starts := known(d)
	if len(starts) == 0 {
		return nil, fmt.Errorf("paths: dataset %s has no image whose levels are all known", d.Name())
	}
	groups := make([][]int, p.Count)
	for i := range groups {
		if groups[i], err = p.walk(d, index, starts, circular, s); err != nil {
			return nil, err
		}
	}
	return NewSplit(d, p.Length, groups, p.Unlabelled)
}

// walk draws one path.
func (p *Paths) walk(d Dataset, index *Index, starts, circular []int, s *rng.Stream) ([]int, error) {
	factors := d.Factors()
	levels := make([]int, len(factors))
	path := make([]int, p.Length)
	path[0] = starts[s.IntN(len(starts))]
	d.FactorsAt(path[0], levels)
	for m := 1; m < p.Length; m++ {
		k := circular[s.IntN(len(circular))]
		move := p.Step
		if s.IntN(2) == 1 {
			move = factors[k].Size - p.Step
		}
		levels[k] = (levels[k] + move) % factors[k].Size
		image, ok := index.Find(levels)
		if !ok {
			return nil, fmt.Errorf("paths: dataset %s has no image with %s; want every combination of the circular factors' levels", d.Name(), factor.Describe(factors, levels))
		}
		path[m] = image
	}
	return path, nil
}

// ObjectViews makes one group of all images of an object: a circular factor takes all
// its levels, from 0 on, while the other factors are fixed (Tonnaer et al.
// 2022, sections 5 and 6, COIL-100 and ModelNet40). Images of unknown levels are in no group. Its name in a config is
// views.
type ObjectViews struct {
	Factor  string `yaml:"factor" doc:"circular factor that varies within a group; empty: the only circular one"`
	Objects int    `yaml:"objects" doc:"number of objects with labelled views, chosen at random; 0: all"`
}

// Validate checks the settings.
func (v *ObjectViews) Validate() error {
	if v.Objects < 0 {
		return config.Invalid("objects", "%d is negative; want 0 (all) or more", v.Objects)
	}
	return nil
}

// Split collects the views.
func (v *ObjectViews) Split(d Dataset, s *rng.Stream) (*Split, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	k, err := v.moving(d)
	if err != nil {
		return nil, fmt.Errorf("views: %w", err)
	}
	factors := d.Factors()
	grid, size := factor.Grid(factors), factors[k].Size
	if size > d.Len() {
		return nil, fmt.Errorf("views: dataset %s has %d images; want all %d views of every object", d.Name(), d.Len(), size)
	}
	levels := make([]int, len(factors))
	object := map[int]int{} // grid position of the object at level 0 -> group
	var groups [][]int
	for _, i := range known(d) {
		d.FactorsAt(i, levels)
		level := levels[k]
		levels[k] = 0
		g, ok := object[grid.Index(levels)]
		if !ok {
			g = len(groups)
			object[grid.Index(levels)] = g
			groups = append(groups, slices.Repeat([]int{-1}, size))
		}
		if groups[g][level] >= 0 {
			return nil, fmt.Errorf("views: images %d and %d of dataset %s show the same view", groups[g][level], i, d.Name())
		}
		groups[g][level] = i
	}
	for _, group := range groups {
		if level := slices.Index(group, -1); level >= 0 {
			d.FactorsAt(slices.Max(group), levels)
			levels[k] = level
			return nil, fmt.Errorf("views: dataset %s has no image with %s; want all %d views of every object", d.Name(), factor.Describe(factors, levels), size)
		}
	}
	if v.Objects > len(groups) {
		return nil, fmt.Errorf("views: dataset %s has %d objects, not %d", d.Name(), len(groups), v.Objects)
	}
	if v.Objects > 0 {
		s.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		groups = groups[:v.Objects]
	}
	return NewSplit(d, size, groups, true)
}

// moving returns the factor that varies.
func (v *ObjectViews) moving(d Dataset) (int, error) {
	if v.Factor != "" {
		k, err := factorNamed(d, v.Factor)
		if err == nil && d.Factors()[k].Kind != factor.Circular {
			err = fmt.Errorf("factor %q of dataset %s is %s, and a transformation needs an angle; want a circular factor", v.Factor, d.Name(), d.Factors()[k].Kind)
		}
		return k, err
	}
	var names []string
	found := -1
	for k, f := range d.Factors() {
		if f.Kind == factor.Circular {
			names, found = append(names, f.Name), k
		}
	}
	switch len(names) {
	case 0:
		return 0, fmt.Errorf("dataset %s has no circular factor", d.Name())
	case 1:
		return found, nil
	}
	return 0, fmt.Errorf("dataset %s has %d circular factors; name one as factor: %s", d.Name(), len(names), strings.Join(names, ", "))
}
