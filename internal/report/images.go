package report

import (
	"fmt"
	"image"
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
)

// Reconstructions shows inputs above their reconstructions, eight per row. It supports images of any size and any
// number of channels; sequences and vectors are drawn as curves. inputs and outputs hold the same number of h x w x c
// images, one after another.
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

// scaleOf returns the factor that enlarges pictures until their longer side has about the wanted number of pixels.
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

// traversalSheet decodes len(rows) x len(columns) codes in which one part moves and the rest is fixed.
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
	t := raster.Tiles{Title: title, ColumnTitle: columnTitle, RowLabels: rows, ColumnLabels: columns,
		Scale: scaleOf(96, all)}
	for r := range rows {
		t.Rows = append(t.Rows, all[r*n:(r+1)*n])
	}
	return raster.WritePNG(w, t.Draw())
}

// Decoded is a sheet of codes with their decoded images.
type Decoded struct {
	Sheet                   *decode.Sheet
	Images                  []float32 // [Sheet.Count(), Height, Width, Channels]
	Height, Width, Channels int
	Scale                   int // pixels per image pixel; 0: images about 64 pixels wide
}

// pictures creates the images of all rows: 0 is black, and white is 1, or the largest value if that exceeds 1.
func (d *Decoded) pictures() ([][]image.Image, error) {
	all, err := raster.PicturesOf(d.Height, d.Width, d.Channels, d.Images).Of(d.Images)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", d.Sheet.Name, err)
	}
	if n := d.Sheet.Count(); len(all) != n || n == 0 {
		return nil, fmt.Errorf("report: %s: %d images for %d codes; want one for each of at least one",
			d.Sheet.Name, len(all), n)
	}
	rows := make([][]image.Image, len(d.Sheet.Rows))
	for i, r := range d.Sheet.Rows {
		rows[i], all = all[:len(r.Codes)], all[len(r.Codes):]
	}
	return rows, nil
}

func (d *Decoded) WritePNG(w io.Writer) error {
	rows, err := d.pictures()
	if err != nil {
		return err
	}
	t := raster.Tiles{Title: d.Sheet.Title, ColumnTitle: d.Sheet.ColumnTitle, ColumnLabels: d.Sheet.Columns, Rows: rows,
		Scale: d.Scale}
	for _, r := range d.Sheet.Rows {
		t.RowLabels = append(t.RowLabels, r.Label)
	}
	return raster.WritePNG(w, t.Draw())
}

const animationHundredths = 12 // duration of a frame, in hundredths of a second

// WriteGIF draws the sheet as an endless animation along its columns. A frame has the images of one step below their
// row labels, in the order of the rows, left to right and top to bottom. A row that does not end where it began plays
// forwards and then backwards. A row with fewer steps shows each step for longer, or repeats. If nothing on the sheet
// moves, WriteGIF writes nothing.
func (d *Decoded) WriteGIF(w io.Writer) error {
	if !d.Sheet.Moves {
		return nil
	}
	rows, err := d.pictures()
	if err != nil {
		return err
	}
	count := 0
	for i, r := range d.Sheet.Rows {
		count = max(count, period(len(rows[i]), r.Cyclic))
	}
	scale := d.Scale
	if scale == 0 {
		scale = scaleOf(96, rows[0])
	}
	columns := int(math.Ceil(math.Sqrt(float64(len(rows)))))
	var labels []string
	for _, r := range d.Sheet.Rows {
		labels = append(labels, r.Label)
	}
	var frames []*image.RGBA
	for f := range count {
		frame := make([]image.Image, len(rows))
		for i, row := range rows {
			frame[i] = row[frameStep(f, count, len(row), d.Sheet.Rows[i].Cyclic)]
		}
		frames = append(frames, raster.Mosaic(frame, labels, columns, scale, 4))
	}
	return raster.WriteGIF(w, frames, animationHundredths)
}

// period returns the number of frames after which a row with this number of steps repeats.
func period(steps int, cyclic bool) int {
	if cyclic {
		return steps
	}
	return 2 * steps
}

// frameStep returns the step that a row shows in a frame.
func frameStep(frame, frames, steps int, cyclic bool) int {
	switch {
	case !cyclic:
		return min(frame, frames-1-frame) * steps / ((frames + 1) / 2)
	case frames%steps == 0:
		return frame % steps
	}
	return frame * steps / frames
}

// Numbers of steps in [AnimatedTraversals]: rows that play backwards take as many frames as circular rows.
const (
	animatedSteps = 12
	animatedParts = 24
	animatedSide  = 64 // pixels per side of an image
)

// AnimatedTraversals animates decoded images while each of at most 24 parts moves alone; see [decode.Codes.Walk].
func AnimatedTraversals(w io.Writer, codes *decode.Codes, d Decoder) error {
	from := decode.Point{Code: codes.Known.Row(0)}
	s, _ := codes.Traversals(from, animatedSteps, animatedParts)
	around, _ := codes.Traversals(from, 2*animatedSteps, animatedParts)
	for i, r := range around.Rows {
		if r.Cyclic {
			s.Rows[i] = r
		}
	}
	if len(s.Rows) == 0 {
		return nil
	}
	images, err := d.Decode(s.Codes())
	if err != nil {
		return err
	}
	all := &Decoded{Sheet: s, Images: images, Height: d.Height, Width: d.Width, Channels: d.Channels}
	rows, err := all.pictures()
	if err != nil {
		return err
	}
	all.Scale = scaleOf(animatedSide, rows[0]) // short sequences are drawn as curves, larger than they are
	return all.WriteGIF(w)
}
