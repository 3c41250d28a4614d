package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/train"
)

// decodedAtOnce is the number of codes decoded between two looks at the context.
const decodedAtOnce = 512

// write decodes the codes all, or the sheet's codes if all is nil. It writes the files of the sheet. The sheet shows
// the first codes.
func (d *decoding) write(ctx context.Context, s *decode.Sheet, all [][]float64, projected int) error {
	h, w, channels := d.e.Data.ImageShape()
	flat, n := s.Codes(), s.Count()
	if all != nil {
		flat, n = (&decode.Sheet{Rows: []decode.Row{{Codes: all}}}).Codes(), len(all)
	}
	path := func(name string) string { return filepath.Join(d.Out, name) }
	r := decodedSheet{Name: s.Name, PNG: path(s.Name + ".png"), Images: path(s.Name + ".npy"), Codes: path(s.Name + "-codes.npy"),
		Shape: []int{n, h, w, channels}, Columns: s.Columns, Projected: projected}
	for _, row := range s.Rows {
		r.Rows = append(r.Rows, decodedRow{row.Label, len(row.Codes)})
	}
	width := d.e.Coder.Width()
	if err := writeOut(r.Codes, func(out io.Writer) error { return npy.Write(out, []int{n, width}, flat) }); err != nil {
		return err
	}
	shown := make([]float32, 0, s.Count()*h*w*channels)
	if err := writeOut(r.Images, func(out io.Writer) error {
		if err := npy.WriteHeader[float32](out, r.Shape); err != nil {
			return err
		}
		for from := 0; from < n; from += decodedAtOnce {
			if ctx.Err() != nil {
				return train.ErrStopped
			}
			images, err := d.e.Coder.Decode(flat[from*width : min(from+decodedAtOnce, n)*width])
			if err != nil {
				return err
			}
			shown = append(shown, images[:min(len(images), cap(shown)-len(shown))]...)
			if err := npy.WriteElements(out, images); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	pictures := &report.Decoded{Sheet: s, Images: shown, Height: h, Width: w, Channels: channels, Scale: d.Scale}
	if err := writeOut(r.PNG, pictures.WritePNG); err != nil {
		return err
	}
	if s.Moves && d.GIF {
		r.GIF = path(s.Name + ".gif")
		if err := writeOut(r.GIF, pictures.WriteGIF); err != nil {
			return err
		}
	}
	d.result.Files = append(d.result.Files, r)
	fmt.Fprintf(d.log, "%s: %d images of %d x %d x %d\n", r.PNG, n, h, w, channels)
	return nil
}
