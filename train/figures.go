package train

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/decode"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/report"
	"github.com/unravel-ml/unravel/train/rundir"
)

// figure is a picture or animation of a finished run.
type figure struct {
	name, caption string
	moves         bool                    // a GIF file, which the report leaves out
	codes         bool                    // whether it shows codes; runs without codes lack it
	draw          func(w io.Writer) error // writes nothing if it does not apply to the model or data set
}

// figures lists the pictures of a run.
func (e *Experiment) figures(codes matrix.Matrix, results []metrics.Result, names []report.LossNames, log []rundir.Line) []figure {
	on := func(draw func(w io.Writer, codes matrix.Matrix) error) func(w io.Writer) error {
		return func(w io.Writer) error { return draw(w, codes) }
	}
	return []figure{
		{name: "losses", caption: "Losses, weighted sum and parts, means over epochs.",
			draw: func(w io.Writer) error { return report.LossCurves(w, e.title("Losses during training"), names, log) }},
		{name: "reconstructions", caption: "Images and their reconstructions.", codes: true, draw: on(e.drawReconstructions)},
		{name: "torus", caption: "The circles of the latent space against the true factors.", codes: true, draw: on(e.drawTorus)},
		{name: "spheres", caption: "The spheres of the latent space, in colours of the directions of an axis of the object that they follow; the key is beside them.",
			codes: true, draw: on(e.drawSpheres)},
		{name: "sphere-map", caption: "Decoded images while the code moves over the first sphere.", codes: true, draw: on(e.drawSphereMap)},
		{name: "codes", caption: "Pairs of code columns before and after training, in colours that the factors mix: the first three are red, green and blue.",
			codes: true, draw: on(e.drawCodes)},
		{name: "embedding", caption: "Codes along their first two principal components, in the colours of each factor.", codes: true, draw: on(e.drawEmbedding)},
		{name: "retrieval", caption: "Some images and those with the nearest codes, by cosine distance; marks tell which factors they share.", codes: true,
			draw: on(e.drawRetrieval)},
		{name: "med", caption: "Mutual information of code columns and factors, and the columns that MED selects.", codes: true,
			draw: func(w io.Writer) error { return e.drawMED(w, codes, results) }},
		{name: componentsFigure, caption: "Codes of the stage before: true dimensions, components before merging and after it, and each component alone.",
			draw: e.drawComponents},
		{name: "hierarchy", caption: "The hierarchy of the codes.", draw: e.drawHierarchy},
		{name: "paths", caption: "Decoded images while one dimension moves, for every path through the hierarchy.", codes: true, draw: on(e.drawPaths)},
		{name: "histograms", caption: "Every true dimension (rows) against every code column, where both are active, and its part of R4_c if that is measured.",
			codes: true, draw: func(w io.Writer) error { return e.drawHistograms(w, codes, results) }},
		{name: "traversals", caption: "Decoded images while one part of the code moves and the rest is fixed.", codes: true, draw: on(e.drawTraversals)},
		{name: "traversals", moves: true, caption: "The same, as an animation.", codes: true, draw: on(e.drawAnimation)},
	}
}

// Caption describes a figure of a run in words.
type Caption struct {
	Name    string // file name in the folder of figures
	Caption string
}

// FigureCaptions lists the figures of runs, in the order on their pages.
func FigureCaptions() []Caption {
	var list []Caption
	for _, f := range new(Experiment).figures(matrix.Matrix{}, nil, nil, nil) {
		list = append(list, Caption{path.Base(f.file()), f.caption})
	}
	return list
}

// title names the content of a figure and its run.
func (e *Experiment) title(what string) string { return what + " of " + e.Config.Name }

// draw draws a run's pictures into its folder and returns them for the report.
func (s *session) draw(codes matrix.Matrix, results []metrics.Result) ([]report.Figure, error) {
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
		file := f.file()
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
		if f.moves {
			continue
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

// shown returns the input of figures: the codes of some images, with their factors.
func (e *Experiment) shown(codes matrix.Matrix) *metrics.Input {
	images := report.Shown(codes.Rows)
	some := matrix.Matrix{Rows: len(images), Cols: codes.Cols}
	for _, i := range images {
		some.Data = append(some.Data, codes.Row(i)...)
	}
	return e.InputOf(some, images)
}

// circles lists the first column of each circle of the latent space.
func (e *Experiment) circles() []int {
	var list []int
	for _, space := range e.Model.Spaces() {
		if space.Circle {
			list = append(list, space.First)
		}
	}
	return list
}

// spheres lists the spheres of the latent space, with how they follow the poses of codes.
func (e *Experiment) spheres(in *metrics.Input) []report.Sphere {
	var list []report.Sphere
	for _, space := range e.Model.Spaces() {
		if space.Sphere {
			list = append(list, report.SphereOf(in, space.First))
		}
	}
	return list
}

// decoder returns the model's decoder for figures.
func (e *Experiment) decoder() report.Decoder {
	h, w, c := e.Data.ImageShape()
	return report.Decoder{Decode: e.Coder.Decode, Height: h, Width: w, Channels: c}
}

// drawReconstructions decodes the codes of 16 images spread over the data set.
func (e *Experiment) drawReconstructions(w io.Writer, codes matrix.Matrix) error {
	if !e.Coder.Decodes() {
		return nil
	}
	return e.reconstructionsOf(w, codes, scattered(e.Data.Len(), 16), func(row int) int { return row })
}

// scattered returns count of n indices that do not follow the grid of factors: multiples of the golden section.
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
func (e *Experiment) drawTorus(w io.Writer, codes matrix.Matrix) error {
	circles := e.circles()
	if len(circles) == 0 {
		return nil
	}
	return report.LatentTorus(w, e.title("Angles of the circular factors and of the latent circles"), e.shown(codes), circles)
}

// drawSpheres draws the directions of codes on the spheres of the latent space.
func (e *Experiment) drawSpheres(w io.Writer, codes matrix.Matrix) error {
	in := e.shown(codes)
	return report.LatentSpheres(w, e.title("Codes on the latent spheres"), in, e.spheres(in))
}

// drawSphereMap starts from the code of the first image.
func (e *Experiment) drawSphereMap(w io.Writer, codes matrix.Matrix) error {
	if !e.Coder.Decodes() {
		return nil
	}
	return report.SphereMap(w, codes.Row(0), e.spheres(e.shown(codes)), e.decoder())
}

// drawCodes shows the codes of a space without circles, as initialised and as trained.
func (e *Experiment) drawCodes(w io.Writer, codes matrix.Matrix) error {
	if len(e.circles()) > 0 || codes.Cols < 2 {
		return nil
	}
	before, err := e.initialCodes(report.Shown(codes.Rows))
	if err != nil {
		return err
	}
	return report.TrainedCodes(w, e.title("Pairs of code columns before and after training"), before, e.shown(codes))
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

// componentsFigure is the figure of the components found by the stage before training.
const componentsFigure = "components"

// drawComponents copies the picture drawn when the components were found.
func (e *Experiment) drawComponents(w io.Writer) error {
	_, err := w.Write(e.components)
	return err
}

// keepComponents stores the picture of the components, or reads the picture of an earlier session.
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

// file returns the name of the figure's file in a run's folder.
func (f figure) file() string {
	if f.moves {
		return rundir.FiguresDir + "/" + f.name + ".gif"
	}
	return figureFile(f.name)
}

// figureFile returns the name of a picture's file in a run's folder.
func figureFile(name string) string { return rundir.FiguresDir + "/" + name + ".png" }

// drawHierarchy draws the hierarchy of the codes as a tree.
func (e *Experiment) drawHierarchy(w io.Writer) error {
	m, ok := e.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.Hierarchy(w, e.title("Hierarchy of the codes"), m.Hierarchy(), hierarchy.Labels{})
}

// drawPaths draws the traversals of a hierarchical model.
func (e *Experiment) drawPaths(w io.Writer, codes matrix.Matrix) error {
	m, ok := e.Model.(models.Hierarchical)
	if !ok || !e.Coder.Decodes() {
		return nil
	}
	return report.PathTraversals(w, codes, m.Hierarchy(), e.decoder())
}

// drawHistograms draws the histograms of hierarchical data.
func (e *Experiment) drawHistograms(w io.Writer, codes matrix.Matrix, results []metrics.Result) error {
	in := e.Input(codes)
	if in.TrueHierarchy == nil {
		return nil
	}
	return report.CodeHistograms(w, e.title("True dimensions against code columns"), in, results)
}

// drawTraversals starts from the code of the first image.
func (e *Experiment) drawTraversals(w io.Writer, codes matrix.Matrix) error {
	if _, ok := e.Model.(models.Hierarchical); ok || !e.Coder.Decodes() {
		return nil
	}
	return report.CodeTraversals(w, decode.Of(e.Model, codes), e.spheres(e.shown(codes)), e.decoder())
}

// drawAnimation animates the traversals from the code of the first image.
func (e *Experiment) drawAnimation(w io.Writer, codes matrix.Matrix) error {
	if !e.Coder.Decodes() {
		return nil
	}
	return report.AnimatedTraversals(w, decode.Of(e.Model, codes), e.decoder())
}

// drawEmbedding shows the principal components of codes without circles and spheres. Circles and spheres have other
// figures.
func (e *Experiment) drawEmbedding(w io.Writer, codes matrix.Matrix) error {
	if _, ok := e.Model.(models.Hierarchical); ok || codes.Cols < 2 {
		return nil
	}
	for _, s := range e.Model.Spaces() {
		if s.Circle || s.Sphere {
			return nil
		}
	}
	return report.Embedding(w, e.title("Principal components of the codes"), e.shown(codes))
}

// drawRetrieval shows nearest neighbours by the codes of an encoder without a decoder.
func (e *Experiment) drawRetrieval(w io.Writer, codes matrix.Matrix) error {
	if e.Coder.Decodes() {
		return nil
	}
	height, width, channels := e.Data.ImageShape()
	images := report.Shown(codes.Rows)
	return report.Retrieval(w, e.title("Nearest neighbours by the codes"), e.shown(codes), report.Images{Height: height, Width: width, Channels: channels,
		Pixels: func(rows []int) []float32 {
			list := make([]int, len(rows))
			for i, r := range rows {
				list[i] = images[r]
			}
			pixels := make([]float32, len(list)*height*width*channels)
			datasets.Fill(e.Data, list, pixels)
			return pixels
		}})
}

// drawMED draws the map of the metric med, for an encoder without a decoder or a run that measures med.
func (e *Experiment) drawMED(w io.Writer, codes matrix.Matrix, results []metrics.Result) error {
	if e.Coder.Decodes() && !slices.ContainsFunc(results, func(r metrics.Result) bool { return r.Name == "med" }) {
		return nil
	}
	chosen, err := metrics.Named("med")
	if err != nil {
		return err
	}
	for _, c := range e.Final() {
		if c.Name == "med" {
			chosen = c
		}
	}
	in := e.shown(codes)
	if metrics.Suits(in, []metrics.Choice{chosen}) != nil {
		return nil
	}
	g, selected, err := chosen.Value.(*metrics.MED).Select(context.Background(), in)
	if err != nil { // for example, all factors are constant
		return nil
	}
	h := report.SelectedHeat(g, selected)
	h.Title = e.title(h.Title)
	return h.WritePNG(w)
}
