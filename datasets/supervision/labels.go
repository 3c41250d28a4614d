package supervision

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
)

// Labels holds the known facts about factors: the levels of some images, or pairs of images with the same unknown level
// of a factor. [JoinLabels] merges both.
type Labels struct {
	Factors []factor.Factor // factors of the columns
	Images  []int           // images with a label or in a pair, ascending
	Pairs   []SimilarPair   // pairs of similarity supervision

	// Share is the fraction of every batch that a [Sampler] draws from Images (or from Pairs), in reshuffled passes. If
	// Share is 0, labelled images only occur in the order of the epoch.
	Share float64

	// Assigned lists the factors that label the categorical dimensions of a learned hierarchy; nil: none.
	Assigned []int

	// Classes holds, by factor and image, the number of the image's class from 0, or -1. The images of a class have
	// equal values of the factor. nil, for one factor or for all, means no classes: each of Pairs is used separately.
	Classes [][]int32

	Notes []string // notes on the origin of the labels, such as dropped answers

	column []int   // by factor: column in the table
	table  []int32 // width labels per image, image by image; negative: unknown
	width  int

	parts  []*Labels // merged labels; nil: a single source
	places [][]int   // by part: columns of its factors in Factors
}

// SimilarPair says that two images have the same level of a factor (an index into Labels.Factors), or different levels.
type SimilarPair struct {
	A, B      int
	Factor    int
	Different bool
}

// TellsApart reports whether some pairs have different levels.
func (l *Labels) TellsApart() bool {
	return slices.ContainsFunc(l.Pairs, func(p SimilarPair) bool { return p.Different })
}

// checkClasses returns an error for classes that do not match n images.
func (l *Labels) checkClasses(n int) error {
	if l.Classes == nil {
		return nil
	}
	if len(l.Classes) != len(l.Factors) {
		return fmt.Errorf("there are classes of %d factors; want one list for each of the %d factors", len(l.Classes), len(l.Factors))
	}
	for k, of := range l.Classes {
		name := l.Factors[k].Name
		if of != nil && len(of) != n {
			return fmt.Errorf("classes of factor %q are those of %d images; want %d", name, len(of), n)
		}
		most := maxLabel - l.Factors[k].Size - 1
		for i, c := range of {
			if c < -1 || int(c) > most {
				return fmt.Errorf("image %d is in class %d of factor %q; want 0 to %d, or -1 where it has none", i, c, name, most)
			}
		}
	}
	return nil
}

// KnowsLevels reports whether some levels are known, and not only similarities.
func (l *Labels) KnowsLevels() bool {
	if l.parts == nil {
		return l.Pairs == nil
	}
	return slices.ContainsFunc(l.parts, (*Labels).KnowsLevels)
}

// sources lists the labels of each source.
func (l *Labels) sources() []*Labels {
	if l.parts == nil {
		return []*Labels{l}
	}
	return l.parts
}

// Without removes the labels and pairs of the marked images.
func (l *Labels) Without(images []bool) {
	for _, part := range l.parts {
		part.Without(images)
	}
	l.Images = slices.DeleteFunc(l.Images, func(i int) bool { return images[i] })
	l.Pairs = slices.DeleteFunc(l.Pairs, func(p SimilarPair) bool { return images[p.A] || images[p.B] })
}

// maxLabel is the maximum level: graphs store levels as float32, which represents integers up to 2^24 exactly.
const maxLabel = 1 << 24

// At writes the level of each of Factors for image i, and -1 for an unknown level. It returns false if no level is
// known; similar pairs have no levels.
func (l *Labels) At(i int, dst []int32) bool {
	for k := range l.Factors {
		dst[k] = datasets.Unknown
	}
	if l.parts == nil {
		return l.write(i, dst, nil)
	}
	any := false
	for p, part := range l.parts {
		any = part.write(i, dst, l.places[p]) || any
	}
	return any
}

// write writes the known levels of an image from one source to the columns in place, or in the order of the factors if
// place is nil. It returns false if the source has no levels of the image.
func (l *Labels) write(i int, dst []int32, place []int) bool {
	if _, known := slices.BinarySearch(l.Images, i); !known || l.Pairs != nil {
		return false
	}
	for k, c := range l.column {
		if place != nil {
			k = place[k]
		}
		if level := l.table[i*l.width+c]; level >= 0 {
			dst[k] = level
		}
	}
	return true
}

func validShare(share float64, factors []string) error {
	if !(share >= 0 && share < 1) {
		return config.Invalid("share", "%v is out of range; want 0 or more, and less than 1", share)
	}
	return distinct("factors", factors)
}

// validPairShare is validShare for labels that are pairs alone: without a share, no batch has any.
func validPairShare(share float64, factors []string) error {
	if !(share > 0 && share < 1) {
		return config.Invalid("share", "%v is out of range for the pairs of a batch; want more than 0, and less than 1", share)
	}
	return distinct("factors", factors)
}

func distinct(key string, names []string) error {
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			return config.Invalid(key, "name %d, %q, is empty or repeated; want distinct names", i, name)
		}
	}
	return nil
}

// choose selects the columns of factors by their names, or all columns if there are no names.
func (l *Labels) choose(columns []factor.Factor, names []string) error {
	all := factor.Names(columns)
	if len(names) == 0 {
		names = all
	}
	for i, name := range names {
		c := slices.Index(all, name)
		if c < 0 {
			return fmt.Errorf("factors[%d]: there is no factor %q%s", i, name, registry.Suggest(name, all))
		}
		if columns[c].Size > maxLabel {
			return fmt.Errorf("factor %q has %d levels; want at most %d", name, columns[c].Size, maxLabel)
		}
		l.Factors, l.column = append(l.Factors, columns[c]), append(l.column, c)
	}
	if len(l.Factors) == 0 {
		return fmt.Errorf("there are no factors")
	}
	return nil
}

// chooseOf is choose for the factors of a data set. At least one chosen factor must have several levels.
func (l *Labels) chooseOf(d datasets.Dataset, names []string) error {
	if err := l.choose(d.Factors(), names); err != nil {
		return err
	}
	if !slices.ContainsFunc(l.Factors, func(f factor.Factor) bool { return f.Size > 1 }) {
		return fmt.Errorf("dataset %s has no factor of several levels: nothing is known of its images that could be a label", d.Name())
	}
	return nil
}

// labelled lists the images, out of n, that have a label.
func (l *Labels) labelled(n int) []int {
	list := make([]int, 0, n)
	for i := range n {
		if slices.ContainsFunc(l.column, func(c int) bool { return l.table[i*l.width+c] >= 0 }) {
			list = append(list, i)
		}
	}
	return list
}

// knowing returns a split without groups, with the given labels.
func knowing(d datasets.Dataset, known *Labels) (*Split, error) {
	split, err := NewSplit(d, 0, nil, true)
	if err != nil {
		return nil, err
	}
	split.Known = known
	return split, nil
}

// TableLabels returns the labels of a table with one row per image and one column per factor. A negative number means
// an unknown label.
func TableLabels(factors []factor.Factor, table []int32) *Labels {
	l := &Labels{Factors: factors, table: table, width: len(factors), column: upTo(len(factors))}
	if len(factors) > 0 {
		l.Images = l.labelled(len(table) / len(factors))
	}
	return l
}
