package report

import (
	"fmt"
	"image"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/augment"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/raster"
)

// ViewSheet shows random images of a data set, a row for each, and views of them, the image itself first.
// A normalisation at the end of the pipeline is left out.
func ViewSheet(d datasets.Dataset, p augment.Pipeline, o SheetOptions) (image.Image, error) {
	h, w, c := d.ImageShape()
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
	s, size, n := rng.New(0, "view sheet"), h*w*c, min(rows, d.Len())
	shown := make([]float32, n*(1+columns)*size)
	for row := range n {
		image := shown[row*(1+columns)*size:][:size]
		d.Image(s.IntN(d.Len()), image)
		for v := range columns {
			p.Apply(shown[(row*(1+columns)+1+v)*size:][:size], image, h, w, c, s)
		}
	}
	pictures, err := raster.PicturesOf(h, w, c, shown).Of(shown)
	if err != nil {
		return nil, fmt.Errorf("view sheet: %w", err)
	}
	t.Rows = slices.Collect(slices.Chunk(pictures, 1+columns))
	return t.Draw(), nil
}
