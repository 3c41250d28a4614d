package losses

import (
	"fmt"

	"github.com/unravel-ml/unravel/factor"
)

// Estimator says what deviations of the rows of a batch stand for: the deviations of
// these rows, or those of all the rows of which the batch is a part.
type DeviationEstimator uint8

const (
	Plain    DeviationEstimator = iota // of the rows themselves: a group of one has deviation 0
	Unbiased                           // of what the rows are drawn from: a group of one takes no part
)

var estimatorNames = [...]string{"plain", "unbiased"}

func (e DeviationEstimator) String() string {
	if int(e) < len(estimatorNames) {
		return estimatorNames[e]
	}
	return fmt.Sprintf("Estimator(%d)", uint8(e))
}

// ParseEstimator is the inverse of Estimator.String.
func ParseDeviationEstimator(name string) (DeviationEstimator, error) {
	for e, known := range estimatorNames {
		if name == known {
			return DeviationEstimator(e), nil
		}
	}
	return 0, fmt.Errorf("unknown estimator %q; known: unbiased, plain", name)
}

// MarshalText makes an Estimator its name in YAML and JSON.
func (e DeviationEstimator) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText accepts an Estimator's name.
func (e *DeviationEstimator) UnmarshalText(text []byte) (err error) {
	*e, err = ParseDeviationEstimator(string(text))
	return err
}

// Check returns an error if there is no such estimate of an aggregate of deviations.
//
// The expectation of any function of n independent rows is a polynomial in the
// probabilities of the values that a row can have. Of codes that are 0 or 1, the latter
// with probability t, variance and half the mean distance are t(1-t). The others are no
// polynomials: the mean distance from the median is min(t, 1-t), diameter and radius jump
// at t = 0. So no function of any number of rows estimates these without bias. Nor is the
// largest of polynomials one; the sum over values needs their number, which a batch
// does not show, and the mean square groups of four.
func (e DeviationEstimator) Check(d factor.Deviation, a factor.Aggregate) error {
	switch {
	case e == Plain:
		return nil
	case int(e) >= len(estimatorNames):
		return fmt.Errorf("%v is not known: want unbiased or plain", e)
	case d != factor.Variance && d != factor.MPD:
		return fmt.Errorf("%v has no unbiased estimator: want estimator plain (unbiased is for variance and mpd)", d)
	case a != factor.Mean:
		return fmt.Errorf("the %v over values has no unbiased estimator: want aggregate mean, or estimator plain", a)
	}
	return nil
}

// least is the number of rows below which a group takes no part.
func (e DeviationEstimator) least() int { return 1 + int(e) }

// factor is what the deviation of n rows is multiplied by. Variance and half the mean
// distance are means over all ordered pairs of rows of a quantity that is 0 for a row
// and itself; unbiased is their mean over the pairs of different rows.
func (e DeviationEstimator) factor(n int) float64 {
	if e == Plain {
		return 1
	}
	return float64(n) / float64(n-1)
}
