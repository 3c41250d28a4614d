package report

import (
	"fmt"
	"image"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/raster"
)

// pathSheet is the contact sheet of a hierarchical data set.
func pathSheet(d datasets.Hierarchical, o SheetOptions) (image.Image, error) {
	if o.Row != "" || o.Column != "" || len(o.Fixed) > 0 {
		return nil, fmt.Errorf("contact sheet: the dimensions of dataset %s are a hierarchy, whose sheet has a row for every path; want no factors chosen or held", d.Name())
	}
	images := make([]int, d.Len())
	for i := range images {
		images[i] = i
	}
	path, choices := datasets.PathsOf(d, images)
	rows := evenly(len(choices), o.Rows, 8)
	columns := o.Columns
	if columns <= 0 {
		columns = 12
	}
	members := make([][]int, len(choices))
	for i, p := range path {
		if len(members[p]) < columns {
			members[p] = append(members[p], i)
		}
	}
	h, w, c := d.ImageShape()
	t := &raster.Tiles{
		Title:    fmt.Sprintf("%s: %d images", d.Name(), d.Len()),
		Subtitle: fmt.Sprintf("%d x %d x %d; a row for each path: %d of %d", h, w, c, len(rows), len(choices)),
		Scale:    o.Scale,
	}
	var all [][]float32
	for _, p := range rows {
		all = append(all, pixelsOf(d, members[p]))
	}
	pictures := raster.PicturesOf(h, w, c, all...)
	if pictures.Curves() {
		t.Subtitle += fmt.Sprintf("; from %.3g to %.3g", pictures.Low, pictures.High)
	}
	for i, p := range rows {
		shown, err := pictures.Of(all[i])
		if err != nil {
			return nil, fmt.Errorf("contact sheet: %w", err)
		}
		t.Rows = append(t.Rows, shown)
		t.RowLabels = append(t.RowLabels, datasets.PathName(d, choices[p]))
	}
	return t.Draw(), nil
}

func pixelsOf(d datasets.Dataset, list []int) []float32 {
	h, w, c := d.ImageShape()
	pixels := make([]float32, len(list)*h*w*c)
	datasets.Fill(d, list, pixels)
	return pixels
}
