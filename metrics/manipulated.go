package metrics

import (
	"context"
	"errors"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
)

// largestShare returns the largest variance of a code column as a fraction of the sum of variances, or NaN if all are
// 0.
func largestShare(variances []float64) float64 {
	var sum, most float64
	for _, v := range variances {
		sum, most = sum+v, max(most, v)
	}
	return most / sum
}

// Manipulated measures how far one code column moves alone while one factor varies and all others are fixed (Cao et al.
// 2022, section 4.3 and appendix B.4, figures 3 and 12, which show the variances as bars). Let V_ij be the variance of
// column i while factor j varies ([Manipulation]). The value is the mean over factors of
//
//	max over i of V_ij / sum over i of V_ij
//
// 1 if one column alone moves with every factor, 1/D if all D columns move alike. With Components, columns are
// principal components of the codes. A factor is left out, with a note, if no two images differ in it alone, or if it
// moves no column.
type Manipulated struct {
	Reduction `yaml:",inline"`
}

// Needs returns KnownLevels.
func (*Manipulated) Needs() Needs { return KnownLevels }

// Better returns HigherIsBetter.
func (*Manipulated) Better() Direction { return HigherIsBetter }

// Range implements Bounded.
func (*Manipulated) Range() (least, most float64) { return 0, 1 }

// Validate checks the settings.
func (m *Manipulated) Validate() error { return m.Reduction.validate() }

// Suits implements Selective.
func (*Manipulated) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns the part per_factor, the largest share of a column, and the grid manipulation of variances. Both have
// only the factors that count.
func (m *Manipulated) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	in, err := m.reduce(in)
	if err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errors.New("there is no stream of random numbers to draw groups; want one")
	}
	var r Result
	g, err := Manipulation(ctx, in, in.Stream)
	if err != nil {
		return Result{}, err
	}
	if g.Name != gridOfVariances {
		r.Notes = append(r.Notes, "the grid is "+g.Name+", as their squares are no numbers")
	}
	part, moved := Part{Name: "per_factor"}, Grid{Name: gridOfVariances, Rows: g.Rows, Values: make([][]float64, len(g.Rows))}
	for j, name := range g.Columns {
		column := make([]float64, len(g.Values))
		for i := range g.Values {
			column[i] = g.Values[i][j]
		}
		share := largestShare(column)
		if math.IsNaN(share) { // of none, or of infinite variances
			r.Notes = append(r.Notes, "no column moves while "+name+" alone varies, or no two images differ in it alone")
			continue
		}
		moved.Columns = append(moved.Columns, name)
		for i, v := range column {
			moved.Values[i] = append(moved.Values[i], v)
		}
		part.Labels, part.Values = append(part.Labels, name), append(part.Values, share)
	}
	if len(part.Values) > 0 {
		r.Value = factor.Mean.Of(part.Values)
	}
	r.Parts, r.Grids = []Part{part}, []Grid{moved}
	return r, nil
}
