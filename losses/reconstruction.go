package losses

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/likelihood"
)

// GaussianReconstruction returns the negative log likelihood of images x under
// independent pixels N(m, sigma^2) with m = sigmoid(logits):
//
//	1/B sum (x - m)^2 / (2 sigma^2)   [+ log sigma + log(2 pi)/2 per pixel]
//
// x and logits have the same shape, such as [batch, height, width, channels], with the batch size B first. The result
// is a scalar, in nats per image, differentiable in both. Its minimum, at m = x, is 0; with Constant the constant is
// added.
//
// Source: Kingma and Welling 2014, appendix C.2; with sigma = 1/sqrt 2 the reconstruction term of Tonnaer et al. 2022.
func GaussianReconstruction(x, logits *gorgonia.Node, o Gaussian) (*gorgonia.Node, error) {
	return likelihood.GaussianReconstruction(x, logits, likelihood.Gaussian(o))
}

// Gaussian holds the options of [GaussianReconstruction].
type Gaussian struct {
	Sigma    float64 // standard deviation of a pixel; 0 means 1/sqrt 2: the plain squared error
	Constant bool    // add the constant log sigma + log(2 pi)/2 for each pixel
	Linear   bool    // the second input is the mean itself instead of its logit
}

// BernoulliReconstruction returns the negative log likelihood of images x in [0, 1] under independent pixels that are 1
// with probability sigmoid(logits). This is the cross-entropy
//
//	1/B sum log(1 + exp(logits)) - x logits
//
// computed without overflow or cancellation for any logit. x and logits have the same shape, with the batch size B
// first. The result is a scalar, in nats per image, differentiable in both. Its minimum, at sigmoid(logits) = x, is the
// entropy of the pixels. For black and white images this is 0, which is only reached in the limit.
//
// Source: Kingma and Welling 2014, appendix C.1.
func BernoulliReconstruction(x, logits *gorgonia.Node) (*gorgonia.Node, error) {
	return likelihood.BernoulliReconstruction(x, logits)
}

// ReconstructionLoss computes [GaussianReconstruction] or [BernoulliReconstruction] for a model's images.
type ReconstructionLoss struct {
	Weight     Weight  `yaml:"weight" doc:"factor in the total"`
	Likelihood string  `yaml:"likelihood" doc:"likelihood of pixels: gaussian (squared error) or bernoulli (cross-entropy)"`
	Sigma      float64 `yaml:"sigma" doc:"standard deviation of a pixel, for the gaussian likelihood"`
	Constant   bool    `yaml:"constant" doc:"add the constant of the gaussian log likelihood, which changes no gradient"`
	Per        string  `yaml:"per" doc:"image (sum over pixels and channels) or pixel (mean over them)"`
}

// The values of ReconstructionLoss.Per.
const (
	perImage = "image"
	perPixel = "pixel"
)

// NewReconstruction returns the default settings.
func NewReconstruction() *ReconstructionLoss {
	return &ReconstructionLoss{Weight: Constant(1), Likelihood: "gaussian", Sigma: 1 / math.Sqrt2, Per: perImage}
}

func (l *ReconstructionLoss) Validate() error {
	switch {
	case l.Likelihood != "gaussian" && l.Likelihood != "bernoulli":
		return config.Invalid("likelihood", "want gaussian or bernoulli, got %q", l.Likelihood)
	case l.Per != perImage && l.Per != perPixel:
		return config.Invalid("per", "want %s or %s, got %q", perImage, perPixel, l.Per)
	case !(l.Sigma > 0) || math.IsInf(l.Sigma, 0):
		return config.Invalid("sigma", "want a positive number, got %v", l.Sigma)
	case l.Likelihood == "bernoulli" && l.Sigma != NewReconstruction().Sigma:
		return config.Invalid("sigma", "it applies to the gaussian likelihood only; want likelihood gaussian, or no sigma")
	case l.Likelihood == "bernoulli" && l.Constant:
		return config.Invalid("constant", "it applies to the gaussian likelihood only; want likelihood gaussian, or false")
	}
	return nil
}

func (l *ReconstructionLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the reconstruction equals the image.
func (l *ReconstructionLoss) Optimum(x *Example) bool {
	fill(x.Images, 0.5)
	fill(x.Logits, 0)
	return l.Likelihood == "gaussian" && !l.Constant
}

func (*ReconstructionLoss) Variants() []Loss {
	return []Loss{
		&ReconstructionLoss{Weight: Constant(1), Likelihood: "bernoulli", Sigma: NewReconstruction().Sigma, Per: perImage},
		&ReconstructionLoss{Weight: Constant(1), Likelihood: "gaussian", Sigma: 2, Per: perPixel},
	}
}

func (l *ReconstructionLoss) Add(in *Input) (*gorgonia.Node, error) {
	n, err := l.perImage(in)
	if err != nil || l.Per != perPixel {
		return n, err
	}
	s := in.Images.Shape()
	return graph.Scale(float64(s[0])/float64(s.TotalSize()), n)
}

// perImage returns the sum over pixels.
func (l *ReconstructionLoss) perImage(in *Input) (*gorgonia.Node, error) {
	if in.Images == nil {
		return nil, missing("images")
	}
	if in.Logits == nil {
		return nil, missing("a reconstruction (logits)")
	}
	switch l.Likelihood {
	case "gaussian":
		return GaussianReconstruction(in.Images, in.Logits, Gaussian{Sigma: l.Sigma, Constant: l.Constant, Linear: in.Real})
	case "bernoulli":
		if in.Real {
			return nil, errors.New("the likelihood bernoulli needs pixels in [0, 1], but these images have other numbers; want gaussian")
		}
		return BernoulliReconstruction(in.Images, in.Logits)
	}
	return nil, fmt.Errorf("unknown likelihood %q; known: gaussian, bernoulli", l.Likelihood)
}

// Costs implements [PerImage]. If the weight changes, it uses the final weight.
func (l *ReconstructionLoss) Costs(images, logits *gorgonia.Node, real bool) (*gorgonia.Node, error) {
	if l.Likelihood == "bernoulli" && real {
		return nil, errors.New("the likelihood bernoulli needs pixels in [0, 1], but these images have other numbers; want gaussian")
	}
	linear := l.Likelihood == "gaussian" && real
	scale := l.Weight.To
	if l.Likelihood == "gaussian" {
		scale /= 2 * l.Sigma * l.Sigma
	}
	if s := images.Shape(); l.Per == perPixel {
		scale *= float64(s[0]) / float64(s.TotalSize())
	}
	kind := l.Likelihood
	if linear {
		kind = "linear"
	}
	return likelihood.Costs(images, logits, kind, scale)
}

// PerImage is implemented by losses with a reconstruction cost that is averaged over images. Models that choose a code
// by its cost, such as cascade-vae, ask these losses for the costs.
type PerImage interface {
	// Costs returns the weighted reconstruction cost of every image, [n, 1]. The reconstructions [n, H, W, C] are
	// logits before the sigmoid, or the pixels themselves if real is true. The costs have no gradient.
	Costs(images, logits *gorgonia.Node, real bool) (*gorgonia.Node, error)
}
