package datasets

import (
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/configs/registry"
)

// NewSplit returns a split of groups of m images each, with the transformations that the levels of the
// circular factors and of the factors of rotations in space give. If unlabelled is set, the images in no group are trained on too. It is an error
// if a group has another number of images, if an index is out of range, if an image of a group has an unknown level of
// such a factor, or if nothing is left to train on.
func NewSplit(d Dataset, m int, groups [][]int, unlabelled bool) (*Split, error) {
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

// validate reports images that the data set lacks, and groups without their transformations: a supervision may have been
// written elsewhere.
func (s *Split) validate(d Dataset) error {
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

// validateDrawn reports actions and drawn groups that do not fit the data set. columns are those of transformations.
func (s *Split) validateDrawn(d Dataset, columns int) error {
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

// checkImages reports a list of images that is not ascending, or not of the data set.
func checkImages(d Dataset, name string, images []int) error {
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

// checkGroup reports a group of other than m images, or of images that the data set lacks.
func checkGroup(d Dataset, g int, group []int, m int) error {
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

// factorNamed finds a factor by its name.
func factorNamed(d Dataset, name string) (int, error) {
	var names []string
	for k, f := range d.Factors() {
		if f.Name == name {
			return k, nil
		}
		names = append(names, f.Name)
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}
