package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/factor"
)

// JoinLabels returns labels that know what all of several labels know. Factors of one name are one
// factor; an image of which two of them know the level of a factor must have the same one in both. The
// factors of the first labels come first.
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
			for _, k := range source.Assigned {
				l.Assigned = append(l.Assigned, place[k])
			}
			l.Images = append(l.Images, source.Images...)
			for _, p := range source.Pairs {
				l.Pairs = append(l.Pairs, SimilarPair{p.A, p.B, place[p.Factor]})
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

// placeFactors adds the factors of other labels that are new, and returns where all of them are.
func (l *Labels) placeFactors(other *Labels) ([]int, error) {
	place := make([]int, len(other.Factors))
	for k, f := range other.Factors {
		at := slices.IndexFunc(l.Factors, func(g factor.Factor) bool { return g.Name == f.Name })
		if at < 0 {
			at = len(l.Factors)
			l.Factors = append(l.Factors, f)
		}
		if g := l.Factors[at]; g.Size != f.Size || g.Kind != f.Kind || !slices.Equal(g.Values, f.Values) {
			return nil, fmt.Errorf("factor %q is %v with %d levels in one place and %v with %d levels in another; want different names for different factors",
				f.Name, g.Kind, g.Size, f.Kind, f.Size)
		}
		place[k] = at
	}
	return place, nil
}

// place is where the factors of a part stand among Factors.
func (l *Labels) place(part int) []int {
	if l.parts != nil {
		return l.places[part]
	}
	place := make([]int, len(l.Factors))
	for k := range place {
		place[k] = k
	}
	return place
}

// agree reports an image of which two parts know different levels of a factor.
func (l *Labels) agree() error {
	scratch := l.newScratch()
	both, own := make([]int32, len(l.Factors)), make([]int32, len(l.Factors))
	for p, part := range l.parts {
		for _, i := range part.Images {
			if !part.one(i, own, scratch.levels) {
				break // of similarities no level is known
			}
			l.at(i, both, scratch)
			for k, at := range l.places[p] {
				if own[k] >= 0 && own[k] != both[at] {
					return fmt.Errorf("image %d has the level %d of factor %q in one place and %d in another", i, own[k], l.Factors[at].Name, both[at])
				}
			}
		}
	}
	return nil
}

// joinSplits returns a split that knows what all of several splits of a data set know.
func joinSplits(d Dataset, splits []*Split) (*Split, error) {
	joined := &Split{}
	var known []*Labels
	kinds := map[int]int{} // the place of the groups of a number of images
	var groups [][][]int
	var moves [][][]float32
	for _, s := range splits {
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
			kinds[s.M], groups, moves = at, append(groups, nil), append(moves, nil)
		}
		joined.Rotations = s.Rotations
		joined.M = cmp.Or(joined.M, s.M)
		groups[at], moves[at] = append(groups[at], s.Groups...), append(moves[at], s.Transformations...)
	}
	joined.Groups, joined.Transformations = slices.Concat(groups...), slices.Concat(moves...)
	if known != nil {
		var err error
		if joined.Known, err = JoinLabels(known...); err != nil {
			return nil, err
		}
	}
	joined.Unlabelled = joinUnlabelled(d, joined, splits)
	if len(joined.Groups) == 0 && len(joined.Unlabelled) == 0 {
		return nil, errors.New("supervision leaves nothing to train on")
	}
	return joined, nil
}

// joinUnlabelled lists the images in no group that are trained on: those that a kind of supervision
// with groups leaves to be trained on, and those with labels; all images, if there are no groups.
func joinUnlabelled(d Dataset, joined *Split, splits []*Split) []int {
	trained, grouped := make([]bool, d.Len()), make([]bool, d.Len())
	for _, g := range joined.Groups {
		for _, i := range g {
			grouped[i] = true
		}
	}
	for _, s := range splits {
		if len(s.Groups) == 0 && len(joined.Groups) > 0 {
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
