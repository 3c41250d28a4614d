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
	"github.com/unravel-ml/unravel/train/report"
	"github.com/unravel-ml/unravel/train/report/web"
)

// previewImages is the number of images in a preview: enough for the percentiles that bound traversals.
const previewImages = 512

// Preview is a look at a model during training: pictures, and the data of a page with an interactive decoder.
type Preview struct {
	Figures []report.Figure
	Explore *web.Explore // nil: the model has no decoder
}

// Preview draws reconstructions and traversals from the codes of a few images, with the run's current parameters.
// Figures of a finished run use all codes instead. A model without a decoder has no pictures.
func (e *Experiment) Preview(ctx context.Context) (*Preview, error) {
	p := &Preview{}
	if !e.Coder.Decodes() {
		return p, nil
	}
	images := apart(e.Data.Len(), previewImages)
	rows, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	codes := metrics.NewMatrix(len(images), e.Coder.Width(), rows)
	if p.Explore, err = e.Explore(images, codes); err != nil {
		return nil, err
	}
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
			p.Figures = append(p.Figures, report.Figure{Name: f.name, Caption: f.caption, PNG: png.Bytes()})
		}
	}
	return p, nil
}

// previewReconstructions decodes the codes of 16 images of a preview.
func (e *Experiment) previewReconstructions(w io.Writer, images []int, rows []float32) error {
	var some []int
	var codes []float32
	for _, row := range apart(len(images), 16) {
		some = append(some, images[row])
		codes = append(codes, rows[row*e.Coder.Width():(row+1)*e.Coder.Width()]...)
	}
	h, width, c := e.Data.ImageShape()
	inputs := make([]float32, len(some)*h*width*c)
	datasets.Fill(e.Data, some, inputs)
	outputs, err := e.Coder.Decode(codes)
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "reconstructions", inputs, outputs, h, width, c)
}
