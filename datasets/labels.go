package datasets

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
)

// Labels holds what supervision knows about the factors of images: the levels of some images, or pairs of
// images that share an unknown level of one factor. [JoinLabels] merges the two kinds.
type Labels struct {
	Factors []factor.Factor // the factors of the columns
	Images  []int           // images with a label or in a pair, ascending
	Pairs   []SimilarPair   // of similarity supervision

	// Share is the fraction of every batch that a [Sampler] draws from Images (or from
	// Pairs), in reshuffled passes; 0: labelled images come only as the epoch's order deals them.
	Share float64

	// Assigned lists the factors that stand for the categorical dimensions of a learned hierarchy; nil: none does.
	Assigned []int

	// Classes holds, by factor and image, the number of a class of images that are known to agree in the factor, from 0 on;
	// -1: the image is in none. nil, of one factor or of all: there are none, and each of Pairs stands alone.
	Classes [][]int32

	Notes []string // remarks about what they were made of, such as answers that were left out

	set    Dataset // source of the levels; nil: table is
	column []int   // by factor: its place among the set's factors, or its column in the table
	table  []int32 // width labels for each image, image by image
	width  int

	parts  []*Labels // the merged labels; nil: they are of one source
	places [][]int   // by part: the columns of its factors among Factors
}

// SimilarPair says that two images have the same level of a factor (an index into
// Labels.Factors), or different ones.
type SimilarPair struct {
	A, B      int
	Factor    int
	Different bool
}

// TellsApart reports whether some pairs are known to differ.
func (l *Labels) TellsApart() bool {
	return slices.ContainsFunc(l.Pairs, func(p SimilarPair) bool { return p.Different })
}

// checkClasses reports classes that are not those of n images.
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

// KnowsLevels reports whether the levels of some images are known, not only similarities.
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

// Without removes the labels and pairs of the images that are marked.
func (l *Labels) Without(images []bool) {
	for _, part := range l.parts {
		part.Without(images)
	}
	l.Images = slices.DeleteFunc(l.Images, func(i int) bool { return images[i] })
	l.Pairs = slices.DeleteFunc(l.Pairs, func(p SimilarPair) bool { return images[p.A] || images[p.B] })
}

// maxLabel bounds levels: float32, which graphs hold them in, represents integers below it exactly.
const maxLabel = 1 << 24

// At writes the level of each of Factors of image i, or -1 where it is unknown. It returns false if no level is
// known; similar pairs give none.
func (l *Labels) At(i int, dst []int32) bool {
	return l.at(i, dst, l.newScratch())
}

// labelScratch holds the buffers of a look-up.
type labelScratch struct {
	levels []int   // of all factors of a set
	part   []int32 // the labels of one source
}

func (l *Labels) newScratch() labelScratch {
	s := labelScratch{part: make([]int32, len(l.Factors))}
	for _, source := range l.sources() {
		if source.set != nil {
			s.levels = make([]int, max(len(s.levels), len(source.set.Factors())))
		}
	}
	return s
}

// at is At without allocation.
func (l *Labels) at(i int, dst []int32, scratch labelScratch) bool {
	for k := range l.Factors {
		dst[k] = Unknown
	}
	if l.parts == nil {
		return l.one(i, dst, scratch.levels)
	}
	any := false
	for p, part := range l.parts {
		if !part.one(i, scratch.part, scratch.levels) {
			continue
		}
		any = true
		for k, at := range l.places[p] {
			if level := scratch.part[k]; level >= 0 {
				dst[at] = level
			}
		}
	}
	return any
}

// one writes the levels of an image from one source; false if it has none.
func (l *Labels) one(i int, dst []int32, scratch []int) bool {
	if l.Pairs != nil {
		return false
	}
	_, known := slices.BinarySearch(l.Images, i)
	if known {
		l.read(i, dst, scratch)
	}
	return known
}

// read writes the levels of a labelled image.
func (l *Labels) read(i int, dst []int32, scratch []int) {
	if l.set == nil {
		for k, c := range l.column {
			dst[k] = l.table[i*l.width+c]
		}
		return
	}
	scratch = scratch[:len(l.set.Factors())]
	l.set.FactorsAt(i, scratch)
	for k, c := range l.column {
		dst[k] = int32(scratch[c])
	}
}

// FactorLabels gives the factor levels of a random fraction of the images
// (Zhang and Sugiyama 2024, appendix F.2). There are no groups: all images are in
// Split.Unlabelled.
//
// With a file, its numbers or words are the labels in place of the factors' levels: the least ordinal label is 0 in [factor.Factor.Scaled], and
// the largest 1. With the same seed, the
// labelled images of a smaller fraction are a subset of those of a larger one.
type FactorLabels struct {
	Fraction float64     `yaml:"fraction" doc:"fraction of the images that have labels, chosen at random; at least one image"`
	Share    float64     `yaml:"share" doc:"fraction of every batch that is drawn from the labelled images, unless all images have labels"`
	Factors  []string    `yaml:"factors" doc:"factors with labels; empty: all"`
	File     string      `yaml:"file" doc:"your own labels: a table (.npy, .npz, .csv) of N rows, of whole numbers, negative, empty or NaN where unknown, or of words; empty: the factors of the data set"`
	Names    []string    `yaml:"names" doc:"names of the columns of the file; empty: those of its first line, or label0, label1, ..."`
	Kinds    ColumnKinds `yaml:"kinds" doc:"kinds of the columns of the file: ordinal, circular (evenly spaced), circular:360 (degrees, also real and negative ones), categorical or continuous (20 bins), by name or in order; empty: all categorical"`
}

// Validate checks the settings.
func (f *FactorLabels) Validate() error {
	if !(f.Fraction > 0 && f.Fraction <= 1) {
		return config.Invalid("fraction", "%v is out of range; want more than 0, and at most 1 (all images)", f.Fraction)
	}
	if f.File == "" && len(f.Names) > 0 {
		return config.Invalid("names", "they name the columns of a file, and there is no file")
	}
	if f.File == "" && len(f.Kinds.List)+len(f.Kinds.Named) > 0 {
		return config.Invalid("kinds", "they belong to the columns of a file, and there is no file")
	}
	if err := distinct("names", f.Names); err != nil {
		return err
	}
	return validShare(f.Share, f.Factors)
}

func validShare(share float64, factors []string) error {
	if !(share >= 0 && share < 1) {
		return config.Invalid("share", "%v is out of range; want 0 or more, and less than 1", share)
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

// Split draws the labelled images.
func (f *FactorLabels) Split(d Dataset, s *rng.Stream) (*Split, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	known := &Labels{Share: f.Share, set: d}
	columns := d.Factors()
	if f.File != "" {
		var err error
		if columns, err = f.readFile(d, known); err != nil {
			return nil, fmt.Errorf("labels: %w", err)
		}
	}
	if err := known.choose(columns, f.Factors); err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	candidates := known.labelled(d.Len())
	if len(candidates) == 0 {
		return nil, fmt.Errorf("labels: dataset %s has no image with labels", d.Name())
	}
	count := max(1, int(math.Round(f.Fraction*float64(len(candidates)))))
	for _, at := range s.Perm(len(candidates))[:count] {
		known.Images = append(known.Images, candidates[at])
	}
	slices.Sort(known.Images)
	if len(known.Images) == d.Len() {
		known.Share = 0
	}
	return knowing(d, known)
}

// choose selects the factors by their names; none: all.
func (l *Labels) choose(columns []factor.Factor, names []string) error {
	var all []string
	for _, f := range columns {
		all = append(all, f.Name)
	}
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
	switch several := func(f factor.Factor) bool { return f.Size > 1 }; {
	case len(l.Factors) == 0:
		return fmt.Errorf("there are no factors")
	case l.set != nil && !slices.ContainsFunc(l.Factors, several):
		return fmt.Errorf("dataset %s has no factor of several levels: nothing is known of its images that could be a label", l.set.Name())
	}
	return nil
}

// labelled lists the images, of n, that have a label.
func (l *Labels) labelled(n int) []int {
	list, scratch := make([]int, 0, n), l.newScratch().levels
	for i := range n {
		if l.labels(i, scratch) {
			list = append(list, i)
		}
	}
	return list
}

// labels reports whether an image has a label.
func (l *Labels) labels(i int, scratch []int) bool {
	known := func(c int) bool { return scratch[c] >= 0 }
	switch {
	case l.set == nil:
		known = func(c int) bool { return l.table[i*l.width+c] >= 0 }
	case Missing(l.set) == nil:
		return true
	default:
		l.set.FactorsAt(i, scratch)
	}
	return slices.ContainsFunc(l.column, known)
}

// knowing returns a split without groups that has labels.
func knowing(d Dataset, known *Labels) (*Split, error) {
	split, err := NewSplit(d, 0, nil, true)
	if err != nil {
		return nil, err
	}
	split.Known = known
	return split, nil
}

// TableLabels returns the labels in a table, image by image: a row for each image and a column for each
// factor, negative where a label is unknown.
func TableLabels(factors []factor.Factor, table []int32) *Labels {
	l := &Labels{Factors: factors, table: table, width: len(factors)}
	for c := range factors {
		l.column = append(l.column, c)
	}
	if len(factors) > 0 {
		l.Images = l.labelled(len(table) / len(factors))
	}
	return l
}
