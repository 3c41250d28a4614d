package datasets

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/registry"
	"github.com/unravel-ml/unravel/rng"
)

// Labels is what supervision knows about the factors of images: the levels of some images, or
// only that the two images of a pair agree in one factor, and not at which level. [JoinLabels]
// makes labels that know both.
type Labels struct {
	Factors []factor.Factor // what the columns of levels speak of
	Images  []int           // the images about which something is known, ascending
	Pairs   []SimilarPair   // of similarity supervision

	// Share is the part of every batch that a [Sampler] draws from Images (or from
	// Pairs), in reshuffled passes; 0: labels come as the epoch's order deals them.
	Share float64

	// Assigned lists the factors that stand for the categorical dimensions of a learned hierarchy; nil: none does.
	Assigned []int

	set    Dataset // whose levels are known; nil if they stand in table
	column []int   // the factor of the set, or the column of the table, of each of Factors
	table  []int32 // width labels for each image
	width  int

	parts  []*Labels // what several kinds of supervision know; nil: it is one
	places [][]int   // by part: the columns of its factors among Factors
}

// SimilarPair says that two images have the same level of a factor (an index into
// Labels.Factors).
type SimilarPair struct {
	A, B   int
	Factor int
}

// KnowsLevels reports whether the levels of some images are known, not only similarities.
func (l *Labels) KnowsLevels() bool {
	if l.parts == nil {
		return l.Pairs == nil
	}
	return slices.ContainsFunc(l.parts, (*Labels).KnowsLevels)
}

// sources lists what each kind of supervision knows.
func (l *Labels) sources() []*Labels {
	if l.parts == nil {
		return []*Labels{l}
	}
	return l.parts
}

// Without forgets what is known of some images.
func (l *Labels) Without(images []bool) {
	for _, part := range l.parts {
		part.Without(images)
	}
	l.Images = slices.DeleteFunc(l.Images, func(i int) bool { return images[i] })
	l.Pairs = slices.DeleteFunc(l.Pairs, func(p SimilarPair) bool { return images[p.A] || images[p.B] })
}

// unknown stands for a level that is not known.
const unknown = -1

// maxLabel bounds levels: graphs hold them as float32, which must tell them apart.
const maxLabel = 1 << 24

// At writes what is known of an image: the level of each of Factors, or -1. It
// reports whether anything is known; of similarities nothing ever is.
func (l *Labels) At(i int, dst []int32) bool {
	return l.at(i, dst, l.newScratch())
}

// labelScratch is room for looking labels up.
type labelScratch struct {
	levels []int   // of all factors of a set
	part   []int32 // what one kind of supervision knows
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
		dst[k] = unknown
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

// one writes what one kind of supervision knows of the levels of an image, if it knows any.
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

// FactorLabels knows the levels of the factors of a random part of the images
// (Zhang and Sugiyama 2024, appendix F.2). Nothing else is known: every image is
// unlabelled as far as moves are concerned.
//
// With a file, its integers are the labels in place of the factors' levels. The
// labelled images of a seed at a smaller fraction are among those at a larger one.
type FactorLabels struct {
	Fraction float64       `yaml:"fraction" doc:"part of the images whose labels are known, chosen at random; at least one image"`
	Share    float64       `yaml:"share" doc:"part of every batch that is drawn from the labelled images, unless all are"`
	Factors  []string      `yaml:"factors" doc:"factors that are known; empty: all"`
	File     string        `yaml:"file" doc:"your own labels: an .npy array of integers, N or N x m, negative where unknown; empty: the factors of the data set"`
	Names    []string      `yaml:"names" doc:"names of the columns of the file; empty: label0, label1, ..."`
	Kinds    []factor.Kind `yaml:"kinds" doc:"kind of every column of the file; empty: all categorical"`
}

// Validate checks the settings.
func (f *FactorLabels) Validate() error {
	if !(f.Fraction > 0 && f.Fraction <= 1) {
		return config.Invalid("fraction", "%v is out of range; want more than 0, and at most 1 (all images)", f.Fraction)
	}
	if f.File == "" && len(f.Names) > 0 {
		return config.Invalid("names", "they name the columns of a file, and there is no file")
	}
	if f.File == "" && len(f.Kinds) > 0 {
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

// choose sets the factors that labels speak of.
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
	if len(l.Factors) == 0 {
		return fmt.Errorf("there are no factors")
	}
	return nil
}

// labelled lists the images, of n, that have a label.
func (l *Labels) labelled(n int) []int {
	list := make([]int, 0, n)
	for i := range n {
		if l.set != nil || slices.ContainsFunc(l.column, func(c int) bool { return l.table[i*l.width+c] >= 0 }) {
			list = append(list, i)
		}
	}
	return list
}

// knowing is a split without moves.
func knowing(d Dataset, known *Labels) (*Split, error) {
	split, err := NewSplit(d, 0, nil, true)
	if err != nil {
		return nil, err
	}
	split.Known = known
	return split, nil
}

// TableLabels knows labels from a table of one row for each image and a column for each
// factor, negative where a label is not known.
func TableLabels(factors []factor.Factor, table []int32) *Labels {
	l := &Labels{Factors: factors, table: table, width: len(factors)}
	for c := range factors {
		l.column = append(l.column, c)
	}
	l.Images = l.labelled(len(table) / len(factors))
	return l
}
