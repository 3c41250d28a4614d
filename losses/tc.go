package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
)

// TCEstimator is a way to estimate the densities of codes from a batch.
type TCEstimator = graph.TCEstimator

// The estimators of densities, for a batch of n images out of a data set of N.
const (
	TCMinibatch  = graph.TCMinibatch  // the sum of the posteriors
	TCWeighted   = graph.TCWeighted   // the same over n N: minibatch weighted sampling
	TCStratified = graph.TCStratified // minibatch stratified sampling
)

// TotalCorrelation returns an estimate of the total correlation of the aggregate
// posterior from draws z of Gaussian posteriors, of which means and log variances are
// given, all of shape [n, D]:
//
//	1/n sum_j [log q(z_j) - sum_d log q(z_jd)]
//	q(z_j)  = sum_i w_ji prod_d N(z_jd; mean_id, variance_id)
//	q(z_jd) = sum_i w_ji N(z_jd; mean_id, variance_id)
//
// For images out of a data set of the size N, w_ji is
//
//	minibatch    1
//	weighted     1/(n N)
//	stratified   1/N for i = j, (N-M)/(N M) for the row after j, cyclically, and
//	             1/M for the others, M = n-1
//
// so that the minibatch estimate lacks the constant (D-1) log(n N) of the weighted
// one, and needs no N. The result is a scalar, in nats, differentiable everywhere in z,
// means and log variances. The total correlation is 0 where the columns are independent;
// its estimates can be below 0.
//
// Source: Chen et al. 2018, equation 3 and appendix C.
func TotalCorrelation(z, mean, logVariance *gorgonia.Node, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	return graph.MinibatchTC(z, mean, logVariance, nil, e, dataSize)
}

// ConditionalTotalCorrelation is [TotalCorrelation] for codes of which not all
// columns are active in all rows: active, [n, D], has 1 where one is, 0 elsewhere.
//
// Only the active columns of row j enter; q(z_j) is estimated from the rows that have
// the same active columns, and q(z_jd) from the rows in which column d is active. Of
// m such rows, m and N m/n take the places of n and N in the weights. A row with less
// than two active columns counts 0. The result is in nats. Where all columns are active this is
// [TotalCorrelation].
//
// Source: Ross and Doshi-Velez 2021, section 5.2, who estimate it with a
// discriminator of codes and permuted codes; the closed form is ours.
func ConditionalTotalCorrelation(z, mean, logVariance, active *gorgonia.Node, e TCEstimator, dataSize int) (*gorgonia.Node, error) {
	if active == nil {
		return nil, fmt.Errorf("conditional tc: active columns wanted")
	}
	return graph.MinibatchTC(z, mean, logVariance, active, e, dataSize)
}

// closedTC adds an estimate of a model's total correlation, or, for active columns,
// of the conditional one.
func closedTC(o *Outputs, e TCEstimator, active *gorgonia.Node) (*gorgonia.Node, error) {
	switch {
	case o.Sample == nil:
		return nil, missing("samples of the codes")
	case o.Codes == nil:
		return nil, missing("codes")
	case o.LogVariance == nil:
		return nil, missing("log variances of Gaussian posteriors")
	case e != TCMinibatch && o.Population == 0:
		return nil, missing(fmt.Sprintf("the number of images in the data set, for the estimator %v", e))
	}
	return graph.MinibatchTC(o.Sample, o.Codes, o.LogVariance, active, e, o.Population)
}
