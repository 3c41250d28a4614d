package report

import (
	"fmt"
	"image"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/internal/raster"
	"github.com/unravel-ml/unravel/rng"
)

// ViewSheet shows random images of a data set, a row for each, and views of them, the image itself first.
// A normalisation at the end of the pipeline is left out.
func ViewSheet(d datasets.Dataset, p augment.Pipeline, o SheetOptions) (image.Image, error) {
	h, w, c := d.ImageShape()
	if c > 3 {
		return nil, fmt.Errorf("view sheet: images of %d x %d x %d cannot be shown; want 1 to 3 channels", h, w, c)
	}
	p = p[:len(p)-len(p.Plain())]
	if err := p.Suits(h, w, c); err != nil {
		return nil, fmt.Errorf("view sheet: %w", err)
	}
	rows, columns := o.Rows, o.Columns
	if rows <= 0 {
		rows = 8
	}
	if columns <= 0 {
		columns = 12
	}
	t := &raster.Tiles{Title: fmt.Sprintf("%s: views of random images", d.Name()), ColumnLabels: []string{"image"}, Scale: o.Scale}
	for i, step := range p {
		t.Subtitle += []string{"", ", "}[min(i, 1)] + step.Name
	}
	for n := range columns {
		t.ColumnLabels = append(t.ColumnLabels, fmt.Sprint("view ", n+1))
	}
	s, pixels, view := rng.New(0, "view sheet"), make([]float32, h*w*c), make([]float32, h*w*c)
	for range min(rows, d.Len()) {
		d.Image(s.IntN(d.Len()), pixels)
		first, err := raster.FromFloats(pixels, h, w, c)
		if err != nil {
			return nil, fmt.Errorf("view sheet: %w", err)
		}
		row := []image.Image{first}
		for range columns {
			p.Apply(view, pixels, h, w, c, s)
			shown, err := raster.FromFloats(view, h, w, c)
			if err != nil {
				return nil, fmt.Errorf("view sheet: %w", err)
			}
			row = append(row, shown)
		}
		t.Rows = append(t.Rows, row)
	}
	return t.Draw(), nil
}
