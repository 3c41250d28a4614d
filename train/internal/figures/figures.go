// Package figures draws the figures of a run, and decoded images during training.
package figures

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/numeric"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/decode"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/internal/report/web"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// Figure is a picture or animation of a finished run.
type Figure struct {
	Name, Caption string
	Moves         bool                    // a GIF file, which is not part of the report
	Codes         bool                    // the figure shows codes; runs without stored codes do not have it
	Draw          func(w io.Writer) error // writes nothing if the figure does not apply to the model or data set
}

// Drawing has the codes of a run's images, and functions for the facts that figures need.
type Drawing struct {
	Run     string // name of the run
	Data    datasets.Dataset
	Model   models.Model
	Coder   Decoder
	Codes   matrix.Matrix // a row for each image
	Images  []int         // the images of the rows; nil: all, in order
	Results []metrics.Result

	Final      func() []metrics.Choice                   // metrics at the end
	Input      func(codes matrix.Matrix) *metrics.Input  // input of final metrics
	InputOf    func(matrix.Matrix, []int) *metrics.Input // input of metrics for some images
	Initial    func(images []int) (matrix.Matrix, error) // codes before training
	Components []byte                                    // picture of the components that the earlier stage found
}

// Decoder decodes codes.
type Decoder interface {
	Decodes() bool
	Decode(codes []float32) ([]float32, error)
}

func (d *Drawing) Figures(names []report.LossNames, log []rundir.Line) []Figure {
	return []Figure{
		{Name: "losses", Caption: "Losses: the weighted sum and its parts, as the mean of each epoch.",
			Draw: func(w io.Writer) error { return report.LossCurves(w, d.title("Losses during training"), names, log) }},
		{Name: "reconstructions", Caption: "Images and their reconstructions.",
			Codes: true, Draw: d.decoding(d.drawReconstructions)},
		{Name: "torus", Caption: "The circles of the latent space against the true factors.", Codes: true, Draw: d.drawTorus},
		{Name: "spheres", Caption: "The spheres of the latent space, coloured by the direction of the object's axis that they follow, with a key.",
			Codes: true, Draw: func(w io.Writer) error {
				in := d.Shown()
				return report.LatentSpheres(w, d.title("Codes on the latent spheres"), in, d.spheres(in))
			}},
		{Name: "sphere-map", Caption: "Decoded images as the code moves over the first sphere.", Codes: true,
			Draw: d.decoding(func(w io.Writer) error { // from the code of the first image
				return report.SphereMap(w, d.Codes.Row(0), d.spheres(d.Shown()), d.decoder())
			})},
		{Name: "codes", Caption: "Pairs of code columns before and after training, in colours mixed from the factors: the first three are red, green and blue.",
			Codes: true, Draw: d.drawCodes},
		{Name: "embedding", Caption: "Codes along their first two principal components, coloured by each factor.",
			Codes: true, Draw: d.drawEmbedding},
		{Name: "retrieval", Caption: "Some images and the images with the nearest codes by cosine distance; marks show equal factors.", Codes: true,
			Draw: d.drawRetrieval},
		{Name: "med", Caption: "Mutual information of code columns and factors, and the columns that MED selects.",
			Codes: true, Draw: d.drawMED},
		{Name: ComponentsName, Caption: "Codes of the earlier stage: true dimensions, components before and after merging, and each component separately.",
			Draw: rundir.Bytes(d.Components)},
		{Name: "hierarchy", Caption: "The hierarchy of the codes.", Draw: d.drawHierarchy},
		{Name: "paths", Caption: "Decoded images as one dimension varies, for every path through the hierarchy.",
			Codes: true, Draw: d.decoding(d.drawPaths)},
		{Name: "histograms", Caption: "Every true dimension (rows) against every code column, where both are active, and its contribution to R4_c if R4_c was measured.",
			Codes: true, Draw: d.drawHistograms},
		{Name: "traversals", Caption: "Decoded images as one part of the code varies and the rest is fixed.",
			Codes: true, Draw: d.decoding(d.drawTraversals)},
		{Name: "traversals", Moves: true, Caption: "The same, as an animation.", Codes: true,
			Draw: d.decoding(func(w io.Writer) error {
				return report.AnimatedTraversals(w, decode.Of(d.Model, d.Codes), d.decoder())
			})},
	}
}

// decoding wraps a figure that needs a decoder: without one, it draws nothing.
func (d *Drawing) decoding(draw func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if !d.Coder.Decodes() {
			return nil
		}
		return draw(w)
	}
}

func (d *Drawing) title(what string) string { return what + " of " + d.Run }

// Shown returns the input of figures: the codes of some images, with their factors.
func (d *Drawing) Shown() *metrics.Input {
	rows := report.Shown(d.Codes.Rows)
	return d.InputOf(Rows(d.Codes, rows), Gather(d.Images, rows))
}

// circles lists the first column of each circle of the latent space.
func (d *Drawing) circles() []int {
	var list []int
	for _, space := range d.Model.Spaces() {
		if space.Circle {
			list = append(list, space.First)
		}
	}
	return list
}

// spheres lists the spheres of the latent space, and how they follow the poses of the images.
func (d *Drawing) spheres(in *metrics.Input) []report.Sphere {
	var list []report.Sphere
	for _, space := range d.Model.Spaces() {
		if space.Sphere {
			list = append(list, report.SphereOf(in, space.First))
		}
	}
	return list
}

func (d *Drawing) decoder() report.Decoder {
	h, w, c := d.Data.ImageShape()
	return report.Decoder{Decode: d.Coder.Decode, Height: h, Width: w, Channels: c}
}

// drawReconstructions draws the reconstructions of 16 images spread over the data set.
func (d *Drawing) drawReconstructions(w io.Writer) error {
	rows := scattered(d.Codes.Rows, 16)
	var codes []float32
	for _, row := range rows {
		for _, v := range d.Codes.Row(row) {
			codes = append(codes, float32(v))
		}
	}
	h, width, c := d.Data.ImageShape()
	inputs := make([]float32, len(rows)*h*width*c)
	datasets.Fill(d.Data, Gather(d.Images, rows), inputs)
	outputs, err := d.Coder.Decode(codes)
	if err != nil {
		return err
	}
	return report.Reconstructions(w, "Images and their reconstructions", inputs, outputs, h, width, c)
}

// scattered returns count of n indices that are not aligned with the grid of factors: multiples of the golden ratio.
func scattered(n, count int) []int {
	list := make([]int, min(n, count))
	for i := range list {
		list[i] = int(math.Mod(float64(i+1)*math.Phi, 1) * float64(n))
	}
	return list
}

func (d *Drawing) drawTorus(w io.Writer) error {
	circles := d.circles()
	if len(circles) == 0 {
		return nil
	}
	return report.LatentTorus(w, d.title("Angles of the circular factors and of the latent circles"), d.Shown(), circles)
}

// drawCodes draws the codes of a space without circles, before and after training.
func (d *Drawing) drawCodes(w io.Writer) error {
	if len(d.circles()) > 0 || d.Codes.Cols < 2 {
		return nil
	}
	before, err := d.Initial(report.Shown(d.Codes.Rows))
	if err != nil {
		return err
	}
	return report.TrainedCodes(w, d.title("Pairs of code columns before and after training"), before, d.Shown())
}

// ComponentsName is the figure of the components found by the stage before training.
const ComponentsName = "components"

func (f Figure) File() string {
	if f.Moves {
		return rundir.FiguresDir + "/" + f.Name + ".gif"
	}
	return FileOf(f.Name)
}

// FileOf returns the name of a picture's file in a run's folder.
func FileOf(name string) string { return rundir.FiguresDir + "/" + name + ".png" }

func (d *Drawing) drawHierarchy(w io.Writer) error {
	m, ok := d.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.Hierarchy(w, d.title("Hierarchy of the codes"), m.Hierarchy(), hierarchy.Labels{})
}

func (d *Drawing) drawPaths(w io.Writer) error {
	m, ok := d.Model.(models.Hierarchical)
	if !ok {
		return nil
	}
	return report.PathTraversals(w, d.Codes, m.Hierarchy(), d.decoder())
}

func (d *Drawing) drawHistograms(w io.Writer) error {
	in := d.Input(d.Codes)
	if in.TrueHierarchy == nil {
		return nil
	}
	return report.CodeHistograms(w, d.title("True dimensions against code columns"), in, d.Results)
}

// drawTraversals starts from the code of the first image.
func (d *Drawing) drawTraversals(w io.Writer) error {
	if _, ok := d.Model.(models.Hierarchical); ok {
		return nil
	}
	return report.CodeTraversals(w, decode.Of(d.Model, d.Codes), d.spheres(d.Shown()), d.decoder())
}

// drawEmbedding draws the principal components of codes without circles and spheres, which have other figures.
func (d *Drawing) drawEmbedding(w io.Writer) error {
	if _, ok := d.Model.(models.Hierarchical); ok || d.Codes.Cols < 2 {
		return nil
	}
	for _, s := range d.Model.Spaces() {
		if s.Circle || s.Sphere {
			return nil
		}
	}
	return report.Embedding(w, d.title("Principal components of the codes"), d.Shown())
}

// drawRetrieval draws nearest neighbours for an encoder without a decoder.
func (d *Drawing) drawRetrieval(w io.Writer) error {
	if d.Coder.Decodes() {
		return nil
	}
	height, width, channels := d.Data.ImageShape()
	images := report.Shown(d.Codes.Rows)
	return report.Retrieval(w, d.title("Nearest neighbours by the codes"), d.Shown(),
		report.Images{Height: height, Width: width, Channels: channels,
			Pixels: func(rows []int) []float32 {
				pixels := make([]float32, len(rows)*height*width*channels)
				datasets.Fill(d.Data, Gather(images, rows), pixels)
				return pixels
			}})
}

// drawMED draws the matrix of the metric med, for an encoder without a decoder or a run that measures med.
func (d *Drawing) drawMED(w io.Writer) error {
	if d.Coder.Decodes() && !slices.ContainsFunc(d.Results, func(r metrics.Result) bool { return r.Name == "med" }) {
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
	in := d.Shown()
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

// Decoded draws the reconstructions and the traversals.
func (d *Drawing) Decoded(ctx context.Context) (list []report.Figure, err error) {
	traversals := d.drawTraversals
	if _, ok := d.Model.(models.Hierarchical); ok {
		traversals = d.drawPaths
	}
	for _, f := range []struct {
		name, caption string
		draw          func(w io.Writer) error
	}{
		{"reconstructions", "Images and their reconstructions.", d.drawReconstructions},
		{"traversals", "Decoded images as one part of the code varies and the rest is fixed.", traversals},
	} {
		if ctx.Err() != nil {
			return nil, ctx.Err()
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

// Numbers of images on a page with an interactive decoder: starting images, and images whose codes give the ranges of
// the controls.
const exploreStarts, exploreRanged = 24, 5000

// Explore returns the data of a page with the model's interactive decoder, or nil without a decoder or codes. of maps
// the images to indices in the config's data set; nil: the identity.
func (d *Drawing) Explore(of []int, source weights.Source) (*web.Explore, error) {
	if !d.Coder.Decodes() || d.Codes.Rows == 0 {
		return nil, nil
	}
	ranged, starts := Apart(d.Codes.Rows, exploreRanged), Apart(d.Codes.Rows, exploreStarts)
	known, shown := Rows(d.Codes, ranged), Gather(d.Images, starts)
	x := report.Explored{Codes: decode.Of(d.Model, known), At: Rows(d.Codes, starts), Starts: Gather(of, shown),
		Names: report.FileNames(d.Data, shown), Decoder: d.decoder(),
		Followed: report.FollowedBy(d.InputOf(known, Gather(d.Images, ranged)))}
	x.Pixels = make([]float32, len(shown)*x.Decoder.Height*x.Decoder.Width*x.Decoder.Channels)
	datasets.Fill(d.Data, shown, x.Pixels)
	var err error
	if x.Network, err = source.Operations(weights.Decoder); err != nil {
		x.Network, x.Reason = nil, err.Error()
	}
	return report.Explore(x)
}

// Gather returns the elements of a list at the given indices. A nil list stands for 0, 1, 2, ...
func Gather(list, at []int) []int {
	if list == nil {
		return at
	}
	some := make([]int, len(at))
	for i, k := range at {
		some[i] = list[k]
	}
	return some
}

// Apart returns count of n indices in ascending order that are not aligned with the grid of factors, or all n.
func Apart(n, count int) []int {
	if n > count {
		list := scattered(n, count)
		slices.Sort(list)
		return slices.Compact(list)
	}
	return numeric.UpTo(n)
}

func Rows(m matrix.Matrix, rows []int) matrix.Matrix {
	return matrix.Matrix{Rows: len(rows), Cols: m.Cols, Data: m.Take(rows)}
}
