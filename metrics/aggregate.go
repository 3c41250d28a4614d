package metrics

import (
	"slices"

	"github.com/unravel-ml/unravel/config"
)

// Aggregate says how the values of subgroups, factors, levels or columns become one.
type Aggregate string

// The ways.
const (
	Mean       Aggregate = "mean"
	Sum        Aggregate = "sum"
	Max        Aggregate = "max"
	MeanSquare Aggregate = "mean-square" // the mean of the squares, without a root
)

func (a Aggregate) validate() error {
	switch a {
	case Mean, Sum, Max, MeanSquare:
		return nil
	}
	return config.Invalid("aggregate", "unknown aggregate %q; want mean, max, sum or mean-square", string(a))
}

func (a Aggregate) of(values []float64) float64 {
	if a == Max {
		return slices.Max(values)
	}
	var sum float64
	for _, v := range values {
		if a == MeanSquare {
			v *= v
		}
		sum += v
	}
	if a == Sum {
		return sum
	}
	return sum / float64(len(values))
}
