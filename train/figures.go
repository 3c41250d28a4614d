package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"

	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Caption describes a figure of a run in words.
type Caption struct {
	Name    string // file name in the folder of figures
	Caption string
}

// FigureCaptions lists the figures of runs, in the order on their pages.
func FigureCaptions() []Caption {
	var list []Caption
	for _, f := range new(figures.Drawing).Figures(nil, nil) {
		list = append(list, Caption{path.Base(f.File()), f.Caption})
	}
	return list
}

// drawing describes the codes of images for figures.
func (e *Experiment) drawing(codes matrix.Matrix, images []int, results []metrics.Result) *figures.Drawing {
	return &figures.Drawing{Run: e.Config.Name, Data: e.Data, Model: e.Model, Coder: e.Coder, Codes: codes, Images: images, Results: results,
		Final: e.Final, Input: e.Input, InputOf: e.InputOf, Initial: e.initialCodes, Components: e.components}
}

// draw draws a run's pictures into its folder and returns them for the report.
func (s *session) draw(codes matrix.Matrix, results []metrics.Result) ([]report.Figure, error) {
	e := s.experiment
	log, err := s.lines()
	if err != nil {
		return nil, err
	}
	all := e.drawing(codes, nil, results).Figures(s.lossNames(), log)
	e.Progress.Begin("drawing", len(all))
	defer e.Progress.End()
	var list []report.Figure
	for i, f := range all {
		e.Progress.Step(i, f.Name)
		file := f.File()
		if codes.Data == nil && f.Codes {
			if err := s.forget(file); err != nil {
				return nil, err
			}
			continue
		}
		var png bytes.Buffer
		if err := f.Draw(&png); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.Name, err)
		}
		if png.Len() == 0 {
			continue
		}
		if err := s.store.Write(file, rundir.Bytes(png.Bytes())); err != nil {
			return nil, err
		}
		if f.Moves {
			continue
		}
		if err := s.logs.Figure(s.loop.Step(), f.Name, f.Caption, png.Bytes()); err != nil {
			return nil, err
		}
		list = append(list, report.Figure{Name: f.Name, Caption: f.Caption, PNG: png.Bytes()})
	}
	return list, nil
}

// drawDecoded writes pictures of the codes of a monitor, decoded, to TensorBoard's file during training.
func (s *session) drawDecoded(m *monitor.Monitor, step int) error {
	list, err := s.experiment.drawing(m.Codes, m.Images, nil).Decoded(context.Background())
	if err != nil {
		return err
	}
	for _, f := range list {
		if err := s.logs.Picture(step, f.Name, f.Caption, f.PNG); err != nil {
			return err
		}
	}
	return s.logs.Events.Flush()
}

// lines reads the run's log.
func (s *session) lines() (log []rundir.Line, err error) {
	err = s.store.ReadLog(func(line rundir.Line) { log = append(log, line) })
	return log, err
}

// lossNames lists the losses of every objective in the order of the config.
func (s *session) lossNames() (names []report.LossNames) {
	for _, o := range s.experiment.losses(s.loop) {
		names = append(names, report.LossNames{Objective: o.Objective, Names: o.Names})
	}
	return names
}

// initialCodes returns the codes of images before training. The seed determines them.
func (e *Experiment) initialCodes(images []int) (matrix.Matrix, error) {
	data := e.modelData()
	m, err := e.Config.Model.Value.New(data, e.Config.Seed)
	if err != nil {
		return matrix.Matrix{}, err
	}
	coder, err := NewCoder(m, data)
	if err != nil {
		return matrix.Matrix{}, err
	}
	coder.views = e.Config.Views
	codes, err := coder.Encode(context.Background(), e.Data, images)
	return metrics.NewMatrix(len(images), coder.Width(), codes), err
}

// keepComponents stores the picture of the components, or reads the picture of an earlier session.
func (s *session) keepComponents() error {
	file := figures.FileOf(figures.ComponentsName)
	if s.experiment.components != nil {
		return s.store.Write(file, rundir.Bytes(s.experiment.components))
	}
	if !s.store.Has(file) {
		return nil
	}
	var err error
	s.experiment.components, err = s.store.Read(file)
	return err
}

// previewImages is the number of images in a preview: enough for the percentiles that bound traversals.
const previewImages = 512

// Preview is a look at a model during training: pictures, and the data of a page with an interactive decoder.
type Preview struct {
	Figures []Figure
	Explore []byte // JSON, as of [Experiment.Explore]; nil: the model has no decoder
}

// Figure is a picture of a run with its caption.
type Figure struct {
	Name    string // such as losses
	Caption string
	PNG     []byte
}

// Preview draws reconstructions and traversals from the codes of a few images, with the run's current parameters.
// Figures of a finished run use all codes instead. A model without a decoder has no pictures.
func (e *Experiment) Preview(ctx context.Context) (*Preview, error) {
	p := &Preview{}
	if !e.Coder.Decodes() {
		return p, nil
	}
	images := figures.Apart(e.Data.Len(), previewImages)
	rows, err := e.Encode(ctx, images)
	if err != nil {
		return nil, err
	}
	codes := metrics.NewMatrix(len(images), e.Coder.Width(), rows)
	x, err := e.explore(images, codes)
	if err != nil {
		return nil, err
	}
	if x != nil {
		if p.Explore, err = json.Marshal(x); err != nil {
			return nil, err
		}
	}
	drawn, err := e.drawing(codes, images, nil).Decoded(ctx)
	for _, f := range drawn {
		p.Figures = append(p.Figures, Figure(f))
	}
	return p, stopped(ctx, err)
}

// explore returns the data of a page with the model's interactive decoder. codes has a row for each image in images;
// nil images mean all, in order. It returns nil for a model without a decoder.
func (e *Experiment) explore(images []int, codes matrix.Matrix) (*web.Explore, error) {
	return e.drawing(codes, images, nil).Explore(e.images, e.source())
}

// source returns the model for the exchange of weights.
func (e *Experiment) source() weights.Source {
	return weights.Source{Model: e.Model, Data: e.modelData(), Views: e.Config.Views}
}

// Explore returns the data of a page with the model's interactive decoder, as JSON. It encodes at most count images,
// from the whole data set. It returns nil for a model without a decoder.
func (e *Experiment) Explore(ctx context.Context, count int) ([]byte, error) {
	x, err := e.exploreSome(ctx, count)
	if x == nil || err != nil {
		return nil, err
	}
	return json.Marshal(x)
}

// exploreSome is explore for at most count images from the whole data set; it encodes them.
func (e *Experiment) exploreSome(ctx context.Context, count int) (*web.Explore, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	images := figures.Apart(e.Data.Len(), count)
	codes, err := e.Coder.Encode(ctx, e.Data, images)
	if err != nil {
		return nil, err
	}
	return e.explore(images, metrics.NewMatrix(len(images), e.Coder.Width(), codes))
}
