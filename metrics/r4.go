package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/trees"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// R4 is the right-representation R^2 of Ross and Doshi-Velez 2021, equations 2 and 3, 0 to 1. It is the mean over
// factors V of the maximum over code columns Z of
//
//	R2(V <-> Z) = sqrt(max(0, R2(V -> Z)) max(0, R2(Z -> V)))
//
// where R2(X -> Y) is the mean over random splits of the coefficient of determination, on a quarter of the rows.
// Boosted trees, fitted to the other rows, predict Y from X alone. If Y is categorical (at most 10 values, all whole
// numbers), the trees are a classifier and R2 is its accuracy. The trees have 100 rounds and depth 3; they do not see
// differences of 1e-7 and less in X. As in the code of that paper, R2 is 1 if Y has a single value in either part, and
// 0 with fewer than two rows.
//
// It is 1 if every factor has a code column that is a bijection of it.
type R4 struct {
	eachLevel
	share

	Predictions `yaml:",inline"`
}

// newR4 returns the metric with its defaults.
func newR4() *R4 { return &R4{Predictions: Predictions{Splits: 5, Samples: 10000}} }

// R4C is R4 of hierarchical codes (Ross and Doshi-Velez 2021, equation 5), 0 to 1. It is the mean over factors V of
// S(V, g) of the outermost group g of code columns. It uses the rows where V is active (its absolute value is above
// 1e-10). On given rows,
//
//	S(V, g) = the largest, over columns Z of g, of R2(V <-> Z) and, if Z is categorical,
//	          sum over options o of Z of S(V, o), on the rows that chose o, weighted by their number
//
// and 0 for an empty group. The weights are fractions of the rows that chose an option of Z, as in the code of that
// paper. With Weights printed they are fractions of all rows where V is active, as equation 4 prints them. A column at
// depth k then counts the product of the fractions of all k options above it. Pushing a factor down into nested options
// lowers the score. For flat codes and factors without inactive values both equal R4.
//
// Input.Hierarchy names the code columns, laid out for metrics (see [hierarchy.Hierarchy.Row]).
type R4C struct {
	allLevels
	share

	Predictions `yaml:",inline"`
	Weights     OptionWeights `yaml:"weights" doc:"weight of an option: its share of the rows that chose an option of its column (group, authors' code) or of all rows with an active factor (printed, equation 4)"`
}

// OptionWeights names the denominator of an option's share of the rows.
type OptionWeights string

// The weights.
const (
	weightsGroup   OptionWeights = "group"
	weightsPrinted OptionWeights = "printed"
)

// Validate checks the settings.
func (m *R4C) Validate() error {
	return cmp.Or(oneOf("weights", "weights", m.Weights, weightsGroup, weightsPrinted), m.Predictions.Validate())
}

// Predictions sets the splits and rows of boosted trees.
type Predictions struct {
	Splits  int `yaml:"splits" doc:"number of random splits of the rows, 3/4 to train and 1/4 to test"`
	Samples int `yaml:"samples" doc:"largest number of rows to measure, chosen at random; 0: all rows"`
}

// The largest settings.
const maxPredictionSplits = 1000

// Validate checks the settings.
func (p *Predictions) Validate() error {
	return cmp.Or(within("splits", p.Splits, 1, maxPredictionSplits), notNegative("samples", p.Samples, "all rows"))
}

// Suits implements Selective.
func (*R4C) Suits(in *Input) error { return fits(in.Hierarchy, "code", in.Codes.Cols) }

// Compute returns the part per_factor, and the grids r2 (both ways), r2_from_factor and
// r2_from_code of columns and factors.
func (m *R4) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	return m.compute(ctx, in, make(hierarchy.Hierarchy, in.Codes.Cols), in.columnNames(nil), nil)
}

// Compute returns the part per_factor, and the grids r2 (both ways), r2_from_factor, r2_from_code and rows, all of
// columns and factors. It compares a column with a factor on the rows where the factor is active and the column's group
// is chosen.
func (m *R4C) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if err := in.optionsFit(); err != nil {
		return Result{}, err
	}
	return m.compute(ctx, in, in.Hierarchy, in.Hierarchy.Names(), m)
}

// compute scores every factor against a hierarchy of the code columns; R4C uses the rows where the factor is active.
func (p *Predictions) compute(
	ctx context.Context, in *Input, h hierarchy.Hierarchy, names []string, c *R4C,
) (Result, error) {
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	in = in.sized(matrix.Matrix.ForTrees)
	rows := p.sample(in)
	factors, codes, err := in.predictors(rows)
	if err != nil {
		return Result{}, err
	}
	active, of := make([][]bool, len(factors)), make([]int, len(factors))
	for j, v := range factors {
		active[j] = make([]bool, len(rows))
		for i, value := range v.Values {
			active[j][i] = c == nil || math.Abs(value) > inactive
			if active[j][i] && c != nil && c.Weights == weightsPrinted {
				of[j]++
			}
		}
	}
	list, groups, err := trees.Compare(ctx, factors, codes, h, active, p.permutations(in, len(rows)))
	if err != nil {
		return Result{}, err
	}
	n := len(rows)
	r := Result{Grids: comparisonGrids(in, names, list), Basis: Basis{Rows: n, Train: n - n/4, Test: n / 4}}
	if c == nil {
		r.Grids = r.Grids[:3]
	}
	per := in.perFactor(nil)
	for j, group := range groups {
		per.Values = append(per.Values, trees.Best(group, of[j]))
	}
	r.Value, r.Parts = factor.Mean.Of(per.Values), []Part{per}
	return r, nil
}

// sample returns all rows, or Samples random ones.
func (p *Predictions) sample(in *Input) (rows []int) {
	n := in.Codes.Rows
	if p.Samples == 0 || n <= p.Samples {
		return numbers(n)
	}
	return in.Stream.Perm(n)[:p.Samples]
}

// permutations returns a random order of n rows for every split; the first quarter of any subset tests.
func (p *Predictions) permutations(in *Input, n int) [][]int {
	orders := make([][]int, p.Splits)
	for s := range orders {
		orders[s] = in.Stream.Perm(n)
	}
	return orders
}

// comparisonGrids returns the grids of comparisons, by column and factor.
func comparisonGrids(in *Input, names []string, list []*trees.Comparison) (grids []Grid) {
	for _, show := range []struct {
		name  string
		value func(c *trees.Comparison) float64
	}{
		{"r2", (*trees.Comparison).Both},
		{"r2_from_factor", func(c *trees.Comparison) float64 { return c.ToCode }},
		{"r2_from_code", func(c *trees.Comparison) float64 { return c.ToFactor }},
		{"rows", func(c *trees.Comparison) float64 { return float64(c.Count) }},
	} {
		g := Grid{Name: show.name, Rows: names, Columns: factor.Names(in.Factors)}
		for range names {
			g.Values = append(g.Values, make([]float64, len(in.Factors)))
		}
		for at, c := range list {
			g.Values[c.Column][at/len(names)] = show.value(c)
		}
		grids = append(grids, g)
	}
	return grids
}

// predictors returns the factors and the code columns, restricted to some rows.
func (in *Input) predictors(rows []int) (factors, codes []*trees.Column, err error) {
	for j, f := range in.Factors {
		all, values := in.FactorValues(j), make([]float64, len(rows))
		for at, i := range rows {
			values[at] = all[i]
		}
		p, err := trees.NewColumn(values)
		if err != nil {
			return nil, nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		factors = append(factors, p)
	}
	for c := range in.Codes.Cols {
		values := make([]float64, len(rows))
		for at, i := range rows {
			values[at] = in.Codes.Row(i)[c]
		}
		p, err := trees.NewColumn(values)
		if err != nil {
			return nil, nil, fmt.Errorf("codes: column %d: %w", c, err)
		}
		codes = append(codes, p)
	}
	return factors, codes, nil
}
