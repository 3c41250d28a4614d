package supervision

import (
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
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
	split := &Split{M: m, Groups: groups, Transformations: make([][]float32, len(groups)), Rotations: rotations(d)}
	used := make([]bool, d.Len())
	for g, group := range groups {
		if err := checkGroup(d, g, group, m); err != nil {
			return nil, err
		}
		var err error
		if split.Transformations[g], err = transformations(d, g, group); err != nil {
			return nil, err
		}
		for _, i := range group {
			used[i] = true
		}
	}
	if unlabelled {
		for i, taken := range used {
			if !taken {
				split.Unlabelled = append(split.Unlabelled, i)
			}
		}
	}
	if len(groups) == 0 && len(split.Unlabelled) == 0 {
		return nil, errNothing
	}
	return split, nil
}

// validate returns an error for images outside the data set and for groups without their transformations. A split may
// come from a Kind in another package.
func (s *Split) validate(d datasets.Dataset) error {
	if len(s.Transformations) != len(s.Groups) {
		return fmt.Errorf("there are %d groups and transformations of %d; want one for each", len(s.Groups), len(s.Transformations))
	}
	columns := len(d.Factors()) + 4*s.Rotations
	for g, group := range s.Groups {
		if err := checkGroup(d, g, group, max(1, len(group))); err != nil {
			return err
		}
		if n := len(s.Transformations[g]); n != len(group)*columns {
			return fmt.Errorf("group %d has %d numbers as transformations; want %d for each of its %d images", g, n, columns, len(group))
		}
	}
	if err := s.validateDrawn(d, columns); err != nil {
		return err
	}
	if err := checkImages(d, "Unlabelled", s.Unlabelled); err != nil {
		return err
	}
	if s.GroupCount() == 0 && len(s.Unlabelled) == 0 {
		return errNothing
	}
	if s.Known == nil {
		return nil
	}
	for n, p := range s.Known.Pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= d.Len() || p.Factor < 0 || p.Factor >= len(s.Known.Factors) {
			return fmt.Errorf("pair %d is %+v; want images from 0 to %d and one of %d factors", n, p, d.Len()-1, len(s.Known.Factors))
		}
	}
	if err := s.Known.checkClasses(d.Len()); err != nil {
		return err
	}
	return checkImages(d, "Known.Images", s.Known.Images)
}

// validateDrawn returns an error if actions and drawn groups do not match the data set. columns is the number of
// columns of transformations.
func (s *Split) validateDrawn(d datasets.Dataset, columns int) error {
	for i, a := range s.Actions {
		if a.Factor < 0 || a.Factor >= len(d.Factors()) {
			return fmt.Errorf("action %d (%s) changes factor %d; want one of the %d factors of dataset %s", i, a.Name, a.Factor, len(d.Factors()), d.Name())
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
			return fmt.Errorf("%s has image %d after %d; want images of dataset %s, 0 to %d, ascending", name, i, last, d.Name(), d.Len()-1)
		}
		last = i
	}
	return nil
}

var errNothing = errors.New("supervision leaves nothing to train on")

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

func factorNamed(d datasets.Dataset, name string) (int, error) {
	names := factor.Names(d.Factors())
	if k := slices.Index(names, name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}
