package train

import (
	"bytes"
	"io"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/report"
)

// maxAlbum bounds the evaluations with pictures in TensorBoard's file; TensorBoard shows ten by default.
const maxAlbum = 10

// album writes pictures of decoded codes to TensorBoard's file during training. It uses the codes of evaluations.
type album struct {
	session *session
	monitor *monitor
}

func (a *album) hook() engine.Hook {
	return engine.Hook{Name: "pictures", Priority: albumPriority, OnEpoch: func(_ *engine.Loop, r *engine.EpochReport) error {
		if a.monitor.measuredAt != r.Epoch || !a.due(r.Epoch, r.Of) {
			return nil
		}
		return a.draw(r.Step)
	}}
}

// due chooses the evaluations with pictures: all, or the last and equally spaced ones before it.
func (a *album) due(epoch, epochs int) bool {
	all, this := epochs/a.monitor.every, epoch/a.monitor.every
	return (all-this)%((all+maxAlbum-1)/maxAlbum) == 0
}

// draw writes the pictures.
func (a *album) draw(step int) error {
	e, codes, images := a.session.experiment, a.monitor.codes, a.monitor.images
	for _, p := range []struct {
		tag, caption string
		draw         func(io.Writer) error
	}{
		{"reconstructions", "Images and their reconstructions.", func(w io.Writer) error {
			rows := scattered(len(images), 16)
			return e.reconstructionsOf(w, codes, rows, func(row int) int { return images[row] })
		}},
		{"traversals", "Decoded images while one part of the code moves and the rest is fixed.", func(w io.Writer) error {
			return e.traversalsOf(w, codes, images)
		}},
	} {
		var png bytes.Buffer
		if err := p.draw(&png); err != nil {
			return err
		}
		if png.Len() == 0 {
			continue
		}
		if err := a.session.logs.picture(step, p.tag, p.caption, png.Bytes()); err != nil {
			return err
		}
	}
	return a.session.logs.events.Flush()
}

// reconstructionsOf draws the images of some rows of codes next to the decoded codes.
func (e *Experiment) reconstructionsOf(w io.Writer, codes matrix.Matrix, rows []int, image func(row int) int) error {
	height, width, channels := e.Data.ImageShape()
	list := make([]int, len(rows))
	var numbers []float32
	for i, row := range rows {
		list[i] = image(row)
		numbers = appendRow(numbers, codes.Row(row))
	}
	inputs := make([]float32, len(rows)*height*width*channels)
	datasets.Fill(e.Data, list, inputs)
	outputs, err := e.Coder.Decode(numbers)
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "Images and their reconstructions", inputs, outputs, height, width, channels)
}

// traversalsOf draws traversals from the code of the first image in a list.
func (e *Experiment) traversalsOf(w io.Writer, codes matrix.Matrix, images []int) error {
	if m, ok := e.Model.(models.Hierarchical); ok {
		return report.PathTraversals(w, codes, m.Hierarchy(), e.decoder())
	}
	shown := report.Shown(codes.Rows)
	some, list := matrix.Matrix{Rows: len(shown), Cols: codes.Cols}, make([]int, len(shown))
	for i, row := range shown {
		some.Data, list[i] = append(some.Data, codes.Row(row)...), images[row]
	}
	return report.CodeTraversals(w, decode.Of(e.Model, codes), e.spheres(e.InputOf(some, list)), e.decoder())
}
