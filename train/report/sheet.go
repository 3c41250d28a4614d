package report

import (
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/raster"
)

// SheetOptions choose what a contact sheet shows. The zero value shows up to 8 x 12
// images along the first two factors. Of more than two with several levels, it takes the first categorical one for the rows, and for the
// columns the first circular one, or else the one with the most levels.
type SheetOptions struct {
	Row, Column string         // names of factors; empty: as above
	Rows        int            // most levels of the row factor, evenly spaced; 0: 8
	Columns     int            // most levels of the column factor, evenly spaced; 0: 12
	Fixed       map[string]int // levels of the other factors; where not named the middle of ordinal ones, and 0
	Scale       int            // pixels per image pixel; 0: images about 64 pixels wide
}

// ContactSheet shows images of a data set in rows and columns along two of its
// factors. A combination of levels that the set lacks leaves a blank. A data set
// with one factor gives one row. Where images share all levels, or do not have all of them, each place shows the first image
// with its two levels and those of Fixed. Images with more than three channels are shown channel by channel, and sequences
// (images of one row) and vectors (of one pixel) as curves. Where numbers are not in [0, 1], the largest one is white.
//
// If no factor is chosen, such sets, as those without factors, show evenly spaced images in their order.
//
// A [datasets.Hierarchical] data set has a row for each of its paths, the choices that an image
// can make, or for evenly spaced ones, with the first images of each. Factors cannot be chosen.
func ContactSheet(d datasets.Dataset, o SheetOptions) (image.Image, error) {
	if d == nil {
		return nil, errors.New("contact sheet: there is no data set")
	}
	if h, ok := d.(datasets.Hierarchical); ok {
		return pathSheet(h, o)
	}
	row, column, err := sheetFactors(d, o)
	if err != nil {
		return nil, fmt.Errorf("contact sheet: %w", err)
	}
	factors := d.Factors()
	levels, err := fixedLevels(d, o.Fixed)
	if err != nil {
		return nil, fmt.Errorf("contact sheet: %w", err)
	}
	index, err := datasets.NewIndex(d)
	unique := err == nil && datasets.Missing(d) == nil
	if !unique && o.Row == "" && o.Column == "" && len(o.Fixed) == 0 {
		return orderSheet(d, o)
	}
	rows, columns := []int{0}, levelsShown(factors[column], o.Columns, 12)
	t := &raster.Tiles{Title: fmt.Sprintf("%s: %d images", d.Name(), d.Len()), Subtitle: sheetSubtitle(d, row, column, levels), Scale: o.Scale}
	if !unique {
		t.Subtitle = firstSubtitle(d, row, column, o.Fixed)
	}
	if row >= 0 {
		rows = levelsShown(factors[row], o.Rows, 8)
	}
	for _, c := range columns {
		t.ColumnLabels = append(t.ColumnLabels, valueLabel(factors[column], c))
	}
	t.ColumnTitle = factors[column].Name
	var shown [][]int
	for _, r := range rows {
		if row >= 0 {
			levels[row] = r
			t.RowLabels = append(t.RowLabels, factors[row].Name+" "+valueLabel(factors[row], r))
		}
		if unique {
			shown = append(shown, sheetRow(index, levels, column, columns))
		}
	}
	if !unique {
		shown = firstImages(d, row, column, rows, columns, o.Fixed)
	}
	if t.Rows, err = sheetImages(d, shown); err != nil {
		return nil, fmt.Errorf("contact sheet: %w", err)
	}
	return t.Draw(), nil
}

// orderSheet shows evenly spaced images of a set whose levels do not tell them apart, row by row.
func orderSheet(d datasets.Dataset, o SheetOptions) (image.Image, error) {
	rows, columns := o.Rows, o.Columns
	if rows <= 0 {
		rows = 8
	}
	if columns <= 0 {
		columns = 12
	}
	n := d.Len()
	shown := evenly(n, min(rows, n)*min(columns, n), 0)
	h, w, c := d.ImageShape()
	t := &raster.Tiles{Title: fmt.Sprintf("%s: %d images", d.Name(), n),
		Subtitle: fmt.Sprintf("%d x %d x %d; %d of the images, in their order", h, w, c, len(shown)), Scale: o.Scale}
	inRows := slices.Collect(slices.Chunk(shown, columns))
	for _, row := range inRows {
		t.RowLabels = append(t.RowLabels, fmt.Sprint("image ", row[0]))
	}
	var err error
	if t.Rows, err = sheetImages(d, inRows); err != nil {
		return nil, fmt.Errorf("contact sheet: %w", err)
	}
	return t.Draw(), nil
}

// sheetFactors finds the row factor (-1: none) and the column factor.
func sheetFactors(d datasets.Dataset, o SheetOptions) (row, column int, err error) {
	row, column = -1, -1
	if o.Row != "" {
		if row, err = factorNamed(d, o.Row); err != nil {
			return 0, 0, err
		}
	}
	if o.Column != "" {
		if column, err = factorNamed(d, o.Column); err != nil {
			return 0, 0, err
		}
	}
	if row >= 0 && row == column {
		return 0, 0, fmt.Errorf("rows and columns both show factor %q; want two factors", o.Row)
	}
	free := func(taken int, better func(a, b factor.Factor) bool) int { // the first best other factor with something to show
		best := -1
		for k, f := range d.Factors() {
			if k != taken && f.Size > 1 && (best < 0 || better(f, d.Factors()[best])) {
				best = k
			}
		}
		return best
	}
	turns := func(a, b factor.Factor) bool {
		if circular := a.Kind == factor.Circular; circular != (b.Kind == factor.Circular) {
			return circular
		}
		return a.Kind != factor.Circular && a.Size > b.Size
	}
	sorts := func(a, b factor.Factor) bool { return a.Kind == factor.Categorical && b.Kind != factor.Categorical }
	if !manyFactors(d) {
		first := func(a, b factor.Factor) bool { return false }
		turns, sorts = first, first
	}
	if row < 0 && column < 0 && manyFactors(d) {
		column = free(-1, turns)
	}
	if row < 0 {
		row = free(column, sorts)
	}
	if column < 0 {
		column = free(row, turns)
	}
	if column < 0 { // one factor alone
		row, column = -1, max(row, 0)
	}
	if column >= len(d.Factors()) {
		return 0, 0, fmt.Errorf("dataset %s has no factors", d.Name())
	}
	return row, column, nil
}

// manyFactors reports whether more than two factors have something to show.
func manyFactors(d datasets.Dataset) bool {
	n := 0
	for _, f := range d.Factors() {
		if f.Size > 1 {
			n++
		}
	}
	return n > 2
}

// fixedLevels returns the levels of the factors that do not vary.
func fixedLevels(d datasets.Dataset, fixed map[string]int) ([]int, error) {
	levels := make([]int, len(d.Factors()))
	for k, f := range d.Factors() {
		if f.Kind == factor.Ordinal {
			levels[k] = f.Size / 2
		}
	}
	for name, level := range fixed {
		k, err := factorNamed(d, name)
		if err != nil {
			return nil, err
		}
		if size := d.Factors()[k].Size; level < 0 || level >= size {
			return nil, fmt.Errorf("factor %q has no level %d; want 0 to %d", name, level, size-1)
		}
		levels[k] = level
	}
	return levels, nil
}

// sheetRow finds the images of some levels of the column factor; -1: there is none.
func sheetRow(index *datasets.Index, levels []int, column int, columns []int) []int {
	images := make([]int, len(columns))
	for n, level := range columns {
		levels[column] = level
		i, ok := index.Find(levels)
		if !ok {
			i = -1
		}
		images[n] = i
	}
	return images
}

// sheetImages makes pictures of rows of images with common limits; those of negative numbers stay blank.
func sheetImages(d datasets.Dataset, rows [][]int) ([][]image.Image, error) {
	h, w, c := d.ImageShape()
	var list []int
	for _, row := range rows {
		for _, i := range row {
			if i >= 0 {
				list = append(list, i)
			}
		}
	}
	pixels := pixelsOf(d, list)
	pictures, err := raster.PicturesOf(h, w, c, pixels).Of(pixels)
	if err != nil {
		return nil, err
	}
	out := make([][]image.Image, len(rows))
	for r, row := range rows {
		out[r] = make([]image.Image, len(row))
		for n, i := range row {
			if i >= 0 {
				out[r][n], pictures = pictures[0], pictures[1:]
			}
		}
	}
	return out, nil
}

// levelsShown returns up to most levels of a factor, evenly spaced; those of a pose are scattered, as neighbours of a grid of
// rotations repeat at equal steps.
func levelsShown(f factor.Factor, most, otherwise int) []int {
	levels := evenly(f.Size, most, otherwise)
	if f.Rotations == nil || len(levels) == f.Size {
		return levels
	}
	for i := range levels {
		levels[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(f.Size))
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// evenly returns up to most of n levels, spaced evenly from 0; most is otherwise if it is 0.
func evenly(n, most, otherwise int) []int {
	if most <= 0 {
		most = otherwise
	}
	most = min(most, n)
	levels := make([]int, most)
	for i := range levels {
		levels[i] = i * n / most
	}
	return levels
}

func valueLabel(f factor.Factor, level int) string {
	return strconv.FormatFloat(f.Value(level), 'g', 3, 64)
}

// sheetLetters bounds the letters of a line of a sheet's subtitle.
const sheetLetters = 165

// sheetSubtitle lists the factors, and the levels of those that are fixed.
func sheetSubtitle(d datasets.Dataset, row, column int, levels []int) string {
	var parts []string
	for k, f := range d.Factors() {
		part := fmt.Sprintf("%s (%d, %s)", f.Name, f.Size, f.Kind)
		if k != row && k != column {
			part += fmt.Sprintf(" fixed at %s", valueLabel(f, levels[k]))
		}
		parts = append(parts, part)
	}
	h, w, c := d.ImageShape()
	line := fmt.Sprintf("%d x %d x %d; factors ", h, w, c)
	var lines []string
	for k, part := range parts {
		if k < len(parts)-1 {
			part += ", "
		}
		if len(line)+len(part) > sheetLetters {
			lines, line = append(lines, strings.TrimSuffix(line, " ")), ""
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}

// factorNamed finds a factor by its name.
func factorNamed(d datasets.Dataset, name string) (int, error) {
	var names []string
	for k, f := range d.Factors() {
		if f.Name == name {
			return k, nil
		}
		names = append(names, f.Name)
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}
