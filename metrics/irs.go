package metrics

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// IRS is the interventional robustness score of Suter et al. 2019, section 4, as
// disentanglement_lib computes it. For code column d and factor j,
//
//	IRS_dj = 1 - mean over levels of j of q_dj / max |z_d - mean z_d|
//
// where q_dj is a quantile over the rows with that level of |z_d - their mean|. The value is the mean over columns of
// the largest IRS_dj over factors, weighted by max |z_d - mean z_d|. It is 1 if every column is a function of one
// factor. It is about 0 or slightly less if the other factors move it as far as all factors together. Constant columns
// are left out; if all are constant, the value is 0.
//
// The rows need not be a grid. The levels of a factor weigh the same for any number of rows, and levels without rows do
// not count. The largest deviation of a column is over all rows with a known level.
//
// The paper has Quantile 1, the maximum; the library's default is 0.99. The library joins the levels of a factor in 20
// bins of equal width; Bins 0 keeps all levels apart.
type IRS struct {
	knownLevels

	Quantile float64 `yaml:"quantile" doc:"quantile of the deviations at a level; 1: the largest, as in the paper"`
	Bins     int     `yaml:"bins" doc:"number of bins for a factor's levels; 0: each level alone"`
}

// Better returns HigherIsBetter.
func (*IRS) Better() Direction { return HigherIsBetter }

// Range implements Bounded. Within a level, codes can be farther from their mean than any code is from the mean of all,
// but less than twice as far.
func (*IRS) Range() (least, most float64) { return -1, 1 }

// Validate checks the settings.
func (m *IRS) Validate() error {
	return cmp.Or(
		rule(m.Quantile >= 0 && m.Quantile <= 1, "quantile", "%v is out of range; want 0 to 1", m.Quantile),
		rule(m.Bins >= 0 && m.Bins <= mutual.MaxBins, "bins",
			"%d is out of range; want 0 (none) to %d", m.Bins, mutual.MaxBins),
	)
}

// Compute returns the parts per_column, per_factor (the largest IRS of a column) and max_deviation (the weights of the
// columns, in units of the codes). The grid irs has columns and factors.
func (m *IRS) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	d, k := in.Codes.Cols, len(in.Factors)
	groups := make([]*levels.Groups, k)
	for j := range groups {
		groups[j] = m.groups(in, j)
	}
	rows, largest := make([][]float64, d), make([]float64, d)
	err := parallel.Each(ctx, d, func(c int) (err error) {
		rows[c], largest[c], err = deviation.Robustness(ctx, in.Codes, c, groups, m.Quantile)
		return err
	})
	if err != nil {
		return Result{}, err
	}
	columns, deviations, factors := Part{Name: "per_column"}, Part{Name: "max_deviation"}, Part{Name: "per_factor", Values: make([]float64, k)}
	g := Grid{Name: "irs"}
	g.Columns = factor.Names(in.Factors)
	factors.Labels = g.Columns
	for c, row := range rows {
		if largest[c] == 0 {
			continue
		}
		g.Rows, g.Values = append(g.Rows, in.columnName(c)), append(g.Values, row)
		columns.Values = append(columns.Values, slices.Max(row))
		deviations.Values = append(deviations.Values, largest[c])
		for j, v := range row {
			factors.Values[j] = max(factors.Values[j], v)
		}
	}
	columns.Labels, deviations.Labels = g.Rows, g.Rows
	var r Result
	if n := d - len(g.Rows); n > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns are constant and left out", n, d))
	}
	if len(g.Rows) == 0 {
		return r, nil
	}
	// weights relative to the largest have a finite sum
	most, weights := slices.Max(deviations.Values), make([]float64, len(columns.Values))
	for i, v := range deviations.Values {
		weights[i] = v / most
	}
	r.Value = mutual.WeightedMean(columns.Values, weights)
	r.Parts, r.Grids = []Part{columns, factors, deviations}, []Grid{g}
	return r, nil
}

// groups returns the rows of every level of factor j, or of every bin of levels.
func (m *IRS) groups(in *Input, j int) *levels.Groups {
	if m.Bins == 0 {
		return in.table().Groups(j, nil)
	}
	known, values, k := make([]int, 0, in.Codes.Rows), make([]float64, 0, in.Codes.Rows), len(in.Factors)
	for i := range in.Codes.Rows {
		if l := in.Levels[i*k+j]; l >= 0 {
			known, values = append(known, i), append(values, float64(l))
		}
	}
	binned := levels.Table{Factors: []factor.Factor{{Size: m.Bins}}}
	binned.Levels = slices.Repeat([]int{factor.Unknown}, in.Codes.Rows)
	for at, b := range mutual.Bin(values, m.Bins) {
		binned.Levels[known[at]] = int(b)
	}
	return binned.Groups(0, nil)
}
