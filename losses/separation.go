package losses

import (
	"errors"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/internal/informative"
)

// Separation penalises sub-codes that are close although the factor is known to differ:
//
//	sum over blocks i of the aggregate, over pairs of rows r, s known to differ in factor i, of
//	max(margin - |z_i(r) - z_i(s)|, 0)
//
// It is [Contraction] for pairs that are only known to differ. The margin replaces the unknown d_Y, as with the
// discrete distance. |.| is the Euclidean norm of the block's columns.
//
// z has the shape [n, d]. different has the shape [n, K], or [n] for one factor. An element is the number of a row that
// differs from this row in the factor; a number that is out of range, or of the row itself, means that no such row is
// known. If two rows name each other, the pair counts once. A factor without pairs adds 0. Blocks are as in
// [Modularity].
//
// The result is a scalar, at least 0. It is 0 if the two sub-codes of every such pair are at least the margin apart. It
// is differentiable in z except where a pair is exactly the margin apart or has equal sub-codes; the gradient of such a
// pair is 0. The gradient of the maximum is the gradient of the first of equal pairs.
//
// Source: Zhang and Sugiyama 2024, definition 9, equation 27; the hinge of Hadsell et al. 2006.
func Separation(a factor.Aggregate, margin float64, z, different *gorgonia.Node, blocks ...factor.Block) (*gorgonia.Node, error) {
	return informative.Separation(a, margin, z, different, blocks...)
}

// SeparationLoss computes [Separation] for a model's codes and pairs of images that are known to differ.
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

func (l *SeparationLoss) Validate() error   { return positive("margin", l.Margin) }
func (l *SeparationLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are far apart.
func (l *SeparationLoss) Optimum(x *Example) bool {
	x.separateCodes(10 * l.Margin)
	return true
}

func (*SeparationLoss) Variants() []Loss {
	square, most := NewSeparation(), NewSeparation()
	square.Aggregate, square.Margin, square.On = factor.MeanSquare, 2.5, OnSample
	most.Aggregate, most.Codes = factor.Max, factor.SubCodes{"size": {4, 0, 1}, "angle": {2}}
	return []Loss{square, most}
}

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
