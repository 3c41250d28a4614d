package figures

import (
	"fmt"
	"image"
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/raster"
)

// Reconstructions shows inputs above what a model makes of them, eight to a row.
// Both hold the same number of h x w x c images, one after the other.
func Reconstructions(w io.Writer, title string, inputs, outputs []float32, height, width, channels int) error {
	if len(inputs) != len(outputs) {
		return fmt.Errorf("figures: %d numbers of inputs, but %d of reconstructions", len(inputs), len(outputs))
	}
	in, err := raster.Batch(inputs, height, width, channels)
	if err != nil {
		return fmt.Errorf("figures: inputs: %w", err)
	}
	out, err := raster.Batch(outputs, height, width, channels)
	if err != nil {
		return fmt.Errorf("figures: reconstructions: %w", err)
	}
	const perRow = 8
	t := raster.Tiles{Title: title, GroupRows: 2, Scale: raster.FitScale(width, 128)}
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

func squaredError(a, b []float32) (sum float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return sum
}

// Traversals shows decoded images while one circle of a latent space turns and the
// rest is held: one row per circle, at evenly spaced angles from 0. The images are
// len(circles) x angles of h x w x c.
func Traversals(w io.Writer, title string, circles []string, angles int, images []float32, height, width, channels int) error {
	all, err := raster.Batch(images, height, width, channels)
	if err != nil {
		return fmt.Errorf("figures: traversals: %w", err)
	}
	if len(all) != len(circles)*angles || len(all) == 0 {
		return fmt.Errorf("figures: %d images for %d circles at %d angles; want %d", len(all), len(circles), angles, len(circles)*angles)
	}
	t := raster.Tiles{Title: title, ColumnTitle: "angle on the circle, degrees", RowLabels: circles, Scale: raster.FitScale(width, 96)}
	for a := range angles {
		t.ColumnLabels = append(t.ColumnLabels, fmt.Sprint(math.Round(3600*float64(a)/float64(angles))/10))
	}
	for r := range circles {
		t.Rows = append(t.Rows, all[r*angles:(r+1)*angles])
	}
	return raster.WritePNG(w, t.Draw())
}

// ImageTable shows any table of images with labels; nil images leave a blank.
func ImageTable(w io.Writer, title string, rows [][]image.Image, rowLabels, columnLabels []string) error {
	t := raster.Tiles{Title: title, Rows: rows, RowLabels: rowLabels, ColumnLabels: columnLabels}
	return raster.WritePNG(w, t.Draw())
}
