package lsbd

import (
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Subgroup holds the measurement of one factor in some columns.
type Subgroup struct {
	*Measured
	Columns []int // nil: all
}

// Choose measures factor k in the given columns, or in all columns if there are none. It then takes the best of several
// spaces of the codes, each a list of columns, if the plane of all columns is arbitrary, or always.
func (d *Design) Choose(
	ctx context.Context, codes matrix.Matrix, k int, columns []int, spaces [][]int, always bool,
) (*Subgroup, error) {
	s, err := d.Measure(ctx, codes.Columns(columns), k)
	if err != nil {
		return nil, err
	}
	if columns != nil || len(spaces) < 2 || s.Near == 0 && !always {
		return &Subgroup{s, columns}, nil
	}
	best := &Subgroup{}
	for _, space := range spaces {
		s, err := d.Measure(ctx, codes.Columns(space), k)
		if err != nil {
			return nil, err
		}
		if best.Measured == nil || factor.Mean.Of(s.Values) < factor.Mean.Of(best.Values)-1e-12 {
			best = &Subgroup{s, space}
		}
	}
	best.Remark = fmt.Sprintf("%s is measured in each space of the codes by itself; the best has the columns %v", d.Factors[k].Name, best.Columns)
	return best, nil
}

// Bootstrap returns the 95 % percentile interval of the aggregate over factors by the Bayesian bootstrap of Rubin (1981).
func (s *Sample) Bootstrap(
	ctx context.Context, codes matrix.Matrix, chosen []*Subgroup, a factor.Aggregate, draws int, stream *rng.Stream,
) (low, high float64, err error) {
	values, weights := make([]float64, draws), make([]float64, codes.Rows)
	for b := range values {
		for i := range weights {
			weights[i] = stream.ExpFloat64()
		}
		each := make([]float64, len(chosen))
		for k, c := range chosen {
			if each[k], err = s.weighted(ctx, codes.Columns(c.Columns), k, c.Turns, weights); err != nil {
				return 0, 0, err
			}
		}
		values[b] = a.Of(each)
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[min(int(part*float64(len(values))), len(values)-1)] }
	return at(0.025), at(0.975), nil
}
