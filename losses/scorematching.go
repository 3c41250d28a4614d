package losses

import (
	"errors"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/density"
)

// ScoreMatching returns denoising score matching of an energy E(y) = sum_j g_j f_j(y). The score is the negative
// gradient of the energy:
//
//	mean over rows of |r|^2 / 2,  r = sigma noise - sigma^2 grad E(y),  y = images + sigma noise,
//
// summed over the pixels of an image. images and standard normal noise have the same shape, [rows, ...]. f adds nodes
// [rows, columns] with the columns of f. g is [rows, columns], or nil for 1. known is [rows], with 1 for rows that
// count and 0 for others, or nil for 1. If no row counts, the value is 0. For images N(0, s^2 I) and E = a |y|^2/2 the
// minimum is at a = 1/(s^2 + sigma^2).
//
// The gradient in parameters theta needs no second derivatives. With v = r held constant it is
//
//	-sigma^2 mean over rows of d/d theta <v, grad E(y)>,
//
// and <v, grad E(y)> is the derivative of E along v ([graph.JVP]): one graph has values and tangents. Every operation
// in f must support tangents. The node is differentiable in the parameters of f and in g; its gradient treats images
// and noise as constant.
//
// Source: Vincent 2011 (denoising score matching), times sigma^4 as in the code of Khemakhem et al. 2020 (ICE-BeeM).
// That code sums over the width of an image and takes means over its height H and C channels: 1/(C H) of this value.
func ScoreMatching(f func(images *gorgonia.Node) (*gorgonia.Node, error), g, known, images, noise *gorgonia.Node,
	sigma float64) (*gorgonia.Node, error) {
	return density.ScoreMatching(f, g, known, images, noise, sigma)
}

// Energy is the energy of images x under an energy-based model, E(x) = sum_j g_j f_j(x). It is the negative log density
// of the images up to a constant.
type Energy struct {
	// Columns adds f(x), [rows, columns], for images [rows, height, width, channels].
	Columns func(images *gorgonia.Node) (*gorgonia.Node, error)

	// Condition computes the energy's inputs from labels: g, [rows, columns], and known, [rows]. known is 1 if the
	// labels of the row that g needs are known, otherwise 0. nil: g is 1 everywhere.
	Condition func(l *Labels) (g, known *gorgonia.Node, err error)
}

// ScoreMatchingLoss is [ScoreMatching] of a model's [Energy]. A conditional energy skips rows with unknown labels.
type ScoreMatchingLoss struct {
	Weight     Weight  `yaml:"weight" doc:"factor in the total"`
	Sigma      float64 `yaml:"sigma" doc:"standard deviation of the noise, in units of pixels"`
	Dequantise bool    `yaml:"dequantise" doc:"first dequantise pixels with 256 values in [0, 1]: 255/256 x + U[0, 1)/256"`
}

// NewScoreMatching returns the default settings.
func NewScoreMatching() *ScoreMatchingLoss {
	return &ScoreMatchingLoss{Weight: Constant(1), Sigma: 0.01, Dequantise: true}
}

func (l *ScoreMatchingLoss) Validate() error   { return positive("sigma", l.Sigma) }
func (l *ScoreMatchingLoss) Weighting() Weight { return l.Weight }

func (l *ScoreMatchingLoss) Variants() []Loss {
	return []Loss{&ScoreMatchingLoss{Weight: Constant(2), Sigma: 0.3}}
}

func (l *ScoreMatchingLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Energy == nil || in.Images == nil:
		return nil, missing("an energy of images", "ice-beem")
	case in.Images.Dims() < 2 || in.Images.Shape()[0] != in.Rows:
		return nil, graph.Wanted(fmt.Sprintf("images of %d rows", in.Rows), in.Images.Shape())
	case in.Real && l.Dequantise:
		return nil, errors.New("the pixels of these images are not 256 values in [0, 1]; want dequantise: false")
	}
	noise, err := in.Noise("noise", Normal, in.Images.Shape()...)
	if err != nil {
		return nil, err
	}
	var uniform *gorgonia.Node
	if l.Dequantise {
		if uniform, err = in.Noise("dequantising noise", Uniform, in.Images.Shape()...); err != nil {
			return nil, err
		}
	}
	var g, known *gorgonia.Node
	if in.Energy.Condition != nil {
		if g, known, err = in.Energy.Condition(in.Labels); err != nil {
			return nil, err
		}
	}
	y, err := density.Noised(in.Images, noise, uniform, l.Sigma)
	if err != nil {
		return nil, err
	}
	return density.Score(in.Energy.Columns, g, known, y, noise, l.Sigma)
}
