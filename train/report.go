package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/internal/figures"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/internal/page"
	"github.com/unravel-ml/unravel/train/internal/watch"
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

func (e *Experiment) drawing(codes matrix.Matrix, images []int, results []metrics.Result) *figures.Drawing {
	return &figures.Drawing{Run: e.Config.Name, Data: e.Data, Model: e.Model, Coder: e.Coder, Codes: codes, Images: images,
		Results: results,
		Final:   e.Final, Input: e.Input, InputOf: e.InputOf, Initial: e.initialCodes, Components: e.components}
}

// draw draws a run's pictures into its folder and returns them for the report.
func (s *session) draw(codes matrix.Matrix, results []metrics.Result) ([]report.Figure, error) {
	e := s.experiment
	log, err := s.lines()
	if err != nil {
		return nil, err
	}
	candidates := e.drawing(codes, nil, results).Figures(s.lossNames(), log)
	e.Progress.Begin("drawing", len(candidates))
	defer e.Progress.End()
	var list []report.Figure
	for i, f := range candidates {
		e.Progress.Step(i, f.Name)
		file := f.File()
		if codes.Data == nil && f.Codes {
			if err := s.removeFiles(file); err != nil {
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
		if err := s.logs.Picture(s.loop.Step(), watch.FigureTag+f.Name, f.Caption, png.Bytes()); err != nil {
			return nil, err
		}
		list = append(list, report.Figure{Name: f.Name, Caption: f.Caption, PNG: png.Bytes()})
	}
	return list, nil
}

// drawDecoded writes pictures of decoded codes of a monitor to TensorBoard's file during training.
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

func (s *session) lines() (log []rundir.Line, err error) {
	err = s.store.ReadLog(func(line rundir.Line) { log = append(log, line) })
	return log, err
}

func (s *session) lossNames() (names []report.LossNames) {
	for _, o := range s.experiment.losses(s.loop) {
		names = append(names, report.LossNames{Objective: o.Objective, Names: o.Names})
	}
	return names
}

// initialCodes returns the codes of images before training. The seed determines them.
func (e *Experiment) initialCodes(images []int) (matrix.Matrix, error) {
	_, coder, err := e.newModel()
	if err != nil {
		return matrix.Matrix{}, err
	}
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

const previewImages = 512 // number of images in a preview, enough for the percentiles that limit traversals

// Preview shows a model during training: pictures, and the data of a page with an interactive decoder.
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
	d, err := e.drawingOf(ctx, previewImages)
	if err != nil {
		return nil, err
	}
	x, err := d.Explore(e.images, e.source())
	if err != nil {
		return nil, err
	}
	if x != nil {
		if p.Explore, err = json.Marshal(x); err != nil {
			return nil, err
		}
	}
	pictures, err := d.Decoded(ctx)
	for _, f := range pictures {
		p.Figures = append(p.Figures, Figure(f))
	}
	return p, stopped(ctx, err)
}

// drawingOf encodes at most count images from the whole data set for figures.
func (e *Experiment) drawingOf(ctx context.Context, count int) (*figures.Drawing, error) {
	images := figures.Apart(e.Data.Len(), max(count, 1))
	codes, err := e.Coder.Encode(ctx, e.Data, images)
	return e.drawing(metrics.NewMatrix(len(images), e.Coder.Width(), codes), images, nil), err
}

func (e *Experiment) source() weights.Source {
	return weights.Source{Model: e.Model, Data: e.modelData(), Views: e.Config.Views}
}

// Explore returns the data of a page with the interactive decoder of at most count images as JSON; nil: no decoder.
func (e *Experiment) Explore(ctx context.Context, count int) ([]byte, error) {
	x, err := e.explorer(ctx, count)
	if x == nil || err != nil {
		return nil, err
	}
	return json.Marshal(x)
}

func (e *Experiment) explorer(ctx context.Context, count int) (*web.Explore, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	d, err := e.drawingOf(ctx, count)
	if err != nil {
		return nil, err
	}
	return d.Explore(e.images, e.source())
}

// pageContent adds the facts that the experiment knows to the content of a page.
func (e *Experiment) pageContent(c *page.Content) *page.Content {
	c.Name, c.Model, c.Dataset, c.Seed = e.Config.Name, e.Config.Model.Name, e.Config.Dataset.Name, e.Config.Seed
	c.Source, c.DataRows = e.source(), e.images
	for _, l := range e.Config.Losses {
		c.Losses = append(c.Losses, l.Name)
	}
	return c
}

func (s *session) writeReport(ctx context.Context, codes matrix.Matrix, r *Result, pictures []report.Figure) error {
	c := s.experiment.pageContent(&page.Content{Dir: s.store.Dir(), Config: s.config, Epochs: s.loop.Epoch(),
		Steps: s.loop.Step(),
		Best:  (*checkpoint.Best)(s.best), Spread: page.Spread(s.logs.Last), Results: r.Metrics, Figures: pictures})
	if r.Fit != nil {
		c.Unfit = r.Fit.Why
	}
	var err error
	if c.Log, err = s.lines(); err != nil {
		return err
	}
	if c.Record, err = s.newRecord(); err != nil {
		return err
	}
	p, err := c.Page(ctx, s.experiment.drawing(codes, nil, nil))
	if err != nil {
		return err
	}
	return s.store.Write(rundir.ReportFile, func(w io.Writer) error { return report.WritePage(w, p) })
}

// StoredPage returns a writer of the page about the run in a folder, from its stored results, figures, log and codes.
// It computes missing codes, but it does not train, measure or draw. For an unfinished run it shows the log, and the
// codes and the decoder of the newest checkpoint. remarks are warnings for people.
func StoredPage(ctx context.Context, dir string, progress *Activity) (write func(io.Writer) error, remarks []string, err error) {
	p, remarks, err := readPage(ctx, dir, progress)
	return func(w io.Writer) error { return report.WritePage(w, p) }, remarks, err
}

func readPage(ctx context.Context, dir string, progress *Activity) (p report.Page, remarks []string, err error) {
	run, err := rundir.View(dir)
	if err != nil {
		return p, nil, err
	}
	e, warning, err := OpenExperiment(dir)
	if err != nil {
		return p, nil, err
	}
	if warning != "" {
		remarks = append(remarks, warning)
	}
	e.Progress = progress
	c, err := page.Stored(run)
	if err != nil {
		return p, nil, err
	}
	if c.Record == nil {
		remarks = append(remarks,
			fmt.Sprintf("%s: the run has not ended; its page shows the log and the newest checkpoint", dir))
	}
	shown, codes, err := e.storedCodes(ctx, run, c.Record != nil)
	if err != nil {
		return p, nil, err
	}
	p, err = shown.pageContent(&c).Page(ctx, shown.drawing(codes, nil, nil))
	return p, remarks, err
}

const maxPageCodes = 10000 // number of images encoded for a page without stored codes

// storedCodes reads the codes of an ended run. Without them, it computes as many codes as a page shows.
func (e *Experiment) storedCodes(ctx context.Context, run *rundir.Run, ended bool) (*Experiment, matrix.Matrix, error) {
	encoded := e.encoded()
	if encoded == nil {
		return e, matrix.Matrix{}, nil
	}
	if !ended || !run.Has(rundir.CodesFile) {
		shown := encoded.sampleOf(maxPageCodes, 0)
		codes, err := shown.Codes(ctx)
		return shown, codes, err
	}
	f, err := npy.ReadFile[float32](run.Path(rundir.CodesFile))
	if err != nil {
		return nil, matrix.Matrix{}, err
	}
	rows, columns := encoded.Data.Len(), e.Coder.Width()
	if !slices.Equal(f.Shape, []int{rows, columns}) {
		return nil, matrix.Matrix{}, fmt.Errorf("%s has shape %v; want %d x %d, as the config has it",
			filepath.Join(run.Dir(), rundir.CodesFile), f.Shape, rows, columns)
	}
	return encoded, metrics.NewMatrix(rows, columns, f.Data), nil
}
