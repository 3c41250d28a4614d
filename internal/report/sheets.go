package report

import (
	"fmt"
	"image"
	"io"
	"math"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/raster"
)

// Decoded is a sheet of codes with their decoded images.
type Decoded struct {
	Sheet                   *decode.Sheet
	Images                  []float32 // [Sheet.Count(), Height, Width, Channels]
	Height, Width, Channels int
	Scale                   int // pixels per image pixel; 0: images about 64 pixels wide
}

// pictures makes the images of all rows with common limits: 0 is black and 1 is white. If numbers lie outside this
// range, the largest is white.
func (d *Decoded) pictures() ([][]image.Image, error) {
	all, err := raster.PicturesOf(d.Height, d.Width, d.Channels, d.Images).Of(d.Images)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", d.Sheet.Name, err)
	}
	if n := d.Sheet.Count(); len(all) != n || n == 0 {
		return nil, fmt.Errorf("report: %s: %d images for %d codes; want one for each of at least one", d.Sheet.Name, len(all), n)
	}
	rows := make([][]image.Image, len(d.Sheet.Rows))
	for i, r := range d.Sheet.Rows {
		rows[i], all = all[:len(r.Codes)], all[len(r.Codes):]
	}
	return rows, nil
}

// WritePNG draws the sheet.
func (d *Decoded) WritePNG(w io.Writer) error {
	rows, err := d.pictures()
	if err != nil {
		return err
	}
	t := raster.Tiles{Title: d.Sheet.Title, ColumnTitle: d.Sheet.ColumnTitle, ColumnLabels: d.Sheet.Columns, Rows: rows, Scale: d.Scale}
	for _, r := range d.Sheet.Rows {
		t.RowLabels = append(t.RowLabels, r.Label)
	}
	return raster.WritePNG(w, t.Draw())
}

// animationHundredths is the duration of a frame, in hundredths of a second.
const animationHundredths = 12

// WriteGIF draws the sheet as an endless animation along its columns. A frame has the images of one step below the
// labels of their rows, in the order of the rows, left to right and top to bottom. Rows that do not end where they
// began go back again. A row with fewer steps shows each step for longer, or goes around twice. It writes nothing if
// the sheet does not move.
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

// period is the number of frames after which a row of some steps repeats.
func period(steps int, cyclic bool) int {
	if cyclic {
		return steps
	}
	return 2 * steps
}

// frameStep returns the step that a row of some steps shows in a given frame.
func frameStep(frame, frames, steps int, cyclic bool) int {
	switch {
	case !cyclic:
		return min(frame, frames-1-frame) * steps / ((frames + 1) / 2)
	case frames%steps == 0:
		return frame % steps
	}
	return frame * steps / frames
}

// The steps of [AnimatedTraversals]: rows that go back take as many frames as rows that go around.
const (
	animatedSteps = 12
	animatedParts = 24
	animatedSide  = 64 // pixels of an image
)

// AnimatedTraversals writes an animation of decoded images while each part of a code moves alone; see
// [decode.Codes.Walk]. It shows at most 24 parts.
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
	all.Scale = scaleOf(animatedSide, rows[0]) // scale of the pictures: short sequences are drawn as curves, larger than they are
	return all.WriteGIF(w)
}
