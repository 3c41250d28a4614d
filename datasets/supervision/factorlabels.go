package supervision

import (
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/table"
)

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
	File     string             `yaml:"file" doc:"your labels: a table (.npy, .npz, .csv) with N rows of integers (negative, empty or NaN: unknown) or words; empty: the data set's factors"`
	Names    []string           `yaml:"names" doc:"names of the file's columns; empty: names in its first line, or label0, label1, ..."`
	Kinds    factor.ColumnKinds `yaml:"kinds" doc:"kinds of the file's columns, by name or in order: ordinal, circular (evenly spaced), circular:360 (degrees, also real or negative), categorical or continuous (20 bins); empty: all categorical"`
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

// Reads implements [datasets.FileReader].
func (f *FactorLabels) Reads() []datasets.Read { return datasets.ReadOf("file", f.File) }

// Split draws the labelled images.
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
	for _, at := range s.Perm(len(candidates))[:count] {
		known.Images = append(known.Images, candidates[at])
	}
	slices.Sort(known.Images)
	if len(known.Images) == d.Len() {
		known.Share = 0
	}
	return knowing(d, known)
}

// read reads the labels of the chosen factors from the file, or from the data set.
func (f *FactorLabels) read(d datasets.Dataset, l *Labels) error {
	if f.File == "" {
		l.table, l.width = levelsOf(d), len(d.Factors())
		return l.chooseOf(d, f.Factors)
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
		own := slices.IndexFunc(d.Factors(), func(of factor.Factor) bool {
			return of.Name == columns[c].Name && of.Kind == factor.Circular && of.Angles == nil
		})
		x := labelColumn{table: t, column: c, kind: kinds[c]}
		if own >= 0 {
			x.turn = d.Factors()[own].Size
		}
		of, levels, err := x.levels()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.File, err)
		}
		of.Name = columns[c].Name
		if t.Words != nil && t.Words[c] != nil {
			of.NameLevels(t.Words[c])
			l.Notes = append(l.Notes, fmt.Sprintf("factor %s: %s", of.Name, factor.NumberedWords(t.Words[c])))
		}
		columns[c] = of
		for i, level := range levels {
			l.table[i*l.width+c] = level
		}
	}
	return columns, nil
}

// readTable reads the file, with one row per image.
func (f *FactorLabels) readTable(d datasets.Dataset) (*table.Table, error) {
	rows, cols, err := table.Size(f.File, "labels")
	if err != nil {
		return nil, err
	}
	const want = "%s has %d rows of %d numbers; want a row for each of the %d images of dataset %s"
	if rows >= 0 && (rows != d.Len() || cols < 1) { // check the shape before reading
		return nil, fmt.Errorf(want, f.File, rows, cols, d.Len(), d.Name())
	}
	t, err := table.ReadFactors(f.File, "labels", f.categorical)
	if err != nil {
		return nil, err
	}
	if err := t.Known(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.File, err)
	}
	if t.WantRows(d.Len()); t.Rows != d.Len() {
		err := fmt.Errorf(want, f.File, t.Rows, t.Cols, d.Len(), d.Name())
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

// categorical reports whether key kinds makes a column of the file categorical.
func (f *FactorLabels) categorical(name string, column, columns int) bool {
	if max(len(f.Names), len(f.Kinds.List)) == columns-1 { // without an index
		column--
	}
	if column >= 0 && column < len(f.Names) {
		name = f.Names[column]
	}
	text := f.Kinds.Named[name]
	if column >= 0 && column < len(f.Kinds.List) {
		text = f.Kinds.List[column]
	}
	kind, err := factor.ParseColumnKind(text)
	return err == nil && kind.Kind == factor.Categorical
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
		return nil, nil, config.Invalid("names", "has %d names; want one for each of the %d columns of %s", len(names), t.Cols, f.File)
	}
	if err := distinct("names", names); err != nil {
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

// labelColumn is a column of labels.
type labelColumn struct {
	table  *table.Table
	column int
	kind   factor.ColumnKind
	turn   int // number of levels of the data set's circular factor with this name; 0: no such factor
}

// levels returns the factor of the labels, and their levels. If the kind is not continuous and has no period, whole
// numbers are the levels, and negative numbers mean unknown.
func (x *labelColumn) levels() (factor.Factor, []int32, error) {
	measured := x.kind.Continuous || x.kind.Period > 0
	numbers, least, most := make([]float64, x.table.Rows), math.Inf(1), math.Inf(-1)
	for i := range numbers {
		v := x.table.Data[i*x.table.Cols+x.column]
		switch {
		case measured && v == -1 && !x.negative():
			return factor.Factor{}, nil, x.errorf(i, "-1, which may be an angle or not known; want an empty field or NaN where a label is not known, or 0 to %v", x.kind.Period)
		case measured:
		case v != math.Trunc(v): // also true for NaN
			if v == v {
				return factor.Factor{}, nil, x.errorf(i, "%v; want whole numbers, negative where a label is not known, or kind circular:PERIOD or continuous", v)
			}
		case v >= maxLabel:
			return factor.Factor{}, nil, x.errorf(i, "%.0f; want less than %d", v, maxLabel)
		case v < 0:
			v = math.NaN()
		}
		if numbers[i] = v; v == v {
			least, most = min(least, v), max(most, v)
		}
	}
	switch {
	case least > most:
		return factor.Factor{}, nil, fmt.Errorf("column %d holds no label; want some from 0 on", x.column)
	case measured || x.kind.Kind == factor.Circular && most >= float64(x.turn):
		of, levels, err := factor.FromNumbers("", numbers, &x.kind, 0)
		if err != nil {
			err = fmt.Errorf("column %d: %w", x.column, err)
		}
		return of, levels, err
	}
	of, levels := factor.Factor{Kind: x.kind.Kind, Size: int(most) + 1}, make([]int32, len(numbers))
	if of.Kind == factor.Circular {
		of.Size = x.turn
	}
	for i, v := range numbers {
		if levels[i] = datasets.Unknown; v == v {
			levels[i] = int32(v)
		}
	}
	if of.Kind == factor.Ordinal && least > 0 { // the range of the labels becomes [0, 1], at whichever number it begins
		for l := range of.Size {
			of.Values = append(of.Values, max(float64(l), least))
		}
	}
	return of, levels, nil
}

// negative reports whether a column has a number below -1, which cannot be an unknown label.
func (x *labelColumn) negative() bool {
	for i := x.column; i < len(x.table.Data); i += x.table.Cols {
		if v := x.table.Data[i]; v < 0 && v != -1 {
			return true
		}
	}
	return false
}

// errorf returns an error about a label.
func (x *labelColumn) errorf(row int, format string, args ...any) error {
	return fmt.Errorf("%s is %w", x.table.Place(row, x.column), fmt.Errorf(format, args...))
}
