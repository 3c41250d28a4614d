package supervision

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// JoinLabels merges labels from several sources. It merges factors with equal names, and keeps the order of first
// occurrence. It returns an error if two sources assign different levels of a factor to an image.
func JoinLabels(parts ...*Labels) (*Labels, error) {
	l := &Labels{}
	for _, part := range parts {
		for _, source := range part.sources() {
			place, err := l.placeFactors(source)
			if err != nil {
				return nil, err
			}
			l.parts, l.places = append(l.parts, source), append(l.places, place)
			l.Share += source.Share
			l.Notes = append(l.Notes, source.Notes...)
			for _, k := range source.Assigned {
				l.Assigned = append(l.Assigned, place[k])
			}
			l.Images = append(l.Images, source.Images...)
			for _, p := range source.Pairs {
				p.Factor = place[p.Factor]
				l.Pairs = append(l.Pairs, p)
			}
		}
	}
	slices.Sort(l.Images)
	l.Images = slices.Compact(l.Images)
	if l.Share >= 1 {
		return nil, fmt.Errorf("the shares add up to %v of a batch; want less than 1", l.Share)
	}
	return l, l.agree()
}

// placeFactors appends the factors of other that are new, and returns the columns of all factors of other.
func (l *Labels) placeFactors(other *Labels) ([]int, error) {
	place := make([]int, len(other.Factors))
	for k, f := range other.Factors {
		at := slices.IndexFunc(l.Factors, func(g factor.Factor) bool { return g.Name == f.Name })
		if at < 0 {
			at = len(l.Factors)
			l.Factors = append(l.Factors, f)
		}
		if g := l.Factors[at]; g.Size != f.Size || g.Kind != f.Kind || !slices.Equal(g.Values, f.Values) || !slices.Equal(g.Angles, f.Angles) {
			return nil, fmt.Errorf("factor %q is %v with %d levels in one place and %v with %d levels in another; want different names for different factors",
				f.Name, g.Kind, g.Size, f.Kind, f.Size)
		}
		place[k] = at
	}
	return place, nil
}

// place returns the columns of a part's factors in Factors.
func (l *Labels) place(part int) []int {
	if l.parts != nil {
		return l.places[part]
	}
	return numeric.UpTo(len(l.Factors))
}

// agree returns an error if two parts assign different levels of a factor to an image.
func (l *Labels) agree() error {
	both, own := make([]int32, len(l.Factors)), make([]int32, len(l.Factors))
	for p, part := range l.parts {
		for _, i := range part.Images {
			if !part.At(i, own) {
				break // similarities have no levels
			}
			l.At(i, both)
			for k, at := range l.places[p] {
				if own[k] >= 0 && own[k] != both[at] {
					return fmt.Errorf("image %d has the level %d of factor %q in one place and %d in another", i, own[k], l.Factors[at].Name, both[at])
				}
			}
		}
	}
	return nil
}

// joinSplits merges splits of one data set.
func joinSplits(d datasets.Dataset, splits []*Split) (*Split, error) {
	joined := &Split{Rotations: rotations(d)}
	var known []*Labels
	kinds := map[int]int{} // by number of images per group: index of the groups
	var groups [][][]int
	var angles [][][]float32
	var taken [][][]int32
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
			return nil, fmt.Errorf("there are groups with %d rotations in space and with %d; want the same number in all", joined.Rotations, s.Rotations)
		}
		at, ok := kinds[s.M]
		if !ok {
			at = len(groups)
			kinds[s.M], groups, angles, taken = at, append(groups, nil), append(angles, nil), append(taken, nil)
		}
		joined.Rotations = s.Rotations
		joined.M = cmp.Or(joined.M, s.M)
		groups[at], angles[at] = append(groups[at], s.Groups...), append(angles[at], s.Transformations...)
		if joined.Actions != nil {
			taken[at] = append(taken[at], s.actionsOfGroups()...)
		}
	}
	joined.Groups, joined.Transformations = slices.Concat(groups...), slices.Concat(angles...)
	joined.GroupActions = slices.Concat(taken...)
	if known != nil {
		var err error
		if joined.Known, err = JoinLabels(known...); err != nil {
			return nil, err
		}
	}
	joined.Unlabelled = joinUnlabelled(d, joined, splits)
	if joined.GroupCount() == 0 && len(joined.Unlabelled) == 0 {
		return nil, errNothing
	}
	return joined, nil
}

// joinActions merges the actions and the drawn groups of splits. It returns an error for different lists of actions,
// and if two splits have drawn groups.
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
	for i, is := range trained {
		if is && !grouped[i] {
			list = append(list, i)
		}
	}
	return list
}
