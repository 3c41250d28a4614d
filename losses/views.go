package losses

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/graph"
)

// CosineRegression returns the mean over n images of
//
//	2 - 2 cos(p_1, t_2) + 2 - 2 cos(p_2, t_1)
//
// for predictions p_1, p_2 and targets t_1, t_2 of the two views of an image: nodes [2n, d] of the first
// views in the first n rows and the second ones in the others. The result is a scalar from 0 to 8. No
// gradient flows into the targets; a vector of norm below 1e-12 is divided by that in place of its norm.
//
// Source: Grill et al. 2020, equation 2.
func CosineRegression(predictions, targets *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.CosineRegression(predictions, targets)
}

// CrossCorrelation returns
//
//	sum_i (1 - C_ii)^2 + lambda sum_i sum_(j != i) C_ij^2, C = 1/n Z_1' Z_2,
//
// for projections [2n, d] whose halves, of the first and the second views, are standardised column by
// column to Z_1 and Z_2: minus the mean, divided by sqrt(variance + 1e-5). The result is a scalar, at least 0.
// The time is that of n^2 d multiplications, not of n d^2.
//
// Source: Zbontar et al. 2021, equations 1 and 2.
func CrossCorrelation(projections *gorgonia.Node, lambda float64) (*gorgonia.Node, error) {
	moments, err := graph.BatchMoments(projections, 2)
	if err != nil {
		return nil, err
	}
	z, err := graph.BatchNorm(projections, moments, nil, nil, graph.NormOptions{Epsilon: 1e-5})
	if err != nil {
		return nil, err
	}
	return graph.CrossCorrelation(z, lambda)
}

// InfoNCE returns the mean over n queries q of
//
//	-log( exp(q.k/tau) / (exp(q.k/tau) + sum_u exp(q.u/tau)) )
//
// with k the query's own key and u the negatives: nodes [n, d], [n, d] and [d, K], a negative in
// each column, all unit vectors. The result is a scalar, in nats, at least 0. No gradient flows into the negatives.
//
// Source: He et al. 2020, equation 1.
func InfoNCE(queries, keys, negatives *gorgonia.Node, tau float64) (*gorgonia.Node, error) {
	return graph.InfoNCE(queries, keys, negatives, tau)
}

// StopGradient returns a copy of a node through which no gradient flows.
func StopGradient(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.StopGradient(x) }

// CosineRegressionLoss is [CosineRegression] of a model's predictions.
type CosineRegressionLoss struct {
	Weight float64 `yaml:"weight" doc:"factor in the total"`
}

// NewCosineRegression returns the default settings.
func NewCosineRegression() *CosineRegressionLoss { return &CosineRegressionLoss{Weight: 1} }

// Validate checks the settings.
func (l *CosineRegressionLoss) Validate() error { return validWeight(l.Weight) }

// Weighting implements [Loss].
func (l *CosineRegressionLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *CosineRegressionLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Views == nil || o.Views.Predictions == nil {
		return nil, missing("predictions of another view")
	}
	return CosineRegression(o.Views.Predictions, o.Views.Targets)
}

// CrossCorrelationLoss is [CrossCorrelation] of a model's projections.
type CrossCorrelationLoss struct {
	Weight float64 `yaml:"weight" doc:"factor in the total"`
	Lambda float64 `yaml:"lambda" doc:"factor of squared correlations of different columns"`
}

// NewCrossCorrelation returns the default settings, those of the public code of Barlow Twins.
func NewCrossCorrelation() *CrossCorrelationLoss {
	return &CrossCorrelationLoss{Weight: 1, Lambda: 0.0051}
}

// Validate checks the settings.
func (l *CrossCorrelationLoss) Validate() error {
	if !(l.Lambda >= 0) || math.IsInf(l.Lambda, 0) {
		return config.Invalid("lambda", "want 0 or more, got %v", l.Lambda)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *CrossCorrelationLoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *CrossCorrelationLoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Views == nil || o.Views.Projections == nil {
		return nil, missing("projections of two views")
	}
	return CrossCorrelation(o.Views.Projections, l.Lambda)
}

// InfoNCELoss is [InfoNCE] of a model's queries.
type InfoNCELoss struct {
	Weight      float64 `yaml:"weight" doc:"factor in the total"`
	Temperature float64 `yaml:"temperature" doc:"what cosines are divided by: 0.07 in MoCo, 0.2 in its second version"`
}

// NewInfoNCE returns the default settings.
func NewInfoNCE() *InfoNCELoss { return &InfoNCELoss{Weight: 1, Temperature: 0.07} }

// Validate checks the settings.
func (l *InfoNCELoss) Validate() error {
	if !(l.Temperature > 0) || l.Temperature > 1e6 {
		return config.Invalid("temperature", "want more than 0, got %v", l.Temperature)
	}
	return validWeight(l.Weight)
}

// Weighting implements [Loss].
func (l *InfoNCELoss) Weighting() float64 { return l.Weight }

// Add implements [Loss].
func (l *InfoNCELoss) Add(o *Outputs) (*gorgonia.Node, error) {
	if o.Views == nil || o.Views.Negatives == nil {
		return nil, missing("a queue of keys")
	}
	return InfoNCE(o.Views.Queries, o.Views.Keys, o.Views.Negatives, l.Temperature)
}
