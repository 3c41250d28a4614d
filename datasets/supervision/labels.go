package supervision

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
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

	parts         []*Labels // merged labels; nil: a single source
	factorColumns [][]int   // by part: columns of its factors in Factors
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
	if l.Classes != nil && len(l.Classes) != len(l.Factors) {
		return fmt.Errorf("there are classes of %d factors; want one list for each of the %d factors",
			len(l.Classes), len(l.Factors))
	}
	for k, classes := range l.Classes {
		name := l.Factors[k].Name
		if classes != nil && len(classes) != n {
			return fmt.Errorf("classes of factor %q cover %d images; want %d", name, len(classes), n)
		}
		maxClass := maxLabel - l.Factors[k].Size - 1
		for i, c := range classes {
			if c < -1 || int(c) > maxClass {
				return fmt.Errorf("image %d is in class %d of factor %q; want 0 to %d, or -1 for no class", i, c, name, maxClass)
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

func (l *Labels) sources() []*Labels {
	if l.parts == nil {
		return []*Labels{l}
	}
	return l.parts
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
	known := false
	for p, part := range l.parts {
		known = part.write(i, dst, l.factorColumns[p]) || known
	}
	return known
}

// write writes the known levels of an image from one source to the given columns, or in the order of the factors if
// columns is nil. It returns false if the source has no levels of the image.
func (l *Labels) write(i int, dst []int32, columns []int) bool {
	if _, known := slices.BinarySearch(l.Images, i); !known || l.Pairs != nil {
		return false
	}
	for k, c := range l.column {
		if columns != nil {
			k = columns[k]
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
	return checkDistinct("factors", factors)
}

// validPairShare is validShare for labels that are pairs alone: without a share, no batch has any.
func validPairShare(share float64, factors []string) error {
	if !(share > 0 && share < 1) {
		return config.Invalid("share", "%v is out of range for the pairs of a batch; want more than 0, and less than 1",
			share)
	}
	return checkDistinct("factors", factors)
}

func checkDistinct(key string, names []string) error {
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

// chooseFromDataset is choose for the factors of a data set. At least one chosen factor must have several levels.
func (l *Labels) chooseFromDataset(d datasets.Dataset, names []string) error {
	if err := l.choose(d.Factors(), names); err != nil {
		return err
	}
	if !slices.ContainsFunc(l.Factors, func(f factor.Factor) bool { return f.Size > 1 }) {
		return fmt.Errorf("dataset %s has no factor with two or more levels, so its images have no labels", d.Name())
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

// labelSplit returns a split without groups, with the given labels.
func labelSplit(d datasets.Dataset, known *Labels) (*Split, error) {
	split, err := NewSplit(d, 0, nil, true)
	if err == nil {
		split.Known = known
	}
	return split, err
}

// TableLabels returns the labels of a table with a row per image and a column per factor. Negative numbers are unknown.
func TableLabels(factors []factor.Factor, table []int32) *Labels {
	l := &Labels{Factors: factors, table: table, width: len(factors), column: numeric.UpTo(len(factors))}
	if len(factors) > 0 {
		l.Images = l.labelled(len(table) / len(factors))
	}
	return l
}

// FactorLabels labels a random fraction of the images with their factor levels (Zhang and Sugiyama 2024, appendix F.2).
// It creates no groups: all images are in Split.Unlabelled.
//
// With a file, the numbers or words in the file replace the levels of the factors. [factor.Factor.Scaled] maps the
// smallest ordinal label to 0 and the largest to 1. With the same seed, the labelled images of a smaller fraction are a
// subset of the labelled images of a larger fraction.
type FactorLabels struct {
	Fraction float64            `yaml:"fraction" doc:"fraction of images with labels, chosen at random; at least one image"`
	Share    float64            `yaml:"share" doc:"fraction of every batch to draw from the labelled images, unless all images have labels"`
	Factors  []string           `yaml:"factors" doc:"factors with labels; empty: all"`
	File     string             `yaml:"file" doc:"your labels: a table (.npy, .npz, .csv) with N rows, or with names of pictures, of integers (negative, empty or NaN: unknown) or words; empty: the data set's factors"`
	Names    []string           `yaml:"names" doc:"names of the file's columns; empty: names in its first line, or label0, label1, ..."`
	Kinds    factor.ColumnKinds `yaml:"kinds" doc:"kinds of the file's columns, by name or in order: ordinal, circular (evenly spaced), circular:360 (degrees, also real or negative), categorical or continuous (20 bins); empty: all categorical"`
}

func (f *FactorLabels) Validate() error {
	switch {
	case !(f.Fraction > 0 && f.Fraction <= 1):
		return config.Invalid("fraction", "%v is out of range; want more than 0, and at most 1 (all images)", f.Fraction)
	case f.File == "" && len(f.Names) > 0:
		return config.Invalid("names", "they name the columns of a file, and there is no file")
	case f.File == "" && len(f.Kinds.List)+len(f.Kinds.Named) > 0:
		return config.Invalid("kinds", "they belong to the columns of a file, and there is no file")
	}
	return cmp.Or(checkDistinct("names", f.Names), validShare(f.Share, f.Factors))
}

func (f *FactorLabels) Reads() []datasets.Read { return datasets.ReadOf("file", f.File) }

func (f *FactorLabels) Split(d datasets.Dataset, s *rng.Stream) (*Split, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	known := &Labels{Share: f.Share}
	if err := f.read(d, known); err != nil {
		return nil, fmt.Errorf("labels: %w", err)
	}
	candidates := known.labelled(d.Len())
	if len(candidates) == 0 {
		return nil, fmt.Errorf("labels: dataset %s has no image with labels", d.Name())
	}
	count := max(1, int(math.Round(f.Fraction*float64(len(candidates)))))
	for _, i := range s.Perm(len(candidates))[:count] {
		known.Images = append(known.Images, candidates[i])
	}
	slices.Sort(known.Images)
	if f.File != "" && count < len(candidates) {
		known.Notes = append(known.Notes, fmt.Sprintf("%d of %d images with labels in %s keep them; fraction: 1 keeps all",
			count, len(candidates), f.File))
	}
	if len(known.Images) == d.Len() {
		known.Share = 0
	}
	return labelSplit(d, known)
}

func (f *FactorLabels) read(d datasets.Dataset, l *Labels) error {
	if f.File == "" {
		l.table, l.width = levelsOf(d), len(d.Factors())
		return l.chooseFromDataset(d, f.Factors)
	}
	columns, err := f.readFile(d, l)
	if err != nil {
		return err
	}
	return l.choose(columns, f.Factors)
}

// readFile reads labels from the file into a table, and returns the factors of the table's columns.
func (f *FactorLabels) readFile(d datasets.Dataset, l *Labels) ([]factor.Factor, error) {
	t, err := f.readTable(d)
	if err != nil {
		return nil, err
	}
	columns, kinds, err := f.columns(t)
	if err != nil {
		return nil, err
	}
	l.width, l.table, l.Notes = t.Cols, make([]int32, len(t.Data)), t.Notes
	for c := range columns {
		x := labelColumn{table: t, column: c, kind: kinds[c]}
		for _, dataFactor := range d.Factors() {
			if dataFactor.Name == columns[c].Name && dataFactor.Kind == factor.Circular && dataFactor.Angles == nil {
				x.circularSize = dataFactor.Size
			}
		}
		column, levels, err := x.levels()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
		if column.Name = columns[c].Name; t.Words != nil && t.Words[c] != nil {
			column.NameLevels(t.Words[c])
			l.Notes = append(l.Notes, factor.ColumnNotes(column, nil, t.Words[c])...)
		} else if len(f.Kinds.List)+len(f.Kinds.Named) == 0 && column.Size > 2 {
			const note = "numbers of %s are taken for categories without order; kinds={%s: ordinal} would order them"
			l.Notes = append(l.Notes, fmt.Sprintf(note, column.Name, column.Name))
		}
		columns[c] = column
		if x.negatives > 0 {
			const note = "labels of %s below 0 mean unknown, in %s"
			l.Notes = append(l.Notes, fmt.Sprintf(note, column.Name, wording.Count(x.negatives, "row")))
		}
		for i, level := range levels {
			l.table[i*l.width+c] = level
		}
	}
	return columns, nil
}

func (f *FactorLabels) readTable(d datasets.Dataset) (*table.Table, error) {
	rows, cols, err := table.Size(f.File, "labels")
	if err != nil {
		return nil, err
	}
	const want = "%s has %s of %s; want a row for each of the %d images of dataset %s"
	if rows >= 0 && (rows != d.Len() || cols < 1) { // check the shape before reading
		return nil, fmt.Errorf(want, f.File, wording.Count(rows, "row"), wording.Count(cols, "number"), d.Len(), d.Name())
	}
	t, err := table.ReadLabels(f.File, f.Kinds.Categorical(f.Names), d.Len(), RowsOf(d).Find)
	if err != nil {
		return nil, err
	}
	if err := t.Known(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	if t.WantRows(d.Len()); t.Rows != d.Len() {
		err := fmt.Errorf(want, f.File, wording.Count(t.Rows, "row"), wording.Count(t.Cols, "number"), d.Len(), d.Name())
		if t.Rows == d.Len()-1 && t.Names != nil {
			err = fmt.Errorf("%w; its first line (%s) names the columns", err, registry.Some(t.Names, 4))
		}
		return nil, err
	}
	if n := max(len(f.Names), len(f.Kinds.List)); n != t.Cols {
		t.DropCounter()
	}
	return t, nil
}

// columns returns the factors of the file's columns, still without levels, and their kinds.
func (f *FactorLabels) columns(t *table.Table) ([]factor.Factor, []factor.ColumnKind, error) {
	names := f.Names
	if len(names) == 0 {
		names = t.Names
	}
	for c := len(names); len(f.Names) == 0 && t.Names == nil && c < t.Cols; c++ {
		names = append(names, fmt.Sprint("label", c))
	}
	if len(names) != t.Cols {
		return nil, nil, config.Invalid("names", "has %s; want one for each of the %d columns of %s",
			wording.Count(len(names), "name"), t.Cols, f.File)
	}
	if err := checkDistinct("names", names); err != nil {
		return nil, nil, err
	}
	given, err := f.Kinds.Parse(names)
	if err != nil {
		return nil, nil, err
	}
	columns, kinds := make([]factor.Factor, t.Cols), make([]factor.ColumnKind, t.Cols)
	for c := range columns {
		columns[c].Name, kinds[c].Kind = names[c], factor.Categorical
		if given[c] != nil {
			kinds[c] = *given[c]
		}
	}
	return columns, kinds, nil
}

type labelColumn struct {
	table        *table.Table
	column       int
	kind         factor.ColumnKind
	circularSize int // number of levels of the data set's circular factor with this name; 0: no such factor
	negatives    int // negative numbers that mean unknown
}

// levels returns the factor of the labels, and their levels. If the kind is not continuous and has no period, whole
// numbers are the levels, and negative numbers mean unknown.
func (x *labelColumn) levels() (factor.Factor, []int32, error) {
	measured := x.kind.Continuous || x.kind.Period > 0
	numbers, smallest, largest := x.table.Column(x.column).Values, math.Inf(1), math.Inf(-1)
	negative := slices.ContainsFunc(numbers, func(v float64) bool { return v < 0 && v != -1 }) // not only unknown
	for i, v := range numbers {
		switch {
		case measured && v == -1 && !negative:
			return factor.Factor{}, nil,
				x.errorf(i, "-1, which may be an angle or an unknown label; want an empty field or NaN for an unknown label, or 0 to %v", x.kind.Period)
		case measured:
		case v == v && v != math.Trunc(v):
			return factor.Factor{}, nil,
				x.errorf(i, "%v; want whole numbers (negative: unknown), or the kind circular:PERIOD or continuous", v)
		case v >= maxLabel:
			return factor.Factor{}, nil, x.errorf(i, "%.0f; want less than %d", v, maxLabel)
		case v < 0:
			x.negatives++
			v = math.NaN()
		}
		if numbers[i] = v; v == v {
			smallest, largest = min(smallest, v), max(largest, v)
		}
	}
	switch {
	case smallest > largest:
		return factor.Factor{}, nil, fmt.Errorf("column %d has no label; want labels from 0 up", x.column)
	case measured || x.kind.Kind == factor.Circular && largest >= float64(x.circularSize):
		f, levels, err := factor.FromNumbers("", numbers, nil, &x.kind, 0)
		if err != nil {
			err = fmt.Errorf("column %d: %w", x.column, err)
		}
		return f, levels, err
	}
	f, levels := factor.Factor{Kind: x.kind.Kind, Size: int(largest) + 1}, make([]int32, len(numbers))
	if f.Kind == factor.Circular {
		f.Size = x.circularSize
	}
	for i, v := range numbers {
		if levels[i] = datasets.Unknown; v == v {
			levels[i] = int32(v)
		}
	}
	if f.Kind == factor.Ordinal && smallest > 0 { // Scaled maps the smallest label to 0, even if it is not the number 0
		for l := range f.Size {
			f.Values = append(f.Values, max(float64(l), smallest))
		}
	}
	return f, levels, nil
}

func (x *labelColumn) errorf(row int, format string, args ...any) error {
	return fmt.Errorf("%s is %w", x.table.Place(row, x.column), fmt.Errorf(format, args...))
}
