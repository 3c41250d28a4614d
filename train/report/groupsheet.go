package report

import (
	"errors"
	"fmt"
	"image"
	"strings"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/raster"
)

// GroupSheet shows the groups of images of a split, in a row each. A row names the factors that differ between its
// first image and another one. It shows at most Rows groups, and at most Columns images of each.
func GroupSheet(d datasets.Dataset, s *supervision.Split, o SheetOptions) (image.Image, error) {
	if s.GroupCount() == 0 {
		return nil, errors.New("group sheet: the supervision has no groups of images; want one such as changes or pairs")
	}
	rows, columns := o.Rows, o.Columns
	if rows <= 0 {
		rows = 8
	}
	if columns <= 0 {
		columns = 12
	}
	b, err := supervision.NewSampler(s, rows*s.M, rng.New(0, "group sheet"))
	if err != nil {
		return nil, fmt.Errorf("group sheet: %w", err)
	}
	if err := b.StartEpoch(); err != nil {
		return nil, fmt.Errorf("group sheet: %w", err)
	}
	batch, _ := b.Next() // the first of groups
	groups := batch.Indices[:min(len(batch.Indices), rows*batch.Group)]
	h, w, c := d.ImageShape()
	t := &raster.Tiles{Title: fmt.Sprintf("%s: groups of %d images", d.Name(), batch.Group), Subtitle: "factors that differ from the first image", Scale: o.Scale}
	pictures := raster.PicturesOf(h, w, c, pixelsOf(d, groups))
	for at := 0; at < len(groups); at += batch.Group {
		group := groups[at : at+batch.Group]
		shown, err := pictures.Of(pixelsOf(d, group[:min(len(group), columns)]))
		if err != nil {
			return nil, fmt.Errorf("group sheet: %w", err)
		}
		t.Rows, t.RowLabels = append(t.Rows, shown), append(t.RowLabels, differing(d, group))
	}
	return t.Draw(), nil
}

// PairSheet shows pairs of images, a row for each, with a label.
func PairSheet(d datasets.Dataset, title, subtitle string, pairs [][2]int, labels []string, scale int) (image.Image, error) {
	if len(pairs) == 0 || len(pairs) != len(labels) {
		return nil, fmt.Errorf("pair sheet: there are %d pairs and %d labels; want as many, at least one", len(pairs), len(labels))
	}
	h, w, c := d.ImageShape()
	var images []int
	for _, p := range pairs {
		images = append(images, p[:]...)
	}
	t := &raster.Tiles{Title: title, Subtitle: subtitle, Scale: scale, RowLabels: labels}
	pictures := raster.PicturesOf(h, w, c, pixelsOf(d, images))
	for _, p := range pairs {
		shown, err := pictures.Of(pixelsOf(d, p[:]))
		if err != nil {
			return nil, fmt.Errorf("pair sheet: %w", err)
		}
		t.Rows = append(t.Rows, shown)
	}
	return t.Draw(), nil
}

// differing names the factors that differ between the first image of a group and any other.
func differing(d datasets.Dataset, group []int) string {
	factors := d.Factors()
	first, levels, differs := make([]int, len(factors)), make([]int, len(factors)), make([]bool, len(factors))
	d.FactorsAt(group[0], first)
	for _, i := range group[1:] {
		d.FactorsAt(i, levels)
		for k := range factors {
			differs[k] = differs[k] || levels[k] != first[k]
		}
	}
	var names []string
	for k, f := range factors {
		if differs[k] {
			names = append(names, f.Name)
		}
	}
	if names == nil {
		return "none"
	}
	return strings.Join(names, ", ")
}
