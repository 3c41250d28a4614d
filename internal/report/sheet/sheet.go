// Package sheet draws contact sheets of data sets: images in a grid with labels.
package sheet

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/internal/wording"
)

// Options select the images of a contact sheet. The zero value shows up to 8 x 12 images along the first two factors.
// If more than two factors have several levels, the rows show the first categorical factor, and the columns show the
// first circular factor or, if there is none, the factor with the most levels.
type Options struct {
	Row, Column string         // names of factors; empty: the defaults above
	Rows        int            // maximum number of levels of the row factor, evenly spaced; 0: 8
	Columns     int            // maximum number of levels of the column factor, evenly spaced; 0: 12
	Fixed       map[string]int // levels of the other factors; default: the middle level of ordinal factors, and 0 for others
	Scale       int            // pixels per image pixel; 0: images about 64 pixels wide
}

// Contact shows images of a data set in rows and columns along two of its factors. If the set lacks a combination of
// levels, its cell is blank. A data set with one factor gives one row. If several images have equal levels, or a level
// is unknown, each cell shows the first image with its two levels and the levels of Fixed. Images with more than three
// channels are shown channel by channel. Sequences (images of one row) and vectors (one pixel) are drawn as curves. If
// values are outside [0, 1], the largest value is white.
//
// If no factor is chosen, sets with equal or unknown levels and sets without factors show evenly spaced images in
// order.
//
// For a [datasets.Hierarchical] data set, each row shows the first images of a path, which is a row of choices. If
// there are many paths, it shows evenly spaced ones. Factors cannot be chosen for such a set.
func Contact(d datasets.Dataset, o Options) (image.Image, error) {
	if d == nil {
		return nil, errors.New("contact sheet: there is no data set")
	}
	t, err := contact(d, o.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("contact sheet: %w", err)
	}
	return t.Draw(), nil
}

// withDefaults sets the maximum numbers of rows and columns that are 0.
func (o Options) withDefaults() Options {
	if o.Rows <= 0 {
		o.Rows = 8
	}
	if o.Columns <= 0 {
		o.Columns = 12
	}
	return o
}

func contact(d datasets.Dataset, o Options) (*raster.Tiles, error) {
	if h, ok := d.(datasets.Hierarchical); ok {
		return pathSheet(h, o)
	}
	row, column, err := sheetFactors(d, o)
	if err != nil {
		return nil, err
	}
	factors := d.Factors()
	levels, err := fixedLevels(d, o.Fixed)
	if err != nil {
		return nil, err
	}
	index, err := datasets.NewIndex(d)
	unique := err == nil && datasets.Missing(d) == nil
	if !unique && o.Row == "" && o.Column == "" && len(o.Fixed) == 0 {
		return orderSheet(d, o)
	}
	rows, columns := []int{0}, shownLevels(factors[column], o.Columns)
	t := &raster.Tiles{Title: fmt.Sprintf("%s: %s",
		d.Name(), wording.Count(d.Len(), "image")), Subtitle: factorSubtitle(d, row, column, levels), Scale: o.Scale}
	if !unique {
		t.Subtitle = firstSubtitle(d, row, column, o.Fixed)
	}
	if row >= 0 {
		rows = shownLevels(factors[row], o.Rows)
	}
	for _, c := range columns {
		t.ColumnLabels = append(t.ColumnLabels, Level(factors[column], c))
	}
	t.ColumnTitle = factors[column].Name
	var shown [][]int
	for _, r := range rows {
		if row >= 0 {
			levels[row] = r
			t.RowLabels = append(t.RowLabels, factors[row].Name+" "+Level(factors[row], r))
		}
		if unique {
			shown = append(shown, rowImages(index, levels, column, columns))
		}
	}
	if !unique {
		shown = firstImages(d, row, column, rows, columns, o.Fixed)
	}
	t.Rows, _, err = picturesOf(d, shown)
	return t, err
}

// orderSheet shows evenly spaced images, row by row, of a set that has several images with equal levels.
func orderSheet(d datasets.Dataset, o Options) (t *raster.Tiles, err error) {
	n := d.Len()
	shown := evenlySpaced(n, min(o.Rows, n)*min(o.Columns, n))
	h, w, c := d.ImageShape()
	t = &raster.Tiles{Title: fmt.Sprintf("%s: %s", d.Name(), wording.Count(n, "image")), Scale: o.Scale,
		Subtitle: fmt.Sprintf("%d x %d x %d; %d of the images, in their order", h, w, c, len(shown))}
	inRows := slices.Collect(slices.Chunk(shown, o.Columns))
	for _, row := range inRows {
		t.RowLabels = append(t.RowLabels, fmt.Sprint("image ", row[0]))
	}
	t.Rows, _, err = picturesOf(d, inRows)
	return t, err
}

// sheetFactors finds the row factor (-1: none) and the column factor.
func sheetFactors(d datasets.Dataset, o Options) (row, column int, err error) {
	row, column = -1, -1
	for _, choice := range []struct {
		name  string
		index *int
	}{{o.Row, &row}, {o.Column, &column}} {
		if choice.name == "" {
			continue
		}
		if *choice.index, err = factorIndex(d, choice.name); err != nil {
			return 0, 0, err
		}
	}
	if row >= 0 && row == column {
		return 0, 0, fmt.Errorf("rows and columns both show factor %q; want two factors", o.Row)
	}
	free := func(taken int, better func(a, b factor.Factor) bool) int { // the best free factor with several levels; ties go to the first
		best := -1
		for k, f := range d.Factors() {
			if k != taken && f.Size > 1 && (best < 0 || better(f, d.Factors()[best])) {
				best = k
			}
		}
		return best
	}
	betterColumn, betterRow := isBetterColumn, isBetterRow
	if !manyFactors(d) {
		first := func(a, b factor.Factor) bool { return false }
		betterColumn, betterRow = first, first
	}
	if row < 0 && column < 0 && manyFactors(d) {
		column = free(-1, betterColumn)
	}
	if row < 0 {
		row = free(column, betterRow)
	}
	if column < 0 {
		column = free(row, betterColumn)
	}
	if column < 0 { // only one factor varies
		row, column = -1, max(row, 0)
	}
	if column >= len(d.Factors()) {
		return 0, 0, fmt.Errorf("dataset %s has no factors", d.Name())
	}
	return row, column, nil
}

// isBetterColumn reports whether a is a better column than b: circular, or with more levels if neither is.
func isBetterColumn(a, b factor.Factor) bool {
	if circular := a.Kind == factor.Circular; circular != (b.Kind == factor.Circular) {
		return circular
	}
	return a.Kind != factor.Circular && a.Size > b.Size
}

// isBetterRow reports whether a is a better row than b: categorical, and b is not.
func isBetterRow(a, b factor.Factor) bool {
	return a.Kind == factor.Categorical && b.Kind != factor.Categorical
}

func manyFactors(d datasets.Dataset) bool {
	n := 0
	for _, f := range d.Factors() {
		if f.Size > 1 {
			n++
		}
	}
	return n > 2
}

func fixedLevels(d datasets.Dataset, fixed map[string]int) ([]int, error) {
	levels := make([]int, len(d.Factors()))
	for k, f := range d.Factors() {
		if f.Kind == factor.Ordinal {
			levels[k] = f.Size / 2
		}
	}
	for name, level := range fixed {
		k, err := factorIndex(d, name)
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

// rowImages returns the image for each of the given levels of the column factor, with -1 for a missing image.
func rowImages(index *datasets.Index, levels []int, column int, columns []int) []int {
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

// picturesOf returns the pictures of rows of images, and their common limits. Negative indices give blank cells.
func picturesOf(d datasets.Dataset, rows [][]int) ([][]image.Image, raster.Pictures, error) {
	list := slices.DeleteFunc(slices.Concat(rows...), func(i int) bool { return i < 0 })
	pixels := pixelsOf(d, list)
	h, w, c := d.ImageShape()
	limits := raster.PicturesOf(h, w, c, pixels)
	pictures, err := limits.Of(pixels)
	if err != nil {
		return nil, limits, err
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
	return out, limits, nil
}

// shownLevels returns up to limit levels: evenly spaced, or scattered for a pose, whose steps repeat similar poses.
func shownLevels(f factor.Factor, limit int) []int {
	levels := evenlySpaced(f.Size, limit)
	if f.Rotations == nil || len(levels) == f.Size {
		return levels
	}
	for i := range levels {
		levels[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(f.Size))
	}
	slices.Sort(levels)
	return slices.Compact(levels)
}

// evenlySpaced returns up to limit of n levels, evenly spaced from 0.
func evenlySpaced(n, limit int) []int {
	levels := make([]int, min(limit, n))
	for i := range levels {
		levels[i] = i * n / len(levels)
	}
	return levels
}

// Level returns the name of a level, or its value with three digits.
func Level(f factor.Factor, level int) string {
	if f.Names != nil {
		return f.Names[level]
	}
	return strconv.FormatFloat(f.Value(level), 'g', 3, 64)
}

const subtitleLetters = 165 // maximum number of characters in a line of a sheet's subtitle

// factorSubtitle describes the factors, and the levels of the fixed factors.
func factorSubtitle(d datasets.Dataset, row, column int, levels []int) string {
	var parts []string
	for k, f := range d.Factors() {
		part := fmt.Sprintf("%s (%d, %s)", f.Name, f.Size, f.Kind)
		if k != row && k != column {
			part += fmt.Sprintf(" fixed at %s", Level(f, levels[k]))
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
		if len(line)+len(part) > subtitleLetters {
			lines, line = append(lines, strings.TrimSuffix(line, " ")), ""
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}

func factorIndex(d datasets.Dataset, name string) (int, error) {
	var names []string
	for k, f := range d.Factors() {
		if f.Name == name {
			return k, nil
		}
		names = append(names, f.Name)
	}
	return 0, fmt.Errorf("dataset %s has no factor %q%s", d.Name(), name, registry.Suggest(name, names))
}

// firstImages returns the first image with each level of row (-1: none) and column, and the fixed levels, or -1.
func firstImages(d datasets.Dataset, row, column int, rows, columns []int, fixed map[string]int) [][]int {
	images := make([][]int, len(rows))
	for r := range images {
		images[r] = slices.Repeat([]int{-1}, len(columns))
	}
	levels := make([]int, len(d.Factors()))
	for i, remaining := 0, len(rows)*len(columns); i < d.Len() && remaining > 0; i++ {
		d.FactorsAt(i, levels)
		r, c := 0, slices.Index(columns, levels[column])
		if row >= 0 {
			r = slices.Index(rows, levels[row])
		}
		if r < 0 || c < 0 || images[r][c] >= 0 || !hasLevels(d, levels, fixed) {
			continue
		}
		images[r][c] = i
		remaining--
	}
	return images
}

func hasLevels(d datasets.Dataset, levels []int, fixed map[string]int) bool {
	for k, f := range d.Factors() {
		if level, ok := fixed[f.Name]; ok && levels[k] != level {
			return false
		}
	}
	return true
}

// firstSubtitle names the factors that a sheet of first images shows.
func firstSubtitle(d datasets.Dataset, row, column int, fixed map[string]int) string {
	h, w, c := d.ImageShape()
	var parts []string
	for k, f := range d.Factors() {
		switch level, ok := fixed[f.Name]; {
		case k == row || k == column:
			parts = append(parts, fmt.Sprintf("%s (%d, %s)", f.Name, f.Size, f.Kind))
		case ok:
			parts = append(parts, fmt.Sprintf("%s fixed at %s", f.Name, Level(f, level)))
		}
	}
	return fmt.Sprintf("%d x %d x %d; the first image of each of %s", h, w, c, strings.Join(parts, ", "))
}

func pathSheet(d datasets.Hierarchical, o Options) (t *raster.Tiles, err error) {
	if o.Row != "" || o.Column != "" || len(o.Fixed) > 0 {
		return nil, fmt.Errorf("the dimensions of dataset %s are a hierarchy, and its sheet has a row for every path; choose or hold no factors", d.Name())
	}
	path, choices := datasets.PathsOf(d, numeric.UpTo(d.Len()))
	members := make([][]int, len(choices))
	for i, p := range path {
		if len(members[p]) < o.Columns {
			members[p] = append(members[p], i)
		}
	}
	rows := evenlySpaced(len(choices), o.Rows)
	h, w, c := d.ImageShape()
	t = &raster.Tiles{Title: fmt.Sprintf("%s: %s", d.Name(), wording.Count(d.Len(), "image")), Scale: o.Scale,
		Subtitle: fmt.Sprintf("%d x %d x %d; a row for each path: %d of %d", h, w, c, len(rows), len(choices))}
	var shown [][]int
	for _, p := range rows {
		shown, t.RowLabels = append(shown, members[p]), append(t.RowLabels, datasets.PathName(d, choices[p]))
	}
	var limits raster.Pictures
	if t.Rows, limits, err = picturesOf(d, shown); limits.Curves() {
		t.Subtitle += fmt.Sprintf("; from %.3g to %.3g", limits.Low, limits.High)
	}
	return t, err
}

func pixelsOf(d datasets.Dataset, list []int) []float32 {
	h, w, c := d.ImageShape()
	pixels := make([]float32, len(list)*h*w*c)
	datasets.Fill(d, list, pixels)
	return pixels
}

// Views shows random images and their augmented views, without a normalisation at the end of the pipeline.
func Views(d datasets.Dataset, p augment.Pipeline, o Options) (image.Image, error) {
	h, w, c := d.ImageShape()
	p = p[:len(p)-len(p.Plain())]
	if err := p.Suits(h, w, c); err != nil {
		return nil, fmt.Errorf("view sheet: %w", err)
	}
	o = o.withDefaults()
	t := &raster.Tiles{Title: fmt.Sprintf("%s: views of random images", d.Name()), ColumnLabels: []string{"image"},
		Scale: o.Scale}
	for i, step := range p {
		t.Subtitle += []string{"", ", "}[min(i, 1)] + step.Name
	}
	for n := range o.Columns {
		t.ColumnLabels = append(t.ColumnLabels, fmt.Sprint("view ", n+1))
	}
	s, size := rng.New(0, "view sheet"), h*w*c
	shown := make([]float32, min(o.Rows, d.Len())*(1+o.Columns)*size)
	for row := range slices.Chunk(shown, (1+o.Columns)*size) {
		d.Image(s.IntN(d.Len()), row[:size])
		for v := range o.Columns {
			p.Apply(row[(1+v)*size:][:size], row[:size], h, w, c, s)
		}
	}
	pictures, err := raster.PicturesOf(h, w, c, shown).Of(shown)
	if err != nil {
		return nil, fmt.Errorf("view sheet: %w", err)
	}
	t.Rows = slices.Collect(slices.Chunk(pictures, 1+o.Columns))
	return t.Draw(), nil
}

// Groups shows the groups of images of a split, one per row. The label of a row has the factors that differ between the
// first image and another one. There are at most Rows groups, with at most Columns images each.
func Groups(d datasets.Dataset, s *supervision.Split, o Options) (image.Image, error) {
	if s.GroupCount() == 0 {
		return nil, errors.New("group sheet: the supervision has no groups of images; want one such as changes or pairs")
	}
	o = o.withDefaults()
	b, err := supervision.NewSampler(s, o.Rows*s.M, rng.New(0, "group sheet"))
	if err != nil {
		return nil, fmt.Errorf("group sheet: %w", err)
	}
	if err := b.StartEpoch(); err != nil {
		return nil, fmt.Errorf("group sheet: %w", err)
	}
	batch, _ := b.Next() // the first batch consists of groups
	groups := slices.Collect(slices.Chunk(batch.Indices[:min(len(batch.Indices), o.Rows*batch.Group)], batch.Group))
	t := &raster.Tiles{Title: fmt.Sprintf("%s: groups of %d images", d.Name(), batch.Group),
		Subtitle: "factors that differ from the first image", Scale: o.Scale}
	if t.Rows, _, err = picturesOf(d, groups); err != nil {
		return nil, fmt.Errorf("group sheet: %w", err)
	}
	for i, group := range groups {
		t.Rows[i], t.RowLabels = t.Rows[i][:min(len(group), o.Columns)], append(t.RowLabels, differingFactors(d, group))
	}
	return t.Draw(), nil
}

// Pairs shows pairs of images, one per row, with a label.
func Pairs(d datasets.Dataset, title, subtitle string, pairs [][2]int, labels []string, scale int) (image.Image, error) {
	if len(pairs) == 0 || len(pairs) != len(labels) {
		return nil, fmt.Errorf("pair sheet: there are %d pairs and %d labels; want as many, at least one",
			len(pairs), len(labels))
	}
	var images [][]int
	for _, p := range pairs {
		images = append(images, p[:])
	}
	rows, _, err := picturesOf(d, images)
	if err != nil {
		return nil, fmt.Errorf("pair sheet: %w", err)
	}
	t := &raster.Tiles{Title: title, Subtitle: subtitle, Scale: scale, RowLabels: labels, Rows: rows}
	return t.Draw(), nil
}

// differingFactors returns the names of the factors that differ between the first image of a group and any other.
func differingFactors(d datasets.Dataset, group []int) string {
	factors := d.Factors()
	first, levels, changed := make([]int, len(factors)), make([]int, len(factors)), make([]bool, len(factors))
	d.FactorsAt(group[0], first)
	for _, i := range group[1:] {
		d.FactorsAt(i, levels)
		for k := range factors {
			changed[k] = changed[k] || levels[k] != first[k]
		}
	}
	var names []string
	for k, f := range factors {
		if changed[k] {
			names = append(names, f.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
