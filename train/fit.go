package train

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/internal/fit"
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
	measured := fit.Decoded{Data: e.Data, Codes: codes, Decode: e.Coder.Decode, Watch: func(done int) { e.Progress.Step(done, "images") }}
	e.Progress.Begin("decoding", len(trained))
	defer e.Progress.End()
	p, err := measured.Pixels(ctx, trained)
	if err != nil {
		return nil, err
	}
	f.Reconstruction, f.Variance = p.Error, p.Variance
	if !datasets.RealValued(e.Data) {
		f.Square, f.Decoded = p.Square, p.Decoded
	}
	if e.HeldOut != nil {
		images := sampled(e.HeldOut, e.Config.Seed)
		e.Progress.Begin("decoding", len(images))
		held, err := measured.Pixels(ctx, images)
		if err != nil {
			return nil, err
		}
		f.HeldOut = &held.Error
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
	return fit.Misassigned(known, len(h.Categoricals()), codes, images)
}
