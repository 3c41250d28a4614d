// Package supervision describes what a training run knows about the images of a data set, and provides its batches.
//
// A [Kind] of supervision creates a [Split] from a data set: groups of images with known transformations between them,
// labels of some images, and unlabelled images. A config chooses kinds by name from [Registry]. A [Sampler] divides a
// split into batches, and a [Loader] renders their images.
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
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Kind is a kind of supervision; the settings in [Registry] implement it. Its method Split creates a Split of a data
// set. The angle of image m in a circular factor with levels v is 2 pi ((v_m - v_1) mod Size)/Size. The rotation in a
// factor of poses R is R_m R_1^-1. All other factors have the same level within a group, and the angle 0. [NewSplit]
// computes the angles, and [TableLabels] creates labels. All randomness comes from the stream.
type Kind interface {
	Split(d datasets.Dataset, s *rng.Stream) (*Split, error)
}

// Choices is the supervision in a config: one kind, `{pairs: {count: 768}}`, or a list. An empty list means none.
type Choices []Choice

// Of returns a supervision of one kind.
func Of(name string, s Kind) Choices { return Choices{{Name: name, Value: s}} }

// String returns the names of the kinds.
func (s Choices) String() string {
	var names []string
	for _, c := range s {
		names = append(names, c.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}

// Split applies the supervision to a data set. The first kind draws from the stream "supervision" of the seed, and the
// kind at index i from "supervision/i". The result has the groups and labels of all kinds; images in groups may also
// have labels. [JoinLabels] merges labels and similar pairs.
func (s Choices) Split(d datasets.Dataset, seed uint64) (*Split, error) {
	if len(s) == 0 {
		return (&None{}).Split(d, nil)
	}
	splits := make([]*Split, len(s))
	for i, c := range s {
		stream := "supervision"
		if i > 0 {
			stream = fmt.Sprintf("supervision/%d", i)
		}
		var err error
		if splits[i], err = c.Value.Split(d, rng.New(seed, stream)); err != nil {
			return nil, err
		}
		if splits[i] == nil {
			return nil, fmt.Errorf("supervision %s made no split", c.Name)
		}
		if err := splits[i].Validate(d); err != nil {
			return nil, fmt.Errorf("supervision %s: %w", c.Name, err)
		}
	}
	if len(splits) == 1 {
		return splits[0], nil
	}
	split, err := joinSplits(d, splits)
	if err != nil {
		return nil, fmt.Errorf("%v: %w", s, err)
	}
	return split, nil
}

// DecodeConfig reads one kind, or a list of kinds.
func (s *Choices) DecodeConfig(n *config.Node) error {
	if !n.IsList() {
		var one Choice
		if err := n.Decode(&one); err != nil {
			return err
		}
		*s = Choices{one}
		return nil
	}
	var list []Choice
	if err := n.Decode(&list); err != nil {
		return err
	}
	if len(list) == 0 {
		return n.Errorf("the list is empty; want none, or at least one kind of supervision")
	}
	for i, c := range list {
		if _, none := c.Value.(*None); none && len(list) > 1 {
			return n.Items()[i].Errorf("none cannot be combined; want it without other kinds of supervision")
		}
	}
	*s = list
	return nil
}

// EncodeConfig writes a single kind without the list.
func (s Choices) EncodeConfig() (any, error) {
	switch len(s) {
	case 0:
		return "none", nil
	case 1:
		return s[0].EncodeConfig()
	}
	return []Choice(s), nil
}

func (Choices) ConfigForms() []any { return []any{Choice{}, []Choice{}} }

func (s Choices) ConfigType() string {
	return "one of " + strings.Join(Registry.Names(), ", ") + ", or a list of them"
}

// None makes all images unlabelled.
type None struct{}

func (*None) Split(d datasets.Dataset, _ *rng.Stream) (*Split, error) {
	return NewSplit(d, 0, nil, true)
}

// knownImages lists the images with known levels of all factors.
func knownImages(d datasets.Dataset) []int {
	list := numeric.UpTo(d.Len())
	if datasets.Missing(d) != nil {
		list = slices.DeleteFunc(list, hasUnknownLevel(d, func(int, factor.Factor) bool { return true }))
	}
	return list
}

// hasUnknownLevel returns a function that reports whether an image has an unknown level of a chosen factor.
func hasUnknownLevel(d datasets.Dataset, chosen func(k int, f factor.Factor) bool) func(image int) bool {
	var factors []int
	for k, f := range d.Factors() {
		if chosen(k, f) {
			factors = append(factors, k)
		}
	}
	levels := make([]int, len(d.Factors()))
	return func(image int) bool {
		d.FactorsAt(image, levels)
		return slices.ContainsFunc(factors, func(k int) bool { return levels[k] == datasets.Unknown })
	}
}

// knownNote returns a part of an error message: only n images of a data set have the needed levels.
func knownNote(d datasets.Dataset, n int) string {
	if n == d.Len() {
		return ""
	}
	return fmt.Sprintf(" whose levels are known, of %d", d.Len())
}
