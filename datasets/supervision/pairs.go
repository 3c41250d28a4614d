package supervision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Pairs draws Count pairs of distinct images at random, with each image in at most one pair, and labels the
// transformation from the first image to the second (Tonnaer et al. 2022, section 6). It can also draw groups of more
// images. The factors in Hold are equal within a pair; all other factors must be circular, or rotations in space.
// Images with unknown levels are in no pair.
type Pairs struct {
	Count  int      `yaml:"count" doc:"number of labelled pairs; no two pairs share an image"`
	Images int      `yaml:"images" doc:"images in a group: 2 for pairs"`
	Hold   []string `yaml:"hold" doc:"factors held equal within a pair, such as an object's identity"`
}

// Hint explains the keys of pairs without known transformations.
func (p *Pairs) Hint(key string) string {
	if slices.Contains([]string{"k", "law", "factors", "redraw", "half_single", "nuisance", "fixed", "rate", "file"}, key) {
		return "pairs with known moves have none; pairs with few changed factors are supervision: {changes: {k: 1}}"
	}
	return ""
}

func (p *Pairs) Validate() error {
	switch {
	case p.Count < 0:
		return config.Invalid("count", "%d is negative; want 0 or more", p.Count)
	case p.Images != 0 && (p.Images < 2 || p.Images > maxGroupImages):
		return config.Invalid("images", "%d is out of range; want 2 to %d", p.Images, maxGroupImages)
	}
	return nil
}

// Split draws the pairs. Without held factors, it draws 2 Count images without replacement and pairs the i-th image
// with the (Count+i)-th.
func (p *Pairs) Split(d datasets.Dataset, s *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	held := make([]bool, len(d.Factors()))
	for i, name := range p.Hold {
		k, err := factorIndex(d, name)
		if err != nil {
			return nil, fmt.Errorf("pairs: hold[%d]: %w", i, err)
		}
		held[k] = true
	}
	for k, f := range d.Factors() {
		if !f.Turns() && !held[k] && p.Count > 0 {
			return nil, fmt.Errorf("pairs: factor %q of dataset %s is %s, and a transformation needs an angle; want a circular factor and this one in hold, or views", f.Name, d.Name(), f.Kind)
		}
	}
	order := s.Perm(d.Len())
	if datasets.Missing(d) != nil {
		order = slices.DeleteFunc(order,
			hasUnknownLevel(d, func(k int, f factor.Factor) bool { return held[k] || f.Turns() }))
	}
	m := cmp.Or(p.Images, 2)
	var groups [][]int
	possible := len(order) / m
	switch {
	case len(p.Hold) > 0:
		groups = groupsWithin(d, order, held, m)
		s.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		possible = len(groups)
	case p.Count <= possible:
		for i := range p.Count {
			group := make([]int, m)
			for j := range group {
				group[j] = order[i+j*p.Count]
			}
			groups = append(groups, group)
		}
	}
	if p.Count > possible {
		return nil, fmt.Errorf("pairs: %d %s of distinct images cannot be drawn from the %d images of dataset %s%s; want at most %d",
			p.Count, groupNoun(m), len(order), d.Name(), knownNote(d, len(order)), possible)
	}
	return NewSplit(d, m, groups[:p.Count], true)
}

func groupNoun(m int) string {
	if m == 2 {
		return "pairs"
	}
	return fmt.Sprintf("groups of %d", m)
}

// groupsWithin forms groups of m images, in the given order, with equal levels of the held factors in a group.
func groupsWithin(d datasets.Dataset, order []int, held []bool, m int) [][]int {
	grid := factor.Grid(d.Factors())
	levels := make([]int, len(grid))
	waiting := map[int][]int{}
	var groups [][]int
	for _, i := range order {
		d.FactorsAt(i, levels)
		for k := range levels {
			if !held[k] {
				levels[k] = 0
			}
		}
		key := grid.Index(levels)
		if waiting[key] = append(waiting[key], i); len(waiting[key]) == m {
			groups = append(groups, waiting[key])
			delete(waiting, key)
		}
	}
	return groups
}

// Paths draws Count random walks over the images (Tonnaer et al. 2022, section 6). A walk starts at a random image.
// Each step changes one random circular factor by Step levels up or down, or a pose by Step times the rotation to one
// of its nearest poses. A walk of Length images with known levels is one group.
type Paths struct {
	Count      int  `yaml:"count" doc:"number of paths"`
	Length     int  `yaml:"length" doc:"images on a path, including its start"`
	Step       int  `yaml:"step" doc:"levels that a step changes a factor by"`
	Unlabelled bool `yaml:"unlabelled" doc:"train also on images on no path, without labels"`
}

// maxGroupImages is the maximum number of images in all groups together, counted with repetitions.
const maxGroupImages = 1 << 26

func (p *Paths) Validate() error {
	switch {
	case p.Count < 1:
		return config.Invalid("count", "%d is out of range; want 1 or more", p.Count)
	case p.Length < 2:
		return config.Invalid("length", "%d is out of range; want 2 or more", p.Length)
	case p.Count > maxGroupImages/p.Length:
		return config.Invalid("count", "%d paths of %d images are too many; want at most %d of this length",
			p.Count, p.Length, maxGroupImages/p.Length)
	case p.Step < 1:
		return config.Invalid("step", "%d is out of range; want 1 or more", p.Step)
	}
	return nil
}

func (p *Paths) Split(d datasets.Dataset, s *rng.Stream) (*Split, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var moving []int
	for k, f := range d.Factors() {
		if !f.Turns() {
			continue
		}
		if longest := longestStep(f); p.Step > longest {
			return nil, fmt.Errorf("paths: step %d is too long for factor %q of dataset %s; want 1 to %d",
				p.Step, f.Name, d.Name(), longest)
		}
		moving = append(moving, k)
	}
	if moving == nil {
		return nil, fmt.Errorf("paths: dataset %s has no circular factor and no rotations in space; want one to walk along",
			d.Name())
	}
	index, err := datasets.NewIndex(d)
	if err != nil {
		return nil, fmt.Errorf("paths: %w", err)
	}
	starts := knownImages(d)
	if len(starts) == 0 {
		return nil, fmt.Errorf("paths: dataset %s has no image with all levels known", d.Name())
	}
	groups := make([][]int, p.Count)
	for i := range groups {
		if groups[i], err = p.walk(d, index, starts, moving, s); err != nil {
			return nil, err
		}
	}
	return NewSplit(d, p.Length, groups, p.Unlabelled)
}

func (p *Paths) walk(d datasets.Dataset, index *datasets.Index, starts, moving []int, s *rng.Stream) ([]int, error) {
	factors := d.Factors()
	levels := make([]int, len(factors))
	path := make([]int, p.Length)
	path[0] = starts[s.IntN(len(starts))]
	d.FactorsAt(path[0], levels)
	for m := 1; m < p.Length; m++ {
		k := moving[s.IntN(len(moving))]
		levels[k] = stepOf(factors[k], levels[k], p.Step, s)
		image, ok := index.Find(levels)
		if !ok {
			return nil, fmt.Errorf("paths: dataset %s has no image with %s; want every combination of the levels of the factors that turn", d.Name(), factor.Describe(factors, levels))
		}
		path[m] = image
	}
	return path, nil
}

// ObjectViews forms a group of all images of an object: one factor, circular or of rotations in space, takes all its
// levels from 0, and the other factors are fixed (Tonnaer et al. 2022, sections 5 and 6, COIL-100 and ModelNet40). With
// Images, the views of an object are divided at random into groups of this many images; the remaining images are
// unlabelled. Images with unknown levels are in no group. A config names this supervision views.
type ObjectViews struct {
	Factor  string `yaml:"factor" doc:"factor that varies within a group: a circular factor or rotations in space; empty: the only such factor"`
	Objects int    `yaml:"objects" doc:"number of objects with labelled views, chosen at random; 0: all"`
	Images  int    `yaml:"images" doc:"images in a group, chosen at random among the views of an object; 0: all"`
}

func (v *ObjectViews) Validate() error {
	switch {
	case v.Objects < 0:
		return config.Invalid("objects", "%d is negative; want 0 (all) or more", v.Objects)
	case v.Images < 0 || v.Images == 1:
		return config.Invalid("images", "%d is out of range; want 0 (all), or 2 or more", v.Images)
	}
	return nil
}

func (v *ObjectViews) Split(d datasets.Dataset, s *rng.Stream) (*Split, error) {
	if err := v.Validate(); err != nil {
		return nil, err
	}
	k, err := v.turningFactor(d)
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
	for _, i := range knownImages(d) {
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
			return nil, fmt.Errorf("views: dataset %s has no image with %s; want all %d views of every object",
				d.Name(), factor.Describe(factors, levels), size)
		}
	}
	if v.Objects > len(groups) {
		return nil, fmt.Errorf("views: dataset %s has %d objects, not %d", d.Name(), len(groups), v.Objects)
	}
	if v.Objects > 0 {
		s.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		groups = groups[:v.Objects]
	}
	if v.Images > size {
		return nil, fmt.Errorf("views: objects of dataset %s have %d views; want groups of 2 to %d images",
			d.Name(), size, size)
	}
	if v.Images > 0 {
		groups, size = splitGroups(groups, v.Images, s), v.Images
	}
	return NewSplit(d, size, groups, true)
}

// splitGroups divides groups, in random order, into smaller groups of m images.
func splitGroups(groups [][]int, m int, s *rng.Stream) (parts [][]int) {
	for _, g := range groups {
		s.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
		for len(g) >= m {
			parts, g = append(parts, g[:m:m]), g[m:]
		}
	}
	return parts
}

func (v *ObjectViews) turningFactor(d datasets.Dataset) (int, error) {
	if v.Factor != "" {
		k, err := factorIndex(d, v.Factor)
		if err == nil && !d.Factors()[k].Turns() {
			err = fmt.Errorf("factor %q of dataset %s is %s, and a transformation needs an angle; want a circular factor, or one of rotations in space", v.Factor, d.Name(), d.Factors()[k].Kind)
		}
		return k, err
	}
	var names []string
	turning := -1
	for k, f := range d.Factors() {
		if f.Turns() {
			names, turning = append(names, f.Name), k
		}
	}
	switch len(names) {
	case 0:
		return 0, fmt.Errorf("dataset %s has no circular factor, nor rotations in space", d.Name())
	case 1:
		return turning, nil
	}
	return 0, fmt.Errorf("dataset %s has %d factors that turn; name one as factor: %s",
		d.Name(), len(names), strings.Join(names, ", "))
}
