package train

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/rundir"
)

// figure is a picture or animation of a finished run.
type figure struct {
	name, caption string
	moves         bool                    // a GIF file, which the report leaves out
	codes         bool                    // whether it shows codes; runs without codes lack it
	draw          func(w io.Writer) error // writes nothing if it does not apply to the model or data set
}

// drawing draws the codes of an experiment's images.
type drawing struct {
	*Experiment
	codes   matrix.Matrix // a row for each image
	images  []int         // the rows' images; nil: all, in order
	results []metrics.Result
}

// figures lists the pictures of a run.
func (d *drawing) figures(names []report.LossNames, log []rundir.Line) []figure {
	return []figure{
		{name: "losses", caption: "Losses, weighted sum and parts, means over epochs.",
			draw: func(w io.Writer) error { return report.LossCurves(w, d.title("Losses during training"), names, log) }},
		{name: "reconstructions", caption: "Images and their reconstructions.", codes: true, draw: d.drawReconstructions},
		{name: "torus", caption: "The circles of the latent space against the true factors.", codes: true, draw: d.drawTorus},
		{name: "spheres", caption: "The spheres of the latent space, in colours of the directions of an axis of the object that they follow; the key is next to them.",
			codes: true, draw: d.drawSpheres},
		{name: "sphere-map", caption: "Decoded images while the code moves over the first sphere.", codes: true, draw: d.drawSphereMap},
		{name: "codes", caption: "Pairs of code columns before and after training, in colours that the factors mix: the first three are red, green and blue.",
			codes: true, draw: d.drawCodes},
		{name: "embedding", caption: "Codes along their first two principal components, in the colours of each factor.", codes: true, draw: d.drawEmbedding},
		{name: "retrieval", caption: "Some images and the images with the nearest codes by cosine distance; marks show shared factors.", codes: true,
			draw: d.drawRetrieval},
		{name: "med", caption: "Mutual information of code columns and factors, and the columns that MED selects.", codes: true,
			draw: d.drawMED},
		{name: componentsFigure, caption: "Codes of the stage before: true dimensions, components before merging and after it, and each component alone.",
			draw: d.drawComponents},
		{name: "hierarchy", caption: "The hierarchy of the codes.", draw: d.drawHierarchy},
		{name: "paths", caption: "Decoded images while one dimension moves, for every path through the hierarchy.", codes: true, draw: d.drawPaths},
		{name: "histograms", caption: "Every true dimension (rows) against every code column, where both are active, and its part of R4_c if that is measured.",
			codes: true, draw: d.drawHistograms},
		{name: "traversals", caption: "Decoded images while one part of the code moves and the rest is fixed.", codes: true, draw: d.drawTraversals},
		{name: "traversals", moves: true, caption: "The same, as an animation.", codes: true, draw: d.drawAnimation},
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
	for _, f := range new(drawing).figures(nil, nil) {
		list = append(list, Caption{path.Base(f.file()), f.caption})
	}
	return list
}

// title names the content of a figure and its run.
func (d *drawing) title(what string) string { return what + " of " + d.Config.Name }

// draw draws a run's pictures into its folder and returns them for the report.
func (s *session) draw(codes matrix.Matrix, results []metrics.Result) ([]report.Figure, error) {
	e := s.experiment
	log, err := s.lines()
	if err != nil {
		return nil, err
	}
	all := (&drawing{Experiment: e, codes: codes, results: results}).figures(s.lossNames(), log)
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
	for _, o := range s.experiment.losses(s.loop) {
		names = append(names, report.LossNames{Objective: o.Objective, Names: o.Names})
	}
	return names
}

// shown returns the input of figures: the codes of some images, with their factors.
func (d *drawing) shown() *metrics.Input {
	rows := report.Shown(d.codes.Rows)
	return d.InputOf(selected(d.codes, rows), gathered(d.images, rows))
}

// circles lists the first column of each circle of the latent space.
func (d *drawing) circles() []int {
	var list []int
	for _, space := range d.Model.Spaces() {
		if space.Circle {
			list = append(list, space.First)
		}
	}
	return list
}

// spheres lists the spheres of the latent space, with how they follow the poses of codes.
func (d *drawing) spheres(in *metrics.Input) []report.Sphere {
	var list []report.Sphere
	for _, space := range d.Model.Spaces() {
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
func (d *drawing) drawReconstructions(w io.Writer) error {
	if !d.Coder.Decodes() {
		return nil
	}
	rows := scattered(d.codes.Rows, 16)
	var codes []float32
	for _, row := range rows {
		codes = appendRow(codes, d.codes.Row(row))
	}
	h, width, c := d.Data.ImageShape()
	inputs := make([]float32, len(rows)*h*width*c)
	datasets.Fill(d.Data, gathered(d.images, rows), inputs)
	outputs, err := d.Coder.Decode(codes)
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "Images and their reconstructions", inputs, outputs, h, width, c)
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
func (d *drawing) drawTorus(w io.Writer) error {
	circles := d.circles()
	if len(circles) == 0 {
		return nil
	}
	return report.LatentTorus(w, d.title("Angles of the circular factors and of the latent circles"), d.shown(), circles)
}

// drawSpheres draws the directions of codes on the spheres of the latent space.
func (d *drawing) drawSpheres(w io.Writer) error {
	in := d.shown()
	return report.LatentSpheres(w, d.title("Codes on the latent spheres"), in, d.spheres(in))
}

// drawSphereMap starts from the code of the first image.
func (d *drawing) drawSphereMap(w io.Writer) error {
	if !d.Coder.Decodes() {
		return nil
	}
	return report.SphereMap(w, d.codes.Row(0), d.spheres(d.shown()), d.decoder())
}

// drawCodes shows the codes of a space without circles, as initialised and as trained.
func (d *drawing) drawCodes(w io.Writer) error {
	if len(d.circles()) > 0 || d.codes.Cols < 2 {
		return nil
	}
	before, err := d.initialCodes(report.Shown(d.codes.Rows))
	if err != nil {
		return err
	}
	return report.TrainedCodes(w, d.title("Pairs of code columns before and after training"), before, d.shown())
}

// initialCodes returns the codes of images before training. The seed determines them.
func (d *drawing) initialCodes(images []int) (matrix.Matrix, error) {
	data := d.modelData()
	m, err := d.Config.Model.Value.New(data, d.Config.Seed)
	if err != nil {
		return matrix.Matrix{}, err
	}
	coder, err := NewCoder(m, data)
	if err != nil {
		return matrix.Matrix{}, err
	}
	coder.views = d.Config.Views
	codes, err := coder.Encode(context.Background(), d.Data, images)
	return metrics.NewMatrix(len(images), coder.Width(), codes), err
}

// componentsFigure is the figure of the components found by the stage before training.
const componentsFigure = "components"

// drawComponents copies the picture drawn when the components were found.
func (d *drawing) drawComponents(w io.Writer) error {
	_, err := w.Write(d.components)
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
func (d *drawing) drawHierarchy(w io.Writer) error {
	m, ok := d.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.Hierarchy(w, d.title("Hierarchy of the codes"), m.Hierarchy(), hierarchy.Labels{})
}

// drawPaths draws the traversals of a hierarchical model.
func (d *drawing) drawPaths(w io.Writer) error {
	m, ok := d.Model.(models.Hierarchical)
	if !ok || !d.Coder.Decodes() {
		return nil
	}
	return report.PathTraversals(w, d.codes, m.Hierarchy(), d.decoder())
}

// drawHistograms draws the histograms of hierarchical data.
func (d *drawing) drawHistograms(w io.Writer) error {
	in := d.Input(d.codes)
	if in.TrueHierarchy == nil {
		return nil
	}
	return report.CodeHistograms(w, d.title("True dimensions against code columns"), in, d.results)
}

// drawTraversals starts from the code of the first image.
func (d *drawing) drawTraversals(w io.Writer) error {
	if _, ok := d.Model.(models.Hierarchical); ok || !d.Coder.Decodes() {
		return nil
	}
	return report.CodeTraversals(w, decode.Of(d.Model, d.codes), d.spheres(d.shown()), d.decoder())
}

// drawAnimation animates the traversals from the code of the first image.
func (d *drawing) drawAnimation(w io.Writer) error {
	if !d.Coder.Decodes() {
		return nil
	}
	return report.AnimatedTraversals(w, decode.Of(d.Model, d.codes), d.decoder())
}

// drawEmbedding shows the principal components of codes without circles and spheres. Circles and spheres have other
// figures.
func (d *drawing) drawEmbedding(w io.Writer) error {
	if _, ok := d.Model.(models.Hierarchical); ok || d.codes.Cols < 2 {
		return nil
	}
	for _, s := range d.Model.Spaces() {
		if s.Circle || s.Sphere {
			return nil
		}
	}
	return report.Embedding(w, d.title("Principal components of the codes"), d.shown())
}

// drawRetrieval shows nearest neighbours by the codes of an encoder without a decoder.
func (d *drawing) drawRetrieval(w io.Writer) error {
	if d.Coder.Decodes() {
		return nil
	}
	height, width, channels := d.Data.ImageShape()
	images := report.Shown(d.codes.Rows)
	return report.Retrieval(w, d.title("Nearest neighbours by the codes"), d.shown(), report.Images{Height: height, Width: width, Channels: channels,
		Pixels: func(rows []int) []float32 {
			list := make([]int, len(rows))
			for i, r := range rows {
				list[i] = images[r]
			}
			pixels := make([]float32, len(list)*height*width*channels)
			datasets.Fill(d.Data, list, pixels)
			return pixels
		}})
}

// drawMED draws the map of the metric med, for an encoder without a decoder or a run that measures med.
func (d *drawing) drawMED(w io.Writer) error {
	if d.Coder.Decodes() && !slices.ContainsFunc(d.results, func(r metrics.Result) bool { return r.Name == "med" }) {
		return nil
	}
	chosen, err := metrics.Named("med")
	if err != nil {
		return err
	}
	for _, c := range d.Final() {
		if c.Name == "med" {
			chosen = c
		}
	}
	in := d.shown()
	if metrics.Suits(in, []metrics.Choice{chosen}) != nil {
		return nil
	}
	g, selected, err := chosen.Value.(*metrics.MED).Select(context.Background(), in)
	if err != nil { // for example, all factors are constant
		return nil
	}
	h := report.SelectedHeat(g, selected)
	h.Title = d.title(h.Title)
	return h.WritePNG(w)
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
	images := apart(e.Data.Len(), previewImages)
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
	p.Figures, err = (&drawing{Experiment: e, codes: codes, images: images}).decoded(ctx)
	return p, err
}

// decoded draws the reconstructions and the traversals.
func (d *drawing) decoded(ctx context.Context) (list []Figure, err error) {
	traversals := d.drawTraversals
	if _, ok := d.Model.(models.Hierarchical); ok {
		traversals = d.drawPaths
	}
	for _, f := range []struct {
		name, caption string
		draw          func(w io.Writer) error
	}{
		{"reconstructions", "Images and their reconstructions.", d.drawReconstructions},
		{"traversals", "Decoded images while one part of the code moves and the rest is fixed.", traversals},
	} {
		if ctx.Err() != nil {
			return nil, ErrStopped
		}
		var png bytes.Buffer
		if err := f.draw(&png); err != nil {
			return nil, fmt.Errorf("figure %s: %w", f.name, err)
		}
		if png.Len() > 0 {
			list = append(list, Figure{Name: f.name, Caption: f.caption, PNG: png.Bytes()})
		}
	}
	return list, nil
}
