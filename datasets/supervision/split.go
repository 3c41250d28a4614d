package supervision

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Split divides the images of a data set into labelled groups and unlabelled images. A group consists of M images with
// known transformations relative to its first image (the transformation labels of Tonnaer et al. 2022, section 5).
type Split struct {
	M               int         // images per group of the first kind; 0: no groups
	Groups          [][]int     // M data set indices each, kind by kind: see Kinds
	Transformations [][]float32 // M*K numbers per group: the angle of image m in factor k, in radians, at m*K+k; the first K are 0
	Rotations       int         // number of rotations in space in Transformations, after the factors' angles: axis (x, y, z) and angle in radians for each pose factor in order, or for each rotation in a file
	Unlabelled      []int       // data set indices of images without a group, ascending
	Unmoved         bool        // Transformations are unknown: they do not contain all changes within groups
	Known           *Labels     // labels and similar pairs; nil: none

	Drawn *Drawn // groups that change in every epoch, after Groups; nil: none

	Actions      []Action  // actions that lead from image to image within groups; nil: none known
	GroupActions [][]int32 // for each of Groups, the index of the action from the previous image to each image; -1 for the first image and for unknown actions; nil: no actions
}

// K returns the number of columns of Transformations: one per factor, and 4 per rotation. It returns 0 if there are no
// groups with known transformations.
func (s *Split) K() int {
	switch {
	case len(s.Groups) > 0:
		return len(s.Transformations[0]) / len(s.Groups[0])
	case s.Drawn != nil && s.Drawn.Moves != nil:
		return s.Drawn.K
	}
	return 0
}

// Moves reports whether the transformations within all groups are known. It returns true if there are no groups.
func (s *Split) Moves() bool { return !s.Unmoved && (s.Drawn == nil || s.Drawn.Moves != nil) }

// GroupCount returns the number of groups per epoch.
func (s *Split) GroupCount() int {
	if s.Drawn == nil {
		return len(s.Groups)
	}
	return len(s.Groups) + s.Drawn.Count
}

// GroupKind is a range of groups of equal size.
type GroupKind struct {
	M            int  // images per group
	First, Count int  // index of the first group in Split.Groups, and number of groups
	Drawn        bool // the groups are Split.Drawn
}

// Kinds lists the kinds of groups in the order of the groups, with Drawn last. It returns nil if there are no groups.
func (s *Split) Kinds() []GroupKind {
	var list []GroupKind
	for g, group := range s.Groups {
		if n := len(list); n == 0 || list[n-1].M != len(group) {
			list = append(list, GroupKind{M: len(group), First: g})
		}
		list[len(list)-1].Count++
	}
	if s.Drawn != nil {
		list = append(list, GroupKind{M: s.Drawn.M, First: len(s.Groups), Count: s.Drawn.Count, Drawn: true})
	}
	return list
}

// NewSplit returns a split with groups of m images each. It computes the transformations from the levels of the
// circular factors and of the factors of rotations in space. If unlabelled is set, the split also trains on the images
// outside the groups.
//
// NewSplit returns an error for a group of another size, an index out of range, an unknown level of a circular or
// rotation factor in a group, and a split without images for training.
func NewSplit(d datasets.Dataset, m int, groups [][]int, unlabelled bool) (*Split, error) {
	split := &Split{M: m, Groups: groups, Transformations: make([][]float32, len(groups)), Rotations: countRotations(d)}
	used := make([]bool, d.Len())
	for g, group := range groups {
		if err := checkGroup(d, g, group, m); err != nil {
			return nil, err
		}
		var err error
		if split.Transformations[g], err = groupTransformations(d, g, group); err != nil {
			return nil, err
		}
		for _, i := range group {
			used[i] = true
		}
	}
	if unlabelled {
		for i, inGroup := range used {
			if !inGroup {
				split.Unlabelled = append(split.Unlabelled, i)
			}
		}
	}
	if len(groups) == 0 && len(split.Unlabelled) == 0 {
		return nil, errNoImages
	}
	return split, nil
}

// Validate returns an error if the split does not suit the data set: images outside it or out of order, groups without
// their transformations or actions, and nothing to train on. [Choices.Split] validates the split of every [Kind].
func (s *Split) Validate(d datasets.Dataset) error {
	if len(s.Transformations) != len(s.Groups) {
		return fmt.Errorf("there are %d groups and transformations of %d; want one for each",
			len(s.Groups), len(s.Transformations))
	}
	columns := len(d.Factors()) + 4*s.Rotations
	for g, group := range s.Groups {
		if err := checkGroup(d, g, group, max(1, len(group))); err != nil {
			return err
		}
		if n := len(s.Transformations[g]); n != len(group)*columns {
			return fmt.Errorf("group %d has %d numbers as transformations; want %d for each of its %d images",
				g, n, columns, len(group))
		}
	}
	if err := s.validateDrawn(d, columns); err != nil {
		return err
	}
	if err := checkImages(d, "Unlabelled", s.Unlabelled); err != nil {
		return err
	}
	if s.GroupCount() == 0 && len(s.Unlabelled) == 0 {
		return errNoImages
	}
	if s.Known == nil {
		return nil
	}
	for n, p := range s.Known.Pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= d.Len() || p.Factor < 0 || p.Factor >= len(s.Known.Factors) {
			return fmt.Errorf("pair %d is %+v; want images from 0 to %d and one of %d factors",
				n, p, d.Len()-1, len(s.Known.Factors))
		}
	}
	if err := s.Known.checkClasses(d.Len()); err != nil {
		return err
	}
	return checkImages(d, "Known.Images", s.Known.Images)
}

// validateDrawn checks actions and drawn groups. The transformations of an image have a number in each column.
func (s *Split) validateDrawn(d datasets.Dataset, columns int) error {
	for i, a := range s.Actions {
		if a.Factor < 0 || a.Factor >= len(d.Factors()) {
			return fmt.Errorf("action %d (%s) changes factor %d; want one of the %d factors of dataset %s",
				i, a.Name, a.Factor, len(d.Factors()), d.Name())
		}
	}
	if n := len(s.GroupActions); n > 0 && n != len(s.Groups) {
		return fmt.Errorf("there are %d groups and actions of %d; want actions of each, or of none", len(s.Groups), n)
	}
	for g, taken := range s.GroupActions {
		if err := checkActions(g, taken, len(s.Groups[g]), len(s.Actions)); err != nil {
			return err
		}
	}
	if s.Drawn == nil {
		return nil
	}
	if s.Drawn.Moves != nil && s.Drawn.K != columns {
		return fmt.Errorf("drawn groups have %d numbers for each image as transformations; want %d", s.Drawn.K, columns)
	}
	if s.M == 0 {
		return fmt.Errorf("the split has groups of %d images, which are drawn, and M is 0; want M of the first kind of groups", s.Drawn.M)
	}
	return s.Drawn.validate(d, len(s.Actions))
}

// checkImages returns an error for images out of ascending order and for images outside the data set.
func checkImages(d datasets.Dataset, name string, images []int) error {
	last := -1
	for _, i := range images {
		if i <= last || i >= d.Len() {
			return fmt.Errorf("%s has image %d after %d; want images of dataset %s, 0 to %d, ascending",
				name, i, last, d.Name(), d.Len()-1)
		}
		last = i
	}
	return nil
}

var errNoImages = errors.New("supervision leaves nothing to train on")

// checkGroup returns an error for a group that does not have m images, and for images outside the data set.
func checkGroup(d datasets.Dataset, g int, group []int, m int) error {
	if len(group) != m || m < 1 {
		return fmt.Errorf("group %d has %d images; want %d, and at least 1", g, len(group), m)
	}
	for _, i := range group {
		if i < 0 || i >= d.Len() {
			return fmt.Errorf("group %d has image %d; want an image of dataset %s, 0 to %d", g, i, d.Name(), d.Len()-1)
		}
	}
	return nil
}

func factorIndex(d datasets.Dataset, name string) (int, error) {
	names := factor.Names(d.Factors())
	if k := slices.Index(names, name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}

// JoinLabels merges labels from several sources. It merges factors with equal names, and keeps the order of first
// occurrence. It returns an error if two sources assign different levels of a factor to an image.
func JoinLabels(parts ...*Labels) (*Labels, error) {
	l := &Labels{}
	for _, part := range parts {
		for _, source := range part.sources() {
			columns, err := l.addFactors(source)
			if err != nil {
				return nil, err
			}
			l.parts, l.factorColumns = append(l.parts, source), append(l.factorColumns, columns)
			l.Share += source.Share
			l.Notes = append(l.Notes, source.Notes...)
			for _, k := range source.Assigned {
				l.Assigned = append(l.Assigned, columns[k])
			}
			l.Images = append(l.Images, source.Images...)
			for _, p := range source.Pairs {
				p.Factor = columns[p.Factor]
				l.Pairs = append(l.Pairs, p)
			}
		}
	}
	slices.Sort(l.Images)
	l.Images = slices.Compact(l.Images)
	if l.Share >= 1 {
		return nil, fmt.Errorf("the shares add up to %v of a batch; want less than 1", l.Share)
	}
	return l, l.checkAgreement()
}

// addFactors appends the factors of other that are new, and returns the columns of all factors of other.
func (l *Labels) addFactors(other *Labels) ([]int, error) {
	columns := make([]int, len(other.Factors))
	for k, f := range other.Factors {
		column := slices.IndexFunc(l.Factors, func(g factor.Factor) bool { return g.Name == f.Name })
		if column < 0 {
			column = len(l.Factors)
			l.Factors = append(l.Factors, f)
		}
		if g := l.Factors[column]; g.Size != f.Size || g.Kind != f.Kind || !slices.Equal(g.Values, f.Values) ||
			!slices.Equal(g.Angles, f.Angles) {
			return nil, fmt.Errorf("factor %q is %v with %d levels in one place and %v with %d levels in another; want different names for different factors",
				f.Name, g.Kind, g.Size, f.Kind, f.Size)
		}
		columns[k] = column
	}
	return columns, nil
}

// columnsOfPart returns the columns of a part's factors in Factors.
func (l *Labels) columnsOfPart(part int) []int {
	if l.parts != nil {
		return l.factorColumns[part]
	}
	return numeric.UpTo(len(l.Factors))
}

// checkAgreement returns an error if two parts assign different levels of a factor to an image.
func (l *Labels) checkAgreement() error {
	merged, levels := make([]int32, len(l.Factors)), make([]int32, len(l.Factors))
	for p, part := range l.parts {
		for _, i := range part.Images {
			if !part.At(i, levels) {
				break // similarities have no levels
			}
			l.At(i, merged)
			for k, column := range l.factorColumns[p] {
				if levels[k] >= 0 && levels[k] != merged[column] {
					return fmt.Errorf("image %d has the level %d of factor %q in one place and %d in another",
						i, levels[k], l.Factors[column].Name, merged[column])
				}
			}
		}
	}
	return nil
}

func joinSplits(d datasets.Dataset, splits []*Split) (*Split, error) {
	joined := &Split{Rotations: countRotations(d)}
	var known []*Labels
	kinds := map[int]int{} // by number of images per group: index of the groups
	var groups [][][]int
	var angles [][][]float32
	var actions [][][]int32
	if err := joinActions(joined, splits); err != nil {
		return nil, err
	}
	for _, s := range splits {
		joined.Unmoved = joined.Unmoved || s.Unmoved
		if s.Known != nil {
			known = append(known, s.Known)
		}
		if s.M == 0 {
			continue
		}
		if len(groups) > 0 && joined.Rotations != s.Rotations {
			return nil, fmt.Errorf("there are groups with %d rotations in space and with %d; want the same number in all",
				joined.Rotations, s.Rotations)
		}
		kind, ok := kinds[s.M]
		if !ok {
			kind = len(groups)
			kinds[s.M], groups, angles, actions = kind, append(groups, nil), append(angles, nil), append(actions, nil)
		}
		joined.Rotations = s.Rotations
		joined.M = cmp.Or(joined.M, s.M)
		groups[kind], angles[kind] = append(groups[kind], s.Groups...), append(angles[kind], s.Transformations...)
		if joined.Actions != nil {
			actions[kind] = append(actions[kind], s.actionsOfGroups()...)
		}
	}
	joined.Groups, joined.Transformations = slices.Concat(groups...), slices.Concat(angles...)
	joined.GroupActions = slices.Concat(actions...)
	if known != nil {
		var err error
		if joined.Known, err = JoinLabels(known...); err != nil {
			return nil, err
		}
	}
	joined.Unlabelled = joinUnlabelled(d, joined, splits)
	if joined.GroupCount() == 0 && len(joined.Unlabelled) == 0 {
		return nil, errNoImages
	}
	return joined, nil
}

// joinActions merges the actions and drawn groups of splits. Different actions or two drawn groups are an error.
func joinActions(joined *Split, splits []*Split) error {
	for _, s := range splits {
		if s.Actions != nil {
			if joined.Actions != nil && !slices.Equal(joined.Actions, s.Actions) {
				return fmt.Errorf("two kinds of supervision have actions; want only one")
			}
			joined.Actions = s.Actions
		}
		if s.Drawn != nil {
			if joined.Drawn != nil {
				return fmt.Errorf("two kinds of supervision draw groups for every epoch; want one")
			}
			joined.Drawn = s.Drawn
		}
	}
	return nil
}

// actionsOfGroups returns GroupActions. Images of groups without actions get -1.
func (s *Split) actionsOfGroups() [][]int32 {
	if s.GroupActions != nil {
		return s.GroupActions
	}
	list := make([][]int32, len(s.Groups))
	for g, group := range s.Groups {
		list[g] = slices.Repeat([]int32{-1}, len(group))
	}
	return list
}

// joinUnlabelled lists the images to train on without groups: the unlabelled images of splits with groups, and the
// images with labels. If there are no groups, it lists the unlabelled images of all splits.
func joinUnlabelled(d datasets.Dataset, joined *Split, splits []*Split) []int {
	trained, grouped := make([]bool, d.Len()), make([]bool, d.Len())
	for _, g := range joined.Groups {
		for _, i := range g {
			grouped[i] = true
		}
	}
	for _, s := range splits {
		if s.GroupCount() == 0 && joined.GroupCount() > 0 {
			continue
		}
		for _, i := range s.Unlabelled {
			trained[i] = true
		}
	}
	if joined.Known != nil {
		for _, i := range joined.Known.Images {
			trained[i] = true
		}
	}
	var list []int
	for i, include := range trained {
		if include && !grouped[i] {
			list = append(list, i)
		}
	}
	return list
}
