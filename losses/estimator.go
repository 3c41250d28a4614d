package losses

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// DeviationEstimator selects how deviations are estimated from a batch.
//
// Plain is the deviation of the rows themselves: a value with a single row has deviation 0. It is biased towards 0 in a
// small batch, more so for a factor with many values. For codes of variance 1, a batch of 32 rows has the plain
// variance .77 with 6 values, and .18 with 40.
//
// Unbiased estimates the mean over the values of the data set that the batch is drawn from:
//
//   - Let a value have n_v rows. Variance is the mean of |p_i - p_j|^2/2, and MPD the mean of |p_i - p_j|/2, over all
//     n_v^2 ordered pairs. A row and itself have the distance 0. The mean over the n_v (n_v-1) pairs of different rows
//     is n_v/(n_v-1) times as large. Its expectation is the deviation D_v in the data, for any n_v >= 2. (For the
//     variance this is the familiar sum of squares over n_v-1.)
//   - A value with a single row is skipped.
//   - Each of the G values with two rows or more has the weight 1/G. The expectation is sum_v w_v D_v, where w_v is the
//     expectation of 1/G if v is among the G, and of 0 otherwise. If all L values are equally frequent, all w_v are
//     equal. Then the expectation over batches with G > 0 is the mean 1/L sum_v D_v for any batch size. Otherwise rare
//     values weigh less; w_v approaches 1/L as batches grow.
//   - Where no value has two rows (G = 0), value and gradient are 0.
//
// Diameter, radius, MAD, and the aggregates Max and Sum have no unbiased estimate from any number of rows. The reason:
// the expectation of a function of n rows is a polynomial in the probabilities of the codes. Take codes that are 1 with
// probability t and otherwise 0. Variance and MPD are t(1-t), but MAD is min(t, 1-t), and diameter and radius jump at t
// = 0. The sum needs the number of values, which a batch does not determine. MeanSquare of variances would need four
// rows of a value, and is not implemented. [DeviationEstimator.Check] reports these.
//
// Source: the U-statistics of Hoeffding 1948.
type DeviationEstimator uint8

const (
	Plain    DeviationEstimator = iota // of the rows themselves: a group of one row has deviation 0
	Unbiased                           // of the data set: a group of one row is skipped
)

var estimatorNames = [...]string{"plain", "unbiased"}

func (e DeviationEstimator) String() string {
	if int(e) < len(estimatorNames) {
		return estimatorNames[e]
	}
	return fmt.Sprintf("DeviationEstimator(%d)", uint8(e))
}

// ParseDeviationEstimator is the inverse of DeviationEstimator.String.
func ParseDeviationEstimator(name string) (DeviationEstimator, error) {
	for e, known := range estimatorNames {
		if name == known {
			return DeviationEstimator(e), nil
		}
	}
	return 0, fmt.Errorf("unknown estimator %q; known: unbiased, plain", name)
}

// MarshalText makes a DeviationEstimator its name in YAML and JSON.
func (e DeviationEstimator) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts a DeviationEstimator's name.
func (e *DeviationEstimator) UnmarshalText(text []byte) (err error) {
	*e, err = ParseDeviationEstimator(string(text))
	return err
}

// Check returns an error if the estimator does not support an aggregate of deviations.
func (e DeviationEstimator) Check(d factor.Deviation, a factor.Aggregate) error {
	switch {
	case e == Plain:
		return nil
	case int(e) >= len(estimatorNames):
		return fmt.Errorf("%v is not known; want unbiased or plain", e)
	case d != factor.Variance && d != factor.MPD:
		return fmt.Errorf("%v has no unbiased estimator; want estimator plain (unbiased is for variance and mpd)", d)
	case a != factor.Mean:
		return fmt.Errorf("the %v over values has no unbiased estimator; want aggregate mean, or estimator plain", a)
	}
	return nil
}

// least returns the least number of rows of a group that counts.
func (e DeviationEstimator) least() int { return 1 + int(e) }

// factor returns the correction of the deviation of n rows. Variance and MPD are means over all ordered pairs of rows,
// including a row with itself, which contributes 0. Unbiased is the mean over the pairs of different rows.
func (e DeviationEstimator) factor(n int) float64 {
	if e == Plain {
		return 1
	}
	return float64(n) / float64(n-1)
}
