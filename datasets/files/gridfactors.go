package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/internal/stored"
	"github.com/unravel-ml/unravel/internal/arrays"
	"github.com/unravel-ml/unravel/internal/dims"
	"github.com/unravel-ml/unravel/internal/table"
	"github.com/unravel-ml/unravel/internal/wording"
)

func (s *gridSource) readFactors(d *stored.Set) error {
	sizes, err := s.readSizes()
	if err != nil {
		return err
	}
	if s.text != nil {
		return s.readText(d, sizes)
	}
	a, err := s.openFactors()
	if errors.Is(err, fs.ErrNotExist) && s.Arrays.Factors == "" {
		if sizes != nil {
			return s.setFullGrid(d, sizes)
		}
		if err := s.checkLikelyFactors(d); err != nil {
			return err
		}
		a, err = nil, nil
	}
	switch {
	case err != nil:
		return err
	case a == nil:
		if len(s.Names) > 0 {
			return config.Invalid("names", "there are no factors in %s; want none, or arrays: {factors: NAME}", s.Path)
		}
		return d.SetFactors(nil, nil)
	}
	return s.readTable(d, a, sizes)
}

// textEndings are the endings of text tables.
var textEndings = []string{".csv", ".tsv", ".txt"}

// isText reports whether the name of the factors is the name of a text table.
func (g GridArrays) isText() bool {
	return slices.Contains(textEndings, strings.ToLower(filepath.Ext(g.Factors)))
}

// textFactors returns the text table of the factors, or "" if there is none: a file that Arrays names, beside the other
// arrays, or a file such as factors.csv in a folder without factors.npy. unread are other tables that could be meant.
func (g *GridFolder) textFactors() (path string, unread []string) {
	name, dir := g.Arrays.withDefaults().Factors, g.Path
	info, err := os.Stat(g.Path)
	folder := err == nil && info.IsDir()
	if g.Arrays.isText() {
		if !folder {
			dir = filepath.Dir(g.Path)
		}
		return filepath.Join(dir, name), nil
	}
	if !folder {
		return "", nil
	}
	for _, ending := range textEndings {
		if path := filepath.Join(dir, name+ending); exists(path) {
			unread = append(unread, path)
		}
	}
	if len(unread) == 0 || len(arrays.Shards(dir, name)) > 0 || exists(filepath.Join(dir, name+".npy")) {
		return "", unread
	}
	return unread[0], unread[1:]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readText reads one line per image from the text table. The first line may name the factors.
func (s *gridSource) readText(d *stored.Set, sizes []int) error {
	t := s.text
	path, _ := s.textFactors()
	if t.WantRows(d.Count); t.Rows != d.Count {
		return fmt.Errorf("%s has %s; want a row for each of the %d images", path, wording.Count(t.Rows, "row"), d.Count)
	}
	if len(s.Names) != t.Cols {
		t.DropCounter()
	}
	d.Remarks = append(d.Remarks, t.Notes...)
	return s.setTable(d, path, t, sizes)
}

// checkLikelyFactors returns an error if the factors are missing but other arrays could contain them.
func (s *gridSource) checkLikelyFactors(d *stored.Set) error {
	var labels, names []string
	for _, name := range s.file.Names() {
		if name == s.names.Images || name == s.names.Sizes {
			continue
		}
		if a, err := s.file.Open(name); err == nil && len(a.Shape) > 0 && len(a.Shape) <= 2 &&
			s.tableShape(a.Shape)[0] == d.Count {
			labels, names = append(labels, fmt.Sprint(a)), append(names, name)
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return fmt.Errorf("%s is missing, and %s may be factors; want arrays: {factors: %s}, or arrays: {factors: %s}",
		s.file.Label(s.names.Factors), registry.Some(labels, 5), names[0], noFactors)
}

// readTable reads one row of numbers per image.
func (s *gridSource) readTable(d *stored.Set, a *arrays.Array, sizes []int) error {
	shape := s.tableShape(a.Shape)
	if len(shape) != 2 || shape[0] != d.Count || shape[1] < 1 {
		return fmt.Errorf("%s has shape %v; want %d x K, a row for each image", a.Label, a.Shape, d.Count)
	}
	t, err := table.OfArray(a, d.Count, shape[1])
	if err != nil {
		return err
	}
	return s.setTable(d, fmt.Sprintf("%s (%v)", a.Label, a.Shape), t, sizes)
}

// setTable sets the factors and levels of the images. label describes the table in errors.
func (s *gridSource) setTable(d *stored.Set, label string, t *table.Table, sizes []int) error {
	k := t.Cols
	if sizes != nil && len(sizes) != k {
		return fmt.Errorf("%s has %s, but %s has %s; want one for each factor",
			label, wording.Count(k, "column"), s.file.Label(s.names.Sizes), wording.Count(len(sizes), "number"))
	}
	kinds, err := s.nameFactors(d, t)
	if err != nil {
		return err
	}
	d.Levels = make([]int32, d.Count*k)
	for j := range k {
		column := t.Column(j)
		for i, v := range column.Values {
			if math.IsInf(v, 0) {
				return fmt.Errorf("%s: row %d, column %d is %v; want finite numbers, or NaN for unknown levels", label, i, j, v)
			}
		}
		size := 0
		if sizes != nil {
			size = sizes[j]
		}
		if err := setLevels(d, j, column, kinds[j], size); err != nil {
			return fmt.Errorf("%s: column %d: %w", label, j, err)
		}
		if column.Words != nil {
			d.Columns[j].NameLevels(column.Words)
		}
		d.Remarks = append(d.Remarks, factor.ColumnNotes(d.Columns[j], column.Values, column.Words)...)
	}
	for _, f := range d.Columns {
		if note, ok := factor.KindNote(f, "dataset.grid.kinds"); ok && sizes == nil && s.Kinds.List == nil &&
			s.Kinds.Named == nil {
			d.Remarks = append(d.Remarks, note)
		}
	}
	d.Unknown = stored.CountMissing(d.Levels, k)
	d.Remarks = append(d.Remarks, factor.RepeatNotes(d.Columns, d.Levels)...)
	if err := stored.Countable(d.Columns); err != nil {
		return fmt.Errorf("%s: its %w", label, err)
	}
	return nil
}

// setLevels converts a column of values to levels; NaN becomes an unknown level. size is 0 if the file has no sizes.
func setLevels(d *stored.Set, j int, column *table.Column, kind factor.ColumnKind, size int) error {
	k := len(d.Columns)
	known := slices.DeleteFunc(slices.Clone(column.Values), math.IsNaN)
	if kind.Continuous || kind.Period > 0 && kind.Period != float64(size) {
		size = 0
	}
	if size > 0 && !slices.ContainsFunc(known, func(v float64) bool {
		return v != float64(int(v)) || v < 0 ||
			v >= float64(size)
	}) {
		d.Columns[j].Size = size
		for i, v := range column.Values {
			if d.Levels[i*k+j] = datasets.Unknown; !math.IsNaN(v) {
				d.Levels[i*k+j] = int32(v)
			}
		}
		return nil
	}
	if len(known) == 0 {
		return errors.New("all numbers are NaN; want known levels")
	}
	f, levels, err := factor.FromNumbers(d.Columns[j].Name, column.Values, column.Ints, &kind, 0)
	if err != nil {
		return err
	}
	if size > 0 && f.Size != size {
		return fmt.Errorf("%d distinct values from %v to %v; want levels 0 to %d, or %d distinct values, as sizes says",
			f.Size, f.Value(0), f.Value(f.Size-1), size-1, size)
	}
	d.Columns[j] = f
	for i, l := range levels {
		d.Levels[i*k+j] = l
	}
	return nil
}

// setFullGrid assigns the levels of the full grid of sizes to the images.
func (s *gridSource) setFullGrid(d *stored.Set, sizes []int) error {
	if product, err := dims.Count(sizes, 1); err != nil || product != d.Count {
		return fmt.Errorf("%s is missing, and the %d images of %s are not the full grid of sizes %v; want factors",
			s.file.Label(s.names.Factors), d.Count, s.images.Label, sizes)
	}
	kinds, err := s.nameFactors(d, &table.Table{Cols: len(sizes)})
	if err != nil {
		return err
	}
	grid := factor.Grid(d.Columns)
	for j, size := range sizes {
		if grid[j].Size = size; kinds[j].Period > 0 && kinds[j].Period != float64(size) {
			return config.Invalid("kinds",
				"factor %s has %d levels, evenly spaced, and the period %v; want circular, or an array of factors",
				grid[j].Name, size, kinds[j].Period)
		}
	}
	d.Levels = make([]int32, 0, d.Count*len(grid))
	for _, levels := range grid.All() {
		for _, l := range levels {
			d.Levels = append(d.Levels, int32(l))
		}
	}
	return nil
}

// readSizes reads the sizes. It returns nil if there are none.
func (s *gridSource) readSizes() ([]int, error) {
	if strings.HasSuffix(strings.ToLower(s.Path), ".npy") {
		return nil, nil
	}
	a, err := s.file.Open(s.names.Sizes)
	if errors.Is(err, fs.ErrNotExist) && s.Arrays.Sizes == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	shape := a.Shape
	if a.Reversed && len(shape) == 2 && min(shape[0], shape[1]) == 1 { // MATLAB has no one-dimensional arrays
		shape = []int{max(shape[0], shape[1])}
	}
	if len(shape) != 1 || shape[0] < 1 {
		return nil, fmt.Errorf("%s has shape %v; want K numbers of levels", a.Label, a.Shape)
	}
	sizes, err := arrays.ReadAll[int](a)
	if err != nil {
		return nil, err
	}
	for j, s := range sizes {
		if s < 1 || s > factor.MaxSize {
			return nil, fmt.Errorf("%s: number %d is %d; want 1 to %d levels", a.Label, j, s, factor.MaxSize)
		}
	}
	return sizes, nil
}
