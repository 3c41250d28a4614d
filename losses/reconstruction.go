package losses

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// Gaussian are the options of [GaussianReconstruction].
type Gaussian struct {
	Sigma    float64 // standard deviation of a pixel; 0 means 1/sqrt 2: the plain squared error
	Constant bool    // add the constant log sigma + log(2 pi)/2 for every pixel
	Linear   bool    // the second input is the mean itself, not its logit
}

// GaussianReconstruction returns the negative log likelihood of images x under
// independent pixels N(m, sigma^2) with m = sigmoid(logits):
//
//	1/B sum (x - m)^2 / (2 sigma^2)   [+ log sigma + log(2 pi)/2 per pixel]
//
// x and logits have one shape, of which B is the first size, such as
// [batch, height, width, channels]; the result is a scalar, in nats for each image
// (without the constant: up to it). It is differentiable in both; its least value, at m = x, is 0, plus the constant if that is asked for.
//
// Source: Kingma and Welling 2014, appendix C.2; with sigma = 1/sqrt 2 the
// reconstruction term of Tonnaer et al. 2022.
func GaussianReconstruction(x, logits *gorgonia.Node, o Gaussian) (*gorgonia.Node, error) {
	return graph.GaussianReconstruction(x, logits, graph.Gaussian(o))
}

// BernoulliReconstruction returns the negative log likelihood of images x in
// [0, 1] under independent pixels that are 1 with probability sigmoid(logits),
// which is the cross-entropy
//
//	1/B sum log(1 + exp(logits)) - x logits
//
// computed without overflow or cancellation at any logit. x and logits have one
// shape, of which B is the first size; the result is a scalar, in nats for each image.
// It is differentiable in both; its least value, at sigmoid(logits) = x, is the entropy
// of the pixels: 0 for black and white images, reached in the limit.
//
// Source: Kingma and Welling 2014, appendix C.1.
func BernoulliReconstruction(x, logits *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.BernoulliReconstruction(x, logits)
}

// ReconstructionLoss compares a model's images with its reconstructions.
type ReconstructionLoss struct {
	Weight     float64 `yaml:"weight" doc:"factor in the total"`
	Likelihood string  `yaml:"likelihood" doc:"of a pixel: gaussian (squared error) or bernoulli (cross-entropy)"`
	Sigma      float64 `yaml:"sigma" doc:"standard deviation of a pixel, for the gaussian likelihood"`
	Constant   bool    `yaml:"constant" doc:"add the constant of the gaussian log likelihood, which changes no gradient"`
}

// NewReconstruction returns the default settings.
func NewReconstruction() *ReconstructionLoss {
	return &ReconstructionLoss{Weight: 1, Likelihood: "gaussian", Sigma: 1 / math.Sqrt2}
}

// Validate checks the settings.
func (l *ReconstructionLoss) Validate() error {
	switch {
	case l.Likelihood != "gaussian" && l.Likelihood != "bernoulli":
		return config.Invalid("likelihood", "want gaussian or bernoulli, got %q", l.Likelihood)
	case !(l.Sigma > 0) || math.IsInf(l.Sigma, 0):
		return config.Invalid("sigma", "want a positive number, got %v", l.Sigma)
	case l.Likelihood == "bernoulli" && l.Sigma != NewReconstruction().Sigma:
		return config.Invalid("sigma", "it applies to the gaussian likelihood only")
	case l.Likelihood == "bernoulli" && l.Constant:
		return config.Invalid("constant", "it applies to the gaussian likelihood only")
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *ReconstructionLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *ReconstructionLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Images == nil {
		return nil, missing("images")
	}
	if o.Logits == nil {
		return nil, missing("a reconstruction (logits)")
	}
	switch l.Likelihood {
	case "gaussian":
		return GaussianReconstruction(o.Images, o.Logits, Gaussian{Sigma: l.Sigma, Constant: l.Constant, Linear: o.Real})
	case "bernoulli":
		if o.Real {
			return nil, errors.New("the likelihood bernoulli is of pixels in [0, 1], and these images are any numbers; want gaussian")
		}
		return BernoulliReconstruction(o.Images, o.Logits)
	}
	return nil, fmt.Errorf("unknown likelihood %q; known: gaussian, bernoulli", l.Likelihood)
}
