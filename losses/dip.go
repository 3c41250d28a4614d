package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/dependence"
)

// DIP returns the regulariser of DIP-VAE-I,
//
//	offDiagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2
//
// for the covariance C (divided by n) of the posterior means [n, D] over the batch. The result is a scalar,
// differentiable everywhere. Its minimum is 0, for uncorrelated means with unit variance.
//
// Source: Kumar et al. 2018, equation 6.
func DIP(mean *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	return dependence.DIP(mean, nil, offDiagonal, diagonal)
}

// DIPCode returns the regulariser of DIP-VAE-II: [DIP] for the covariance of the samples. Its diagonal is the variance
// of the means plus the mean over the batch of exp(logVariance). logVariance has the shape of the means. It is
// differentiable everywhere.
//
// Source: Kumar et al. 2018, equation 7.
func DIPCode(mean, logVariance *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	if logVariance == nil {
		return nil, fmt.Errorf("dip: %w", graph.Wanted("log variances", "nothing"))
	}
	return dependence.DIP(mean, logVariance, offDiagonal, diagonal)
}

// DIPLoss computes [DIP] or [DIPCode] for a model's posteriors.
type DIPLoss struct {
	Weight      Weight  `yaml:"weight" doc:"factor in the total"`
	OffDiagonal float64 `yaml:"off_diagonal" doc:"weight of squared off-diagonal covariances"`
	Diagonal    float64 `yaml:"diagonal" doc:"weight of squared deviations of variances from 1"`

	ofSamples bool // DIP-VAE-II: the covariance of the samples
}

// NewDIP1 returns the default settings of DIP-VAE-I.
func NewDIP1() *DIPLoss { return &DIPLoss{Weight: Constant(1), OffDiagonal: 10, Diagonal: 100} }

// NewDIP2 returns the default settings of DIP-VAE-II.
func NewDIP2() *DIPLoss {
	return &DIPLoss{Weight: Constant(1), OffDiagonal: 10, Diagonal: 10, ofSamples: true}
}

func (l *DIPLoss) Validate() error {
	if err := notNegative("off_diagonal", l.OffDiagonal); err != nil {
		return err
	}
	return notNegative("diagonal", l.Diagonal)
}

func (l *DIPLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: codes are uncorrelated and have unit variance.
func (*DIPLoss) Optimum(x *Example) bool {
	fillUncorrelated(x.Codes, 6, 1)
	fill(x.LogVariance, -100)
	return true
}

func (l *DIPLoss) Add(in *Input) (*gorgonia.Node, error) {
	switch {
	case in.Codes == nil:
		return nil, missing("codes")
	case l.ofSamples && in.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case l.ofSamples:
		return DIPCode(in.Codes, in.LogVariance, l.OffDiagonal, l.Diagonal)
	}
	return DIP(in.Codes, l.OffDiagonal, l.Diagonal)
}
