package train

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"

	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/report"
	"github.com/unravel-ml/unravel/rundir"
)

// figure is a picture of a finished run.
type figure struct {
	name, caption string
	codes         bool                    // whether it shows codes, so that a run that keeps none lacks it
	draw          func(w io.Writer) error // writes nothing where it does not apply to the model or data set
}

// figures lists the pictures of a run.
func (e *Experiment) figures(codes metrics.Matrix, results []metrics.Result, names []report.LossNames, log []rundir.Line) []figure {
	name := e.Config.Name
	return []figure{
		{"losses", "Losses, weighted sum and parts, means over epochs.", false, func(w io.Writer) error { return report.LossCurves(w, name, names, log) }},
		{"reconstructions", "Images and their reconstructions.", true, func(w io.Writer) error { return e.drawReconstructions(w, codes) }},
		{"torus", "The circles of the latent space against the true factors.", true, func(w io.Writer) error { return e.drawTorus(w, codes) }},
		{"spheres", "The spheres of the latent space, in colours of the directions of an axis of the object that they follow; the key is beside them.", true,
			func(w io.Writer) error { return e.drawSpheres(w, codes) }},
		{"sphere-map", "Decoded images while the code moves over the first sphere.", true, func(w io.Writer) error { return e.drawSphereMap(w, codes) }},
		{"codes", "Pairs of code columns before and after training, in colours that the factors mix: the first three are red, green and blue.", true,
			func(w io.Writer) error { return e.drawCodes(w, codes) }},
		{componentsFigure, "Codes of the stage before: true dimensions, components before merging and after it, and each component alone.", false, e.drawComponents},
		{"hierarchy", "The hierarchy of the codes.", false, e.drawHierarchy},
		{"paths", "Decoded images while one dimension moves, for every path through the hierarchy.", true, func(w io.Writer) error { return e.drawPaths(w, codes) }},
		{"histograms", "Every true dimension (rows) against every code column, where both are active, and its part of R4_c if that is measured.", true,
			func(w io.Writer) error { return e.drawHistograms(w, codes, results) }},
		{"traversals", "Decoded images while one part of the code moves and the rest is fixed.", true, func(w io.Writer) error { return e.drawTraversals(w, codes) }},
	}
}

// draw draws a run's pictures into its folder and returns them for the report.
func (s *session) draw(codes metrics.Matrix, results []metrics.Result) ([]report.Figure, error) {
	e := s.experiment
	log, err := s.lines()
	if err != nil {
		return nil, err
	}
	all := e.figures(codes, results, s.lossNames(), log)
	e.Progress.Begin("drawing", len(all))
	defer e.Progress.End()
	var list []report.Figure
	for i, f := range all {
		e.Progress.Step(i, f.name)
		file := figureFile(f.name)
		if codes.Data == nil && f.codes {
			if err := s.forget(file); err != nil {
				return nil, err
			}
			continue
		}
		var png bytes.Buffer
		if err := f.draw(&png); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.name, err)
		}
		if png.Len() == 0 {
			continue
		}
		if err := s.store.Write(file, rundir.Bytes(png.Bytes())); err != nil {
			return nil, err
		}
		if err := s.logs.figure(s.loop.Step(), f.name, f.caption, png.Bytes()); err != nil {
			return nil, err
		}
		list = append(list, report.Figure{Name: f.name, Caption: f.caption, PNG: png.Bytes()})
	}
	return list, nil
}

// lines reads the run's log.
func (s *session) lines() (log []rundir.Line, err error) {
	err = s.store.ReadLog(func(line rundir.Line) { log = append(log, line) })
	return log, err
}

// lossNames lists the losses of every objective in the order of the config.
func (s *session) lossNames() (names []report.LossNames) {
	for _, o := range s.loop.Losses() {
		names = append(names, report.LossNames{Objective: o.Objective, Names: o.Names})
	}
	return names
}

// shown is what figures of codes show: the codes of some of the images and what is known of these.
func (e *Experiment) shown(codes metrics.Matrix) *metrics.Input {
	images := report.Shown(codes.Rows)
	some := metrics.Matrix{Rows: len(images), Cols: codes.Cols}
	for _, i := range images {
		some.Data = append(some.Data, codes.Row(i)...)
	}
	return e.InputOf(some, images)
}

// circles lists the first columns of the circles of the latent space.
func (e *Experiment) circles() []int {
	var list []int
	for _, space := range e.Model.Spaces() {
		if space.Circle {
			list = append(list, space.First)
		}
	}
	return list
}

// spheres lists the spheres of the latent space, as they follow the poses of codes.
func (e *Experiment) spheres(in *metrics.Input) []report.Sphere {
	var list []report.Sphere
	for _, space := range e.Model.Spaces() {
		if space.Sphere {
			list = append(list, report.SphereOf(in, space.First))
		}
	}
	return list
}

// decoder is the model's decoder as figures use it.
func (e *Experiment) decoder() report.Decoder {
	h, w, c := e.Data.ImageShape()
	return report.Decoder{Decode: e.Coder.Decode, Height: h, Width: w, Channels: c}
}

// drawReconstructions decodes the codes of 16 images spread over the data set.
func (e *Experiment) drawReconstructions(w io.Writer, codes metrics.Matrix) error {
	if !e.Coder.Decodes() {
		return nil
	}
	return e.reconstructionsOf(w, codes, scattered(e.Data.Len(), 16), func(row int) int { return row })
}

// scattered returns count indices of n that do not follow the grid of factors: multiples of the golden section.
func scattered(n, count int) []int {
	list := make([]int, min(n, count))
	for i := range list {
		list[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(n))
	}
	return list
}

func appendRow(dst []float32, row []float64) []float32 {
	for _, v := range row {
		dst = append(dst, float32(v))
	}
	return dst
}

// drawTorus draws the angles of the circles of the latent space.
func (e *Experiment) drawTorus(w io.Writer, codes metrics.Matrix) error {
	circles := e.circles()
	if len(circles) == 0 {
		return nil
	}
	return report.LatentTorus(w, e.Config.Name+": latent angles", e.shown(codes), circles)
}

// drawSpheres draws the directions of codes on the spheres of the latent space.
func (e *Experiment) drawSpheres(w io.Writer, codes metrics.Matrix) error {
	in := e.shown(codes)
	return report.LatentSpheres(w, e.Config.Name+": latent spheres", in, e.spheres(in))
}

// drawSphereMap starts from the code of the first image.
func (e *Experiment) drawSphereMap(w io.Writer, codes metrics.Matrix) error {
	if !e.Coder.Decodes() {
		return nil
	}
	return report.SphereMap(w, codes.Row(0), e.spheres(e.shown(codes)), e.decoder())
}

// drawCodes shows the codes of a space without circles, as initialised and as trained.
func (e *Experiment) drawCodes(w io.Writer, codes metrics.Matrix) error {
	if len(e.circles()) > 0 || codes.Cols < 2 {
		return nil
	}
	before, err := e.initialCodes(report.Shown(codes.Rows))
	if err != nil {
		return err
	}
	return report.TrainedCodes(w, e.Config.Name+": codes", before, e.shown(codes))
}

// initialCodes are the codes of images before training, which the seed repeats.
func (e *Experiment) initialCodes(images []int) (metrics.Matrix, error) {
	data := e.modelData()
	m, err := e.Config.Model.Value.New(data, e.Config.Seed)
	if err != nil {
		return metrics.Matrix{}, err
	}
	coder, err := NewCoder(m, data)
	if err != nil {
		return metrics.Matrix{}, err
	}
	coder.views = e.Config.Views
	codes, err := coder.Encode(context.Background(), e.Data, images)
	return metrics.NewMatrix(len(images), coder.Width(), codes), err
}

// componentsFigure is the figure of what the stage before training found.
const componentsFigure = "components"

// drawComponents copies the picture that was drawn when the components were found.
func (e *Experiment) drawComponents(w io.Writer) error {
	_, err := w.Write(e.components)
	return err
}

// keepComponents stores the picture of the components, or reads that of an earlier session.
func (s *session) keepComponents() error {
	file := figureFile(componentsFigure)
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

// figureFile is the file of a figure in a run's folder.
func figureFile(name string) string { return rundir.FiguresDir + "/" + name + ".png" }

// drawHierarchy draws the hierarchy of the codes as a tree.
func (e *Experiment) drawHierarchy(w io.Writer) error {
	m, ok := e.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.Hierarchy(w, e.Config.Name+": hierarchy of the codes", m.Hierarchy(), hierarchy.Labels{})
}

// drawPaths draws the traversals of a hierarchical model.
func (e *Experiment) drawPaths(w io.Writer, codes metrics.Matrix) error {
	m, ok := e.Model.(models.Hierarchical)
	if !ok || !e.Coder.Decodes() {
		return nil
	}
	return report.PathTraversals(w, codes, m.Hierarchy(), e.decoder())
}

// drawHistograms draws the histograms of hierarchical data.
func (e *Experiment) drawHistograms(w io.Writer, codes metrics.Matrix, results []metrics.Result) error {
	in := e.Input(codes)
	if in.TrueHierarchy == nil {
		return nil
	}
	return report.CodeHistograms(w, e.Config.Name+": dimensions and codes", in, results)
}

// drawTraversals starts from the code of the first image.
func (e *Experiment) drawTraversals(w io.Writer, codes metrics.Matrix) error {
	if _, ok := e.Model.(models.Hierarchical); ok || !e.Coder.Decodes() {
		return nil
	}
	return report.CodeTraversals(w, decode.Of(e.Model, codes), e.spheres(e.shown(codes)), e.decoder())
}
