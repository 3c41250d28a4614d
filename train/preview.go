package train

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/report"
)

// previewImages is how many images a preview encodes: enough for the percentiles between which traversals go.
const previewImages = 512

// Preview draws reconstructions and traversals from the codes of a few images, as the run's parameters are now. It is meant for a look
// during training: the figures of a finished run are those of all codes. A model without a decoder has none.
func (e *Experiment) Preview(ctx context.Context) ([]report.Figure, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	images := scattered(e.Data.Len(), previewImages)
	rows, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	codes := metrics.NewMatrix(len(images), e.Coder.Width(), rows)
	var list []report.Figure
	for _, f := range []struct {
		name, caption string
		draw          func(w io.Writer) error
	}{
		{"reconstructions", "Images and their reconstructions.", func(w io.Writer) error { return e.previewReconstructions(w, images, rows) }},
		{"traversals", "Decoded images while one part of the code moves and the rest is fixed.", func(w io.Writer) error {
			if m, ok := e.Model.(models.Hierarchical); ok {
				return report.PathTraversals(w, codes, m.Hierarchy(), e.decoder())
			}
			return report.CodeTraversals(w, decode.Of(e.Model, codes), e.spheres(e.InputOf(codes, images)), e.decoder())
		}},
	} {
		if ctx.Err() != nil {
			return nil, ErrStopped
		}
		var png bytes.Buffer
		if err := f.draw(&png); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.name, err)
		}
		if png.Len() > 0 {
			list = append(list, report.Figure{Name: f.name, Caption: f.caption, PNG: png.Bytes()})
		}
	}
	return list, nil
}

// previewReconstructions decodes the codes of the first 16 images of a preview.
func (e *Experiment) previewReconstructions(w io.Writer, images []int, rows []float32) error {
	images = images[:min(16, len(images))]
	h, width, c := e.Data.ImageShape()
	inputs := make([]float32, len(images)*h*width*c)
	datasets.Fill(e.Data, images, inputs)
	outputs, err := e.Coder.Decode(rows[:len(images)*e.Coder.Width()])
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "reconstructions", inputs, outputs, h, width, c)
}
