package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// bothWays is the R2 of a factor V and a code column Z in both directions (Ross and Doshi-Velez 2021, equation 2). It
// joins the coefficients of determination of the two predictions:
//
//	R2(V <-> Z) = sqrt(max(0, R2(V -> Z)) max(0, R2(Z -> V)))
func bothWays(toCode, toFactor float64) float64 { return math.Sqrt(max(0, toCode) * max(0, toFactor)) }

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
	if m.Weights != weightsGroup && m.Weights != weightsPrinted {
		return config.Invalid("weights", "unknown weights %q; want group or printed", string(m.Weights))
	}
	return m.Predictions.Validate()
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
	switch {
	case p.Splits < 1 || p.Splits > maxPredictionSplits:
		return config.Invalid("splits", "%d is out of range; want 1 to %d", p.Splits, maxPredictionSplits)
	case p.Samples < 0:
		return config.Invalid("samples", "%d is negative; want 0 (all rows) or more", p.Samples)
	}
	return nil
}

// Suits implements Selective.
func (*R4C) Suits(in *Input) error { return fits(in.Hierarchy, "code", in.Codes.Cols) }

// Compute returns the part per_factor, and the grids r2 (both ways), r2_from_factor and
// r2_from_code of columns and factors.
func (m *R4) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	var names []string
	flat := make(hierarchy.Hierarchy, in.Codes.Cols)
	for c := range flat {
		names = append(names, in.columnName(c))
	}
	return m.compute(ctx, in, flat, names, nil)
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
func (p *Predictions) compute(ctx context.Context, in *Input, h hierarchy.Hierarchy, names []string, c *R4C) (Result, error) {
	if in.Stream == nil {
		return Result{}, fmt.Errorf("there is no stream of random numbers to split rows")
	}
	in = in.sized(matrix.Matrix.ForTrees)
	rows := p.sample(in)
	factors, codes, err := in.predictors(rows)
	if err != nil {
		return Result{}, err
	}
	conditional := c != nil
	b := &comparisons{codes: codes, categorical: len(h.Categoricals())}
	groups, of := make([][]*comparison, len(factors)), make([]int, len(factors))
	for j, v := range factors {
		active := make([]bool, len(rows))
		for i, value := range v.Values {
			if active[i] = !conditional || math.Abs(value) > inactive; active[i] && conditional && c.Weights == weightsPrinted {
				of[j]++
			}
		}
		b.factor, b.nextCategorical, b.nextContinuous = v, 0, b.categorical
		groups[j] = b.group(h, active)
	}
	if err := b.run(ctx, p.permutations(in, len(rows))); err != nil {
		return Result{}, err
	}
	r := b.result(in, names, conditional)
	r.Basis = Basis{Rows: len(rows), Train: len(rows) - len(rows)/4, Test: len(rows) / 4}
	per := Part{Name: "per_factor"}
	for j, f := range in.Factors {
		per.Labels, per.Values = append(per.Labels, f.Name), append(per.Values, best(groups[j], of[j]))
	}
	r.Value, r.Parts = factor.Mean.Of(per.Values), []Part{per}
	return r, nil
}

// sample returns all rows, or Samples random ones.
func (p *Predictions) sample(in *Input) (rows []int) {
	n := in.Codes.Rows
	if p.Samples == 0 || n <= p.Samples {
		rows = make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		return rows
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

// comparison is a factor and a code column on the rows where both are active.
type comparison struct {
	factor, code *predict.Column
	column       int // of the codes
	rows         []bool
	count        int // of rows

	toCode, toFactor float64 // R2(V -> Z) and R2(Z -> V)

	options [][]*comparison // of a categorical column: the columns of each option
	chosen  []int           // rows that chose it
}

// both returns R2(V <-> Z).
func (c *comparison) both() float64 { return bothWays(c.toCode, c.toFactor) }

// best returns S(V, g) of a group of columns. Options are weighted by fractions of the given number of rows, or, for 0,
// of the rows that chose an option.
func best(group []*comparison, of int) (score float64) {
	for _, c := range group {
		score = max(score, c.both())
		total, weighted := 0, 0.0
		for o, n := range c.chosen {
			total += n
			weighted += float64(n) * best(c.options[o], of)
		}
		if of > 0 {
			total = of
		}
		if total > 0 {
			score = max(score, weighted/float64(total))
		}
	}
	return score
}

// comparisons lists all comparisons, which lets them run concurrently.
type comparisons struct {
	codes                                        []*predict.Column
	categorical, nextCategorical, nextContinuous int // columns
	factor                                       *predict.Column
	list                                         []*comparison // by factor, and within it in pre-order
}

// group lists the comparisons of the current factor with the columns of a group on some rows.
func (b *comparisons) group(h hierarchy.Hierarchy, rows []bool) (group []*comparison) {
	count := 0
	for _, in := range rows {
		if in {
			count++
		}
	}
	for _, n := range h {
		c := &comparison{factor: b.factor, rows: rows, count: count}
		b.list, group = append(b.list, c), append(group, c)
		if !n.Categorical() {
			c.column, c.code = b.nextContinuous, b.codes[b.nextContinuous]
			b.nextContinuous++
			continue
		}
		c.column, c.code = b.nextCategorical, b.codes[b.nextCategorical]
		b.nextCategorical++
		for o, option := range n.Options {
			chose := make([]bool, len(rows))
			chosen := 0
			for i, in := range rows {
				if chose[i] = in && c.code.Values[i] == float64(o+1); chose[i] {
					chosen++
				}
			}
			c.chosen = append(c.chosen, chosen)
			c.options = append(c.options, b.group(option, chose))
		}
	}
	return group
}

// run fits and tests the trees of every comparison, both ways and for each split.
func (b *comparisons) run(ctx context.Context, orders [][]int) error {
	splits := len(orders)
	scores := make([]float64, 2*splits*len(b.list))
	err := parallel.Each(ctx, len(scores), func(at int) (err error) {
		c, way, s := b.list[at/(2*splits)], at/splits%2, at%splits
		from, to := c.factor, c.code
		if way == 1 {
			from, to = to, from
		}
		scores[at], err = predict.Score(ctx, from, to, c.rows, c.count, orders[s])
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range b.list {
		mine := scores[2*splits*i : 2*splits*(i+1)]
		c.toCode, c.toFactor = factor.Mean.Of(mine[:splits]), factor.Mean.Of(mine[splits:])
	}
	return nil
}

// result returns the grids of the comparisons, by column and factor.
func (b *comparisons) result(in *Input, names []string, conditional bool) Result {
	values := map[string]func(c *comparison) float64{
		"r2":             (*comparison).both,
		"r2_from_factor": func(c *comparison) float64 { return c.toCode },
		"r2_from_code":   func(c *comparison) float64 { return c.toFactor },
		"rows":           func(c *comparison) float64 { return float64(c.count) },
	}
	shown := []string{"r2", "r2_from_factor", "r2_from_code", "rows"}
	if !conditional {
		shown = shown[:3]
	}
	var r Result
	for _, name := range shown {
		g := Grid{Name: name, Rows: names}
		for _, f := range in.Factors {
			g.Columns = append(g.Columns, f.Name)
		}
		for range names {
			g.Values = append(g.Values, make([]float64, len(in.Factors)))
		}
		for at, c := range b.list {
			g.Values[c.column][at/len(names)] = values[name](c)
		}
		r.Grids = append(r.Grids, g)
	}
	return r
}

// predictors returns the factors and the code columns, restricted to some rows.
func (in *Input) predictors(rows []int) (factors, codes []*predict.Column, err error) {
	for j, f := range in.Factors {
		all, values := in.FactorValues(j), make([]float64, len(rows))
		for at, i := range rows {
			values[at] = all[i]
		}
		p, err := predict.NewColumn(values)
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
		p, err := predict.NewColumn(values)
		if err != nil {
			return nil, nil, fmt.Errorf("codes: column %d: %w", c, err)
		}
		codes = append(codes, p)
	}
	return factors, codes, nil
}
