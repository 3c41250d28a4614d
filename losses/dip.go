package losses

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// DIP returns the regulariser of DIP-VAE-I,
//
//	offDiagonal sum_{i != j} C_ij^2 + diagonal sum_i (C_ii - 1)^2
//
// for the covariance C of the means of posteriors [n, D] over the batch, divided by
// n. The result is a scalar, differentiable everywhere; its least value, where the
// means are uncorrelated with unit variance, is 0.
//
// Source: Kumar et al. 2018, equation 6.
func DIP(mean *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	return graph.DIP(mean, nil, offDiagonal, diagonal)
}

// DIPCode is [DIP] for the covariance of codes in place of that of their means: C has
// on top of its diagonal the mean of exp(logVariance), for log variances of the
// shape of the means: DIP-VAE-II.
//
// Source: Kumar et al. 2018, equation 7.
func DIPCode(mean, logVariance *gorgonia.Node, offDiagonal, diagonal float64) (*gorgonia.Node, error) {
	if logVariance == nil {
		return nil, missing("log variances")
	}
	return graph.DIP(mean, logVariance, offDiagonal, diagonal)
}

// DIPLoss is [DIP] or [DIPCode] of a model's posteriors.
type DIPLoss struct {
	Weight      float64 `yaml:"weight" doc:"factor in the total"`
	OffDiagonal float64 `yaml:"off_diagonal" doc:"factor of squared covariances"`
	Diagonal    float64 `yaml:"diagonal" doc:"factor of squared differences of variances from 1"`

	second bool // DIP-VAE-II
}

// NewDIP1 returns the default settings of DIP-VAE-I.
func NewDIP1() *DIPLoss { return &DIPLoss{Weight: 1, OffDiagonal: 10, Diagonal: 100} }

// NewDIP2 returns the default settings of DIP-VAE-II.
func NewDIP2() *DIPLoss { return &DIPLoss{Weight: 1, OffDiagonal: 10, Diagonal: 10, second: true} }

// Validate checks the settings.
func (l *DIPLoss) Validate() error {
	for _, f := range []struct {
		name string
		is   float64
	}{{"off_diagonal", l.OffDiagonal}, {"diagonal", l.Diagonal}} {
		if !(f.is >= 0) || math.IsInf(f.is, 0) {
			return config.Invalid(f.name, "want 0 or more, got %v", f.is)
		}
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *DIPLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *DIPLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	switch {
	case o.Codes == nil:
		return nil, missing("codes")
	case l.second && o.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case l.second:
		return DIPCode(o.Codes, o.LogVariance, l.OffDiagonal, l.Diagonal)
	}
	return DIP(o.Codes, l.OffDiagonal, l.Diagonal)
}
