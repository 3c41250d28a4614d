package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
)

// Fit says how well a model with a decoder fits its images. It uses the codes that metrics see: posterior means and
// chosen options.
type Fit struct {
	Images         int      `json:"images"`               // number of training images used
	Reconstruction float64  `json:"reconstruction"`       // mean squared error of a pixel
	Variance       float64  `json:"variance"`             // variance of a pixel: the error of the mean image
	HeldOut        *float64 `json:"held_out,omitempty"`   // mean squared error of held-out images
	Assignment     *float64 `json:"assignment,omitempty"` // assignment loss of the chosen options
	Square         float64  `json:"square,omitempty"`     // mean square of a pixel; 0: unknown, or the pixels are real-valued
	Decoded        float64  `json:"decoded,omitempty"`    // mean square of a pixel of the reconstructions, if Square is known
	Converged      bool     `json:"converged"`            // whether the fields above are good enough
	Why            string   `json:"why,omitempty"`        // why training has not converged
}

// fitImages is the largest number of images for Fit.
const fitImages = 5000

// A model has not converged if it leaves a larger fraction of the variance, or assigns a larger fraction wrongly. A
// decoder with less than leastDecoded of the images' mean square is black: its error is at least 81 % of that square,
// (1 - sqrt(leastDecoded))^2.
const (
	mostUnexplained = 0.5
	mostMisassigned = 0.1
	leastDecoded    = 0.01
)

// Black reports whether the decoder is black: for all codes together, the mean square of its pixels is less than 1 %
// of the images' mean square.
func (f *Fit) Black() bool { return f.Decoded < leastDecoded*f.Square }

// WithoutSquares returns the fit as runs recorded it before the fields Square and Decoded existed.
func (f *Fit) WithoutSquares() *Fit {
	g := *f
	g.Square, g.Decoded, g.Why = 0, 0, ""
	g.decide()
	return &g
}

// fit measures how well the model fits; nil without a decoder.
func (e *Experiment) fit(ctx context.Context, codes matrix.Matrix) (*Fit, error) {
	if !e.Coder.Decodes() {
		return nil, nil
	}
	trained := e.trained()
	if len(trained) == 0 { // a small sample may have only held-out images
		return nil, nil
	}
	f := &Fit{Images: len(trained)}
	p, err := e.pixelError(ctx, codes, trained)
	if err != nil {
		return nil, err
	}
	f.Reconstruction, f.Variance = p.error, p.variance
	if !datasets.RealValued(e.Data) {
		f.Square, f.Decoded = p.square, p.decoded
	}
	if e.HeldOut != nil {
		held, err := e.pixelError(ctx, codes, sampled(e.HeldOut, e.Config.Seed))
		if err != nil {
			return nil, err
		}
		f.HeldOut = &held.error
	}
	f.Assignment = e.misassigned(codes, trained)
	f.decide()
	return f, nil
}

// decide sets whether training has converged.
func (f *Fit) decide() {
	f.Converged = false
	switch {
	case f.Black():
		f.Why = fmt.Sprintf("the decoder is black: the mean square of its pixels is %.1g of the images'", f.Decoded/f.Square)
	case f.Variance == 0 && f.Reconstruction > 0:
		f.Why = "all measured images are the same, and nothing tells whether it has"
	case f.Reconstruction > mostUnexplained*f.Variance:
		f.Why = fmt.Sprintf("reconstructions leave %.0f %% of the variance of the images", 100*f.Reconstruction/f.Variance)
	case f.Assignment != nil && *f.Assignment > mostMisassigned:
		f.Why = fmt.Sprintf("the options chosen are not those assigned: the assignment error is %.2g", *f.Assignment)
	default:
		f.Converged = true
	}
}

// trained lists some of the training images.
func (e *Experiment) trained() []int {
	var list []int
	for _, g := range e.Split.Groups {
		list = append(list, g...)
	}
	return sampled(append(list, e.Split.Unlabelled...), e.Config.Seed)
}

// sampled chooses some of a list.
func sampled(list []int, seed uint64) []int {
	if len(list) <= fitImages {
		return list
	}
	chosen := rng.New(seed, "fit").Perm(len(list))[:fitImages]
	for i, at := range chosen {
		chosen[i] = list[at]
	}
	return chosen
}

// pixels are means over the pixels of images and of their decoded codes.
type pixels struct {
	error    float64 // squared
	variance float64 // the squared error of the mean image
	square   float64 // mean square of the images' pixels
	decoded  float64 // square of the decoded pixels
}

// pixelError measures the pixels of decoded codes.
func (e *Experiment) pixelError(ctx context.Context, codes matrix.Matrix, images []int) (pixels, error) {
	h, w, c := e.Data.ImageShape()
	size := h * w * c
	var p pixels
	sum, square := make([]float64, size), make([]float64, size)
	batch := make([]float32, encodeBatch*size)
	e.Progress.Begin("decoding", len(images))
	defer e.Progress.End()
	for from := 0; from < len(images); from += encodeBatch {
		if from > 0 && from%(8*encodeBatch) == 0 && ctx.Err() != nil {
			return p, ErrStopped
		}
		e.Progress.Step(from, "images")
		part := images[from:min(from+encodeBatch, len(images))]
		datasets.Fill(e.Data, part, batch)
		var rows []float32
		for _, i := range part {
			rows = appendRow(rows, codes.Row(i))
		}
		decoded, err := e.Coder.Decode(rows)
		if err != nil {
			return p, err
		}
		for i, v := range decoded {
			x, y := float64(batch[i]), float64(v)
			sum[i%size] += x
			square[i%size] += x * x
			p.error += (x - y) * (x - y)
			p.decoded += y * y
		}
	}
	n := float64(len(images))
	for i, s := range sum {
		p.variance += square[i] - s*s/n
		p.square += square[i]
	}
	mean := func(sum float64) float64 { return sum / n / float64(size) }
	return pixels{mean(p.error), mean(math.Max(p.variance, 0)), mean(p.square), mean(p.decoded)}, nil
}

// misassigned returns the assignment loss of chosen options; nil without such a loss.
func (e *Experiment) misassigned(codes matrix.Matrix, images []int) *float64 {
	h := models.HierarchyOf(e.Model)
	known := e.Split.Known
	if h == nil || known == nil || !known.KnowsLevels() {
		return nil
	}
	assigned := false
	for _, l := range e.Config.Losses {
		_, is := l.Value.(*losses.AssignmentLoss)
		assigned = assigned || is
	}
	if !assigned {
		return nil
	}
	var columns []int
	for k, f := range known.Factors {
		if known.Assigned == nil && f.Kind == factor.Categorical || slices.Contains(known.Assigned, k) {
			columns = append(columns, k)
		}
	}
	if len(columns) != len(h.Categoricals()) {
		return nil
	}
	var sum float64
	levels := make([]int32, len(known.Factors))
	for _, i := range images {
		known.At(i, levels)
		for c, k := range columns {
			switch label, chosen := levels[k], int32(codes.Row(i)[c]); {
			case label < 0 || label == chosen:
			case label == 0 || chosen == 0:
				sum++
			default:
				sum += 2
			}
		}
	}
	sum /= float64(len(images))
	return &sum
}
