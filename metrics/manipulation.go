package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

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
	knownLevels
	share

	Reduction `yaml:",inline"`
}

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
		return Result{}, errNoStream
	}
	var r Result
	g, err := Manipulation(ctx, in, in.Stream)
	if err != nil {
		return Result{}, err
	}
	if g.Name != gridOfVariances {
		r.Notes = append(r.Notes, "the grid is "+g.Name+", as the squares of the codes overflow or vanish")
	}
	part, moved := Part{Name: "per_factor"}, Grid{Name: gridOfVariances, Rows: g.Rows, Values: make([][]float64, len(g.Rows))}
	for j, name := range g.Columns {
		column := make([]float64, len(g.Values))
		for i := range g.Values {
			column[i] = g.Values[i][j]
		}
		share := deviation.LargestShare(column)
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

// manipulatedRows is the number of rows that Manipulation measures for each factor, rounded up to whole groups.
const manipulatedRows = 20000

const gridOfVariances = "manipulation"

// Manipulation returns the variance of every code column while one factor varies and all others are fixed (Cao et al.
// 2022, section 4.3, figures 3 and 12), in squared units of the codes. Images that agree in all other factors form a
// group. The variance is the sum of squared distances from the mean of the group, divided by the number of images minus
// the number of groups. Groups are drawn at random, without replacement, until they hold 20,000 images. Rows of the
// grid are code columns, columns are factors; NaN where no two images differ in that factor alone. Images with an
// unknown level are left out, and so are factors without a known level. Codes with squares that overflow or vanish are
// divided by a power of two, which the grid's name tells. The only error is the context's.
func Manipulation(ctx context.Context, in *Input, s *rng.Stream) (Grid, error) {
	in = in.complete()
	k, name := len(in.Factors), gridOfVariances
	if sized := in.sized(matrix.Matrix.ForSquares); sized != in {
		name, in = fmt.Sprintf("%s of codes divided by 2^%d", gridOfVariances, in.Codes.Exponent()), sized
	}
	g := Grid{Name: name, Values: make([][]float64, in.Codes.Cols)}
	for c := range g.Values {
		g.Rows, g.Values[c] = append(g.Rows, in.columnName(c)), make([]float64, k)
	}
	for j, f := range in.Factors {
		g.Columns = append(g.Columns, f.Name)
		groups, freedom := deviation.Draw(in.table().Alone(j), manipulatedRows, s)
		err := parallel.Each(ctx, in.Codes.Cols, func(c int) error {
			g.Values[c][j] = math.NaN()
			if freedom > 0 {
				g.Values[c][j] = deviation.Within(in.Codes, groups, c) / float64(freedom)
			}
			return nil
		})
		if err != nil {
			return Grid{}, err
		}
	}
	return g, nil
}
