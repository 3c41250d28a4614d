package losses

import (
	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/losses/internal/contrast"
)

// CosineRegression returns the mean over n images of
//
//	2 - 2 cos(p_1, t_2) + 2 - 2 cos(p_2, t_1)
//
// for predictions p_1, p_2 and targets t_1, t_2 of the two views of an image. The nodes are [2n, d], with the first
// views in rows 0 to n-1 and the second views in rows n to 2n-1. The result is a scalar from 0 to 8, differentiable in
// the predictions; no gradient flows into the targets. Norms below 1e-12 are replaced by 1e-12.
//
// Source: Grill et al. 2020, equation 2.
func CosineRegression(predictions, targets *gorgonia.Node) (*gorgonia.Node, error) {
	return contrast.CosineRegression(predictions, targets)
}

// CosineRegressionLoss is [CosineRegression] of a model's predictions.
type CosineRegressionLoss struct {
	Weight Weight `yaml:"weight" doc:"factor in the total"`
}

// NewCosineRegression returns the default settings.
func NewCosineRegression() *CosineRegressionLoss { return &CosineRegressionLoss{Weight: Constant(1)} }

func (l *CosineRegressionLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: it gives predictions and targets equal directions.
func (*CosineRegressionLoss) Optimum(x *Example) bool {
	fill(x.Predictions, 2)
	fill(x.Targets, 3)
	return true
}

func (l *CosineRegressionLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.Views == nil || in.Views.Predictions == nil {
		return nil, missing("predictions of another view", "byol", "simsiam")
	}
	return CosineRegression(in.Views.Predictions, in.Views.Targets)
}

// CrossCorrelation returns
//
//	sum_i (1 - C_ii)^2 + lambda sum_i sum_(j != i) C_ij^2, C = 1/n Z_1' Z_2,
//
// for projections [2n, d]. Its two halves, the first and the second views, are standardised by column to Z_1 and Z_2:
// minus the mean, divided by sqrt(variance + 1e-5). The result is a scalar, at least 0, differentiable everywhere. It
// needs n^2 d multiplications instead of n d^2.
//
// Source: Zbontar et al. 2021, equations 1 and 2.
func CrossCorrelation(projections *gorgonia.Node, lambda float64) (*gorgonia.Node, error) {
	return contrast.CrossCorrelation(projections, lambda)
}

// CrossCorrelationLoss is [CrossCorrelation] of a model's projections.
type CrossCorrelationLoss struct {
	Weight Weight  `yaml:"weight" doc:"factor in the total"`
	Lambda float64 `yaml:"lambda" doc:"weight of squared off-diagonal correlations"`
}

// NewCrossCorrelation returns the settings of the public code of Barlow Twins.
func NewCrossCorrelation() *CrossCorrelationLoss {
	return &CrossCorrelationLoss{Weight: Constant(1), Lambda: 0.0051}
}

func (l *CrossCorrelationLoss) Validate() error   { return notNegative("lambda", l.Lambda) }
func (l *CrossCorrelationLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the two views are equal, and their columns are uncorrelated.
func (*CrossCorrelationLoss) Optimum(x *Example) bool {
	half := len(x.Projections) / 2
	fillUncorrelated(x.Projections[:half], 6, 1e4) // large, so the 1e-5 added to variances is negligible
	copy(x.Projections[half:], x.Projections[:half])
	return true
}

func (l *CrossCorrelationLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.Views == nil || in.Views.Projections == nil {
		return nil, missing("projections of two views", "byol", "simsiam", "barlow-twins")
	}
	return CrossCorrelation(in.Views.Projections, l.Lambda)
}

// InfoNCE returns the mean over n queries q of
//
//	-log( exp(q.k/tau) / (exp(q.k/tau) + sum_u exp(q.u/tau)) )
//
// k is the query's key and u are the negatives. All are unit vectors, in the rows of queries and keys [n, d] and the
// columns of negatives [d, K]. The result is a scalar, in nats, at least 0, differentiable in queries and keys; no
// gradient flows into the negatives.
//
// Source: He et al. 2020, equation 1.
func InfoNCE(queries, keys, negatives *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return contrast.InfoNCE(queries, keys, negatives, tau)
}

// InfoNCELoss is [InfoNCE] of a model's queries.
type InfoNCELoss struct {
	Weight      Weight  `yaml:"weight" doc:"factor in the total"`
	Temperature float64 `yaml:"temperature" doc:"softmax temperature: 0.07 in MoCo, 0.2 in MoCo v2"`
}

// NewInfoNCE returns the default settings.
func NewInfoNCE() *InfoNCELoss { return &InfoNCELoss{Weight: Constant(1), Temperature: 0.07} }

func (l *InfoNCELoss) Validate() error   { return positive("temperature", l.Temperature) }
func (l *InfoNCELoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: queries equal their keys, far from the negatives. The loss is 0 only in the limit.
func (l *InfoNCELoss) Optimum(x *Example) bool {
	far := 100 * max(1, l.Temperature)
	fill(x.Queries, far)
	fill(x.Keys, far)
	fill(x.Negatives, -far)
	return true
}

func (l *InfoNCELoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.Views == nil || in.Views.Negatives == nil {
		return nil, missing("a queue of keys", "moco", "moco-v2")
	}
	return InfoNCE(in.Views.Queries, in.Views.Keys, in.Views.Negatives, l.Temperature)
}
