package report

import (
	"fmt"
	"image"
	"io"

	"github.com/unravel-ml/unravel/internal/raster"
)

// Reconstructions shows inputs above their reconstructions, eight to a row. It shows images of any size and any number
// of channels, with sequences and vectors as curves. inputs and outputs hold equally many h x w x c images, one after
// another.
func Reconstructions(w io.Writer, title string, inputs, outputs []float32, height, width, channels int) error {
	if len(inputs) != len(outputs) {
		return fmt.Errorf("report: %d numbers of inputs, but %d of reconstructions", len(inputs), len(outputs))
	}
	pictures := raster.PicturesOf(height, width, channels, inputs, outputs)
	in, err := pictures.Of(inputs)
	if err != nil {
		return fmt.Errorf("report: inputs: %w", err)
	}
	out, err := pictures.Of(outputs)
	if err != nil {
		return fmt.Errorf("report: reconstructions: %w", err)
	}
	const perRow = 8
	t := raster.Tiles{Title: title, GroupRows: 2, Scale: scaleOf(128, in)}
	for i := 0; i < len(in); i += perRow {
		end := min(i+perRow, len(in))
		t.Rows = append(t.Rows, in[i:end], out[i:end])
		t.RowLabels = append(t.RowLabels, "input", "output")
	}
	if len(in) > 0 {
		t.Subtitle = fmt.Sprintf("squared error per image: mean %.3g", squaredError(inputs, outputs)/float64(len(in)))
	}
	return raster.WritePNG(w, t.Draw())
}

// scaleOf is the factor that enlarges pictures of one size until their longer side has about the wanted number of
// pixels.
func scaleOf(want int, list []image.Image) int {
	side := 1
	if len(list) > 0 {
		side = max(list[0].Bounds().Dx(), list[0].Bounds().Dy())
	}
	return raster.FitScale(side, want)
}

func squaredError(a, b []float32) (sum float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return sum
}

// traversalSheet decodes and shows codes while one part of a code moves and the rest is fixed: one row for each part,
// one column for each position. There are len(rows) x len(columns) codes.
func traversalSheet(w io.Writer, title, columnTitle string, rows, columns []string, codes []float32, d Decoder) error {
	images, err := d.Decode(codes)
	if err != nil {
		return err
	}
	all, err := raster.PicturesOf(d.Height, d.Width, d.Channels, images).Of(images)
	if err != nil {
		return fmt.Errorf("report: traversals: %w", err)
	}
	n := len(columns)
	if len(all) != len(rows)*n || len(all) == 0 {
		return fmt.Errorf("report: %d images for %d rows of %d; want %d", len(all), len(rows), n, len(rows)*n)
	}
	t := raster.Tiles{Title: title, ColumnTitle: columnTitle, RowLabels: rows, ColumnLabels: columns, Scale: scaleOf(96, all)}
	for r := range rows {
		t.Rows = append(t.Rows, all[r*n:(r+1)*n])
	}
	return raster.WritePNG(w, t.Draw())
}
