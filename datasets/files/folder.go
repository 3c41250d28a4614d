// Package files reads the user's data sets: pictures below a [Folder], and arrays of images and factors ([GridFolder]).
package files

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/pictures"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/table"
)

// Folder is a data set of the pictures (PNG, JPEG, GIF, WebP, BMP, TIFF) below a folder. Pictures are rotated upright
// by their EXIF data, resized to one size and cached. Hidden files and links out of the folder are skipped.
//
// Labels is a text table ([table.ReadText]) with names in its first line and one line per picture. Images are in the
// order of the table, or in the order of their paths if there is no table. The columns become factors. Numbers become
// levels in ascending order. If there are more than Bins distinct numbers, the levels are bins of equal width, unless
// all numbers are integers and at most 256 are distinct. Words become the levels of a categorical factor, in
// alphabetical order. Empty fields, NA, N/A, NaN, null and ? are unknown levels, see [datasets.Incomplete].
type Folder struct {
	Path       string               `yaml:"path" doc:"folder with the pictures, also in its subfolders"`
	Labels     string               `yaml:"labels" doc:"table of labels by file name (.csv, .tsv, .txt); folders: folder names are the labels; none or empty: no labels"`
	File       string               `yaml:"file" doc:"column with the picture names; empty: file, filename, image, path, name or similar, otherwise the first column"`
	Factors    []string             `yaml:"factors" doc:"columns to use as factors; with folders: names of the folder levels by depth; empty: all columns"`
	Kinds      factor.ColumnKinds   `yaml:"kinds" doc:"kinds of the factors, by name or in order: ordinal, circular, circular:360 (degrees), categorical or continuous (binned); empty: numbers are ordinal, words categorical"`
	Bins       int                  `yaml:"bins" doc:"bins of equal width of a continuous factor"`
	Size       datasets.PictureSize `yaml:"size" doc:"resize pictures to this side or [height, width]; 0: keep their size, which must be equal"`
	Channels   int                  `yaml:"channels" doc:"3 (red, green, blue) or 1 (grey)"`
	Fit        string               `yaml:"fit" doc:"pictures with other proportions: crop (to the centre), stretch, or pad (with black)"`
	Filter     string               `yaml:"filter" doc:"resizing filter, in Pillow's names: box, bilinear, hamming, bicubic or lanczos"`
	SkipBroken bool                 `yaml:"skip_broken" doc:"leave out unreadable pictures; false: an unreadable picture is an error"`
	Unlabelled string               `yaml:"unlabelled" doc:"pictures without a table row: refuse, skip (leave them out, and rows without a picture too) or keep (with unknown labels)"`
}

// NewFolder returns the default settings, without a path.
func NewFolder() *Folder {
	return &Folder{Size: datasets.PictureSize{64, 64}, Channels: 3, Fit: pictures.FitCrop, Filter: "lanczos", Bins: 20,
		Unlabelled: "refuse"}
}

// Values of Labels other than file names.
const (
	folderNames = "folders"
	noLabels    = "none"
)

var unlabelledChoices = []string{"refuse", "skip", "keep"}

func (f *Folder) Validate() error {
	switch {
	case f.Path == "":
		return config.Invalid("path", "is missing; want a folder with pictures")
	case f.Channels != 1 && f.Channels != 3:
		return config.Invalid("channels", "%d is out of range; want 3 (colour) or 1 (grey)", f.Channels)
	case f.Bins < 1 || f.Bins > factor.MaxSize:
		return config.Invalid("bins", "%d is out of range; want 1 to %d", f.Bins, factor.MaxSize)
	case !slices.Contains(pictures.Fits, f.Fit):
		return config.Invalid("fit", "unknown fit %q; want %s", f.Fit, strings.Join(pictures.Fits, ", "))
	case !slices.Contains(unlabelledChoices, f.Unlabelled):
		return config.Invalid("unlabelled", "unknown choice %q; want %s", f.Unlabelled, strings.Join(unlabelledChoices, ", "))
	}
	for i, name := range f.Factors {
		if name == "" || slices.Contains(f.Factors[:i], name) {
			return config.Invalid("factors", "name %d, %q, is empty or repeated; want distinct names", i, name)
		}
	}
	return cmp.Or(f.Size.Check(), pictures.CheckFilter(f.Filter))
}

func (f *Folder) Reads() []datasets.Read {
	list := []datasets.Read{{Key: "path", Path: f.Path, Folder: pictures.Pictures, InSet: true}}
	if f.Labels == "" || f.Labels == noLabels || f.Labels == folderNames {
		return list
	}
	return append(list, datasets.Read{Key: "labels", Path: f.labelsPath(), InSet: true})
}

func (f *Folder) Prepare(ctx context.Context, progress datasets.Progress) error {
	_, err := f.build(cache.WithProgress(ctx, cache.Progress(progress)))
	return err
}

// Build reads the labels and opens the cached pictures. Its errors name the file, the line and both values.
func (f *Folder) Build(uint64) (datasets.Dataset, error) { return f.build(context.Background()) }

func (f *Folder) build(ctx context.Context) (datasets.Dataset, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	list, err := pictures.ListPictures(f.Path)
	if err != nil {
		return nil, err
	}
	labels, err := f.readLabels(list)
	if err != nil {
		return nil, err
	}
	set, err := f.decodedPictures(ctx, list)
	if err != nil {
		return nil, err
	}
	return f.assemble(list, labels, set)
}

func (f *Folder) assemble(list *pictures.List, labels *labelTable, set *cache.Set) (datasets.Dataset, error) {
	d := stored.FromCache(set)
	if absolute, err := filepath.Abs(list.Path); err == nil { // "." has no base name
		d.Title = filepath.Base(absolute)
	}
	broken, err := f.checkBroken(list, set)
	if err != nil {
		return nil, err
	}
	d.Remarks = append(d.Remarks, list.Notes...)
	if len(broken) > 0 {
		names := make([]string, len(broken))
		for i, b := range broken {
			names[i] = list.Files[b].Name
		}
		d.Remarks = append(d.Remarks, fmt.Sprintf("%d of %d pictures cannot be read and are left out: %s",
			len(broken), len(list.Files), registry.Some(names, 5)))
	}
	d.Remarks = append(d.Remarks, labels.notes...)
	var rows [][]string
	var lines []int
	var dark []string
	for row, picture := range labels.pictures {
		if set.Levels[picture] == dim {
			dark = append(dark, list.Files[picture].Name)
		}
		if set.Levels[picture] != unreadable {
			d.Rows, rows, lines = append(d.Rows, int32(picture)), append(rows, labels.rows[row]),
				append(lines, labels.lines[row])
		}
	}
	if d.Count = len(d.Rows); d.Count == 0 {
		return nil, fmt.Errorf("%s: no picture is left; want at least 1", list.Path)
	}
	if len(dark) > 0 {
		const note = "%d of %d pictures are black: their 16-bit values are up to 255 of 65,535; want values times 257: %s"
		d.Remarks = append(d.Remarks, fmt.Sprintf(note, len(dark), d.Count, registry.Some(dark, 5)))
	}
	text := table.NewText(labels.source, labels.columns, rows, lines, labels.comma)
	text.Exact = f.Labels == folderNames // NA is the name of a folder
	if err := f.setFactors(d, labels, text); err != nil {
		return nil, err
	}
	d.Remarks = append(d.Remarks, d.PixelNotes()...)
	d.LabelsHash = labelsHash(d)
	return &folderSet{Set: d, list: list}, nil
}

// folderSet is a data set of pictures with file names.
type folderSet struct {
	*stored.Set
	list  *pictures.List
	once  sync.Once // creates index and row, which only look-ups by name need
	index *pictureIndex
	row   map[int]int // image of each picture
}

func (d *folderSet) FileName(i int) string { return d.list.Files[d.Rows[i]].Name }

func (d *folderSet) FindFile(name string) (i int, ok bool) {
	d.once.Do(func() {
		d.index, d.row = newPictureIndex(d.list), make(map[int]int, d.Count)
		for row, picture := range d.Rows {
			d.row[int(picture)] = row
		}
	})
	picture, err := d.index.find(name)
	if err != nil || picture < 0 {
		return 0, false
	}
	i, ok = d.row[picture]
	return i, ok
}

// labelsHash returns the hash of the factors, levels and rows that the labels assign to cached pictures.
func labelsHash(d *stored.Set) string {
	sum := sha256.New()
	for _, f := range d.Columns {
		fmt.Fprintf(sum, "%q %d %v %v %v\n", f.Name, f.Size, f.Kind, f.Values, f.Angles)
	}
	for _, numbers := range [][]int32{d.Rows, d.Levels} {
		fmt.Fprintln(sum, len(numbers))
		_ = binary.Write(sum, binary.LittleEndian, numbers) // writing to a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// setFactors creates factors from columns, using the rows with readable pictures.
func (f *Folder) setFactors(d *stored.Set, labels *labelTable, text *table.Text) error {
	if len(labels.factors) == 0 {
		return d.SetFactors(nil, nil)
	}
	names := make([]string, len(labels.factors))
	for j, column := range labels.factors {
		names[j] = labels.columns[column]
	}
	kinds, err := f.Kinds.Parse(names)
	if err != nil {
		return err
	}
	k := len(names)
	d.Columns, d.Levels = make([]factor.Factor, k), make([]int32, d.Count*k)
	for j := range names {
		newFactor, levels, column, err := f.factor(text, labels.factors[j], kinds[j])
		if err != nil {
			return err
		}
		words := column.Words
		newFactor.NameLevels(words)
		d.Columns[j] = newFactor
		for i, l := range levels {
			d.Levels[i*k+j] = l
		}
		if note, ok := factor.KindNote(newFactor, "dataset.folder.kinds"); ok && kinds[j] == nil && len(words) == 0 {
			d.Remarks = append(d.Remarks, note)
		}
		d.Remarks = append(d.Remarks, factor.ColumnNotes(newFactor, column.Values, words)...)
	}
	if err := factor.Validate(d.Columns); err != nil {
		return fmt.Errorf("%s: %w", labels.source, err)
	}
	if err := stored.Countable(d.Columns); err != nil {
		return fmt.Errorf("%s: its %w", labels.source, err)
	}
	d.Unknown = stored.CountMissing(d.Levels, k)
	d.Remarks = append(d.Remarks, factor.RepeatNotes(d.Columns, d.Levels)...)
	return nil
}

// factor reads a column, and converts it to a factor and one level per row.
func (f *Folder) factor(text *table.Text, column int, kind *factor.ColumnKind) (result factor.Factor, levels []int32,
	c *table.Column, err error) {
	categorical := kind != nil && kind.Kind == factor.Categorical
	c, err = text.Factor(column, categorical || f.Labels == folderNames, categorical || len(f.Factors) > 0)
	if err != nil {
		return result, nil, nil, err
	}
	name := text.Names[column]
	switch {
	case c.Words == nil:
	case kind == nil:
		kind = &factor.ColumnKind{Kind: factor.Categorical}
	case kind.Continuous || kind.Kind == factor.Circular:
		return result, nil, nil, text.Errorf(column, "has words such as %q; want numbers, or kind categorical", c.Words[0])
	}
	result, levels, err = factor.FromNumbers(name, c.Values, c.Ints, kind, f.Bins)
	if err != nil {
		err = text.Errorf(column, "%w", err)
	}
	return result, levels, c, err
}
