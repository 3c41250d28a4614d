package losses

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/internal/informative"
)

// Separation penalises sub-codes that are close where a factor is known to differ:
//
//	sum over blocks i of the aggregate, over pairs of rows r, s known to differ in factor i, of
//	max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] when only the answer different is known. The margin stands for the unknown d_Y, as with the
// discrete distance. |.| is the Euclidean norm of the block's columns.
//
// z has the shape [n, d]. different has the shape [n, K], or [n] for one factor. It holds the row that differs in a
// factor from this one; a number that names no other row says that no such row is known. A pair counts once if both
// rows name each other. A factor without pairs adds 0. Blocks are as in [Modularity].
//
// The result is a scalar, at least 0. It is 0 if all these pairs are at least the margin apart. It is differentiable in
// z except for a pair at the margin or with equal sub-codes; the gradient of such a pair is 0. The maximum takes the
// gradient of the first of equal pairs.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27; the hinge of Hadsell et al. 2006.
func Separation(a factor.Aggregate, margin float64, z, different *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return informative.Separation(a, margin, z, different, blocks...)
}

// SeparationLoss is [Separation] of a model's codes, for pairs of images that are known to differ.
type SeparationLoss struct {
	Weight    Weight           `yaml:"weight" doc:"factor in the total"`
	Margin    float64          `yaml:"margin" doc:"distance required between sub-codes of images that differ, in units of the codes"`
	Aggregate factor.Aggregate `yaml:"aggregate" doc:"aggregate over the pairs of a factor: mean, max, sum or mean-square"`
	Codes     factor.SubCodes  `yaml:"codes" doc:"code columns of each factor, such as {shape: [0, 1], x: [2]}; none: equal shares"`
	On        On               `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded)"`
}

// NewSeparation returns the default settings.
func NewSeparation() *SeparationLoss {
	return &SeparationLoss{Weight: Constant(1), Margin: 1, Aggregate: factor.Mean, On: OnCodes}
}

// Validate checks the settings.
func (l *SeparationLoss) Validate() error { return positive("margin", l.Margin) }

// Weighting implements [Loss].
func (l *SeparationLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are far apart.
func (l *SeparationLoss) Optimum(x *Example) bool {
	x.separateCodes(10 * l.Margin)
	return true
}

// Variants implements [Varied].
func (*SeparationLoss) Variants() []Loss {
	square, most := NewSeparation(), NewSeparation()
	square.Aggregate, square.Margin, square.On = factor.MeanSquare, 2.5, OnSample
	most.Aggregate, most.Codes = factor.Max, factor.SubCodes{"size": {4, 0, 1}, "angle": {2}}
	return []Loss{square, most}
}

// Add implements [Loss].
func (l *SeparationLoss) Add(in *Input) (*gorgonia.Node, error) {
	z, blocks, err := blocksOf(in, l.On, l.Codes)
	if err != nil {
		return nil, err
	}
	if in.Labels.Different == nil {
		return nil, errors.New("it needs pairs of images known to differ; want a supervision with such pairs, such as {similarity: {different: 0.5}} or {answers: {file: pairs.csv}}")
	}
	different, err := in.Labels.Different()
	if err != nil {
		return nil, err
	}
	return Separation(l.Aggregate, l.Margin, z, different, blocks...)
}
