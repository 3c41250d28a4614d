// Package trees predicts columns of numbers from each other with boosted trees.
package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Importances holds the importances of code columns for boosted trees, one tree ensemble for each factor, and the
// quality of the predictions.
type Importances struct {
	Factors     []int       // predicted factors
	Single      []int       // factors with one level among the train rows, which are not predicted
	Of          [][]float64 // by column and factor
	Train, Test []float64   // by factor: accuracy of classifiers; R^2, or 0, of regressors
}

func (m *Importances) add(j int, importance []float64, train float64) {
	m.Factors, m.Train = append(m.Factors, j), append(m.Train, train)
	for c, v := range importance {
		m.Of[c] = append(m.Of[c], v)
	}
}

// Join adds the importances for other factors, given the numbers of these factors.
func (m *Importances) Join(x *Importances, factors []int) {
	m.Factors, m.Train, m.Test = append(m.Factors, levels.Chosen(factors, x.Factors)...), append(m.Train, x.Train...),
		append(m.Test, x.Test...)
	for c, v := range x.Of {
		m.Of[c] = append(m.Of[c], v...)
	}
}

// Classify fits a classifier of each factor to the train rows and scores it on the test rows. Splits may be binned.
func Classify(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int, bins int, o gbt.Options,
) (*Importances, error) {
	x, err := gbt.NewColumns(len(train), codes.Cols, codes.Take(train))
	if bins > 0 {
		x, err = gbt.NewBinned(len(train), codes.Cols, codes.Take(train), bins)
	}
	if err != nil {
		return nil, err
	}
	y, err := gbt.NewColumns(len(test), codes.Cols, codes.Take(test))
	if err != nil {
		return nil, err
	}
	m := &Importances{Of: make([][]float64, codes.Cols)}
	for j, f := range t.Factors {
		trainLevels := t.Of(j, train)
		if !predict.Vary(trainLevels) {
			m.Single = append(m.Single, j)
			continue
		}
		classifier, err := gbt.FitClassifier(ctx, x, trainLevels, o)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		predicted, err := classifier.Predict(ctx, y)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		m.add(j, classifier.Importance(), predict.Accuracy(classifier.Fitted(), trainLevels))
		m.Test = append(m.Test, predict.Accuracy(predicted, t.Of(j, test)))
	}
	return m, nil
}

// Accuracies returns the accuracies of a classifier for each factor on the train and the test rows. For a factor with
// only one level in the train rows, it always predicts this level.
func Accuracies(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int,
) (onTrain, onTest []float64, err error) {
	x, err := Classify(ctx, codes, t, train, test, 0, gbt.Defaults())
	if err != nil {
		return nil, nil, err
	}
	onTrain, onTest = make([]float64, len(t.Factors)), make([]float64, len(t.Factors))
	for n, j := range x.Factors {
		onTrain[j], onTest[j] = x.Train[n], x.Test[n]
	}
	for _, j := range x.Single {
		onTrain[j], onTest[j] = 1, predict.Majority(t.Of(j, train), t.Of(j, test), t.Factors[j].Size)
	}
	return onTrain, onTest, nil
}

// Regress fits a regressor for each varying factor to all rows. values has the numbers of the factors, row by row.
func Regress(
	ctx context.Context, codes matrix.Matrix, t levels.Table, values []float64, o gbt.Options,
) (*Importances, error) {
	x, err := gbt.NewColumns(codes.Rows, codes.Cols, codes.Data)
	if err != nil {
		return nil, err
	}
	m := &Importances{Of: make([][]float64, codes.Cols)}
	for _, j := range t.Varying(codes.Rows) {
		targets := make([]float64, codes.Rows)
		for i := range targets {
			targets[i] = values[i*len(t.Factors)+j]
		}
		r, err := gbt.FitRegressor(ctx, x, targets, o)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", t.Factors[j].Name, err)
		}
		m.add(j, r.Importance(), max(0, predict.Determination(targets, r.Fitted(), 1, 0, 1)))
	}
	return m, nil
}

// Comparison compares a factor with a code column, on the rows where both are active.
type Comparison struct {
	Column           int     // code column
	Count            int     // number of rows
	ToCode, ToFactor float64 // R2(V -> Z) and R2(Z -> V)

	factor, code *Column
	rows         []bool
	options      [][]*Comparison // for a categorical column: the columns of each option
	optionRows   []int           // number of rows that chose each option
}

// Both is R2 of a factor V and a code column Z in both directions (Ross and Doshi-Velez 2021, equation 2). It combines
// the coefficients of determination of the two predictions:
//
//	R2(V <-> Z) = sqrt(max(0, R2(V -> Z)) max(0, R2(Z -> V)))
func (c *Comparison) Both() float64 { return math.Sqrt(max(0, c.ToCode) * max(0, c.ToFactor)) }

// Compare fits and tests trees for every factor and every code column in both directions, for each order of the rows.
// The first quarter of an order is for testing. The hierarchy says in which rows a column is active, and active says
// the same for factors. It returns all comparisons, by factor and in pre-order of the columns, and the outermost group
// of columns for each factor.
func Compare(
	ctx context.Context, factors, codes []*Column, h hierarchy.Hierarchy, active [][]bool, orders [][]int,
) (list []*Comparison, groups [][]*Comparison, err error) {
	b := &comparisons{codes: codes, categorical: len(h.Categoricals())}
	for j, v := range factors {
		b.factor, b.nextCategorical, b.nextContinuous = v, 0, b.categorical
		groups = append(groups, b.group(h, active[j]))
	}
	return b.list, groups, b.run(ctx, orders)
}

// Best returns S(V, g) of a group of columns. Options are weighted by fractions of the given number of rows or, if it
// is 0, of the rows that chose an option.
func Best(group []*Comparison, totalRows int) (score float64) {
	for _, c := range group {
		score = max(score, c.Both())
		total, weighted := 0, 0.0
		for o, n := range c.optionRows {
			total += n
			weighted += float64(n) * Best(c.options[o], totalRows)
		}
		if totalRows > 0 {
			total = totalRows
		}
		if total > 0 {
			score = max(score, weighted/float64(total))
		}
	}
	return score
}

// comparisons lists all comparisons, so they can run concurrently.
type comparisons struct {
	codes                                        []*Column
	categorical, nextCategorical, nextContinuous int // columns
	factor                                       *Column
	list                                         []*Comparison // by factor, and within it in pre-order
}

// group lists the comparisons of the current factor with the columns of a group, on some rows.
func (b *comparisons) group(h hierarchy.Hierarchy, rows []bool) (group []*Comparison) {
	count := 0
	for _, in := range rows {
		if in {
			count++
		}
	}
	for _, n := range h {
		c := &Comparison{factor: b.factor, rows: rows, Count: count}
		b.list, group = append(b.list, c), append(group, c)
		if !n.Categorical() {
			c.Column, c.code = b.nextContinuous, b.codes[b.nextContinuous]
			b.nextContinuous++
			continue
		}
		c.Column, c.code = b.nextCategorical, b.codes[b.nextCategorical]
		b.nextCategorical++
		for o, option := range n.Options {
			optionMask := make([]bool, len(rows))
			optionCount := 0
			for i, in := range rows {
				if optionMask[i] = in && c.code.Values[i] == float64(o+1); optionMask[i] {
					optionCount++
				}
			}
			c.optionRows = append(c.optionRows, optionCount)
			c.options = append(c.options, b.group(option, optionMask))
		}
	}
	return group
}

// run fits and tests the trees of every comparison in both directions and for each split.
func (b *comparisons) run(ctx context.Context, orders [][]int) error {
	splits := len(orders)
	scores := make([]float64, 2*splits*len(b.list))
	err := parallel.Each(ctx, len(scores), func(index int) (err error) {
		c, direction, s := b.list[index/(2*splits)], index/splits%2, index%splits
		from, to := c.factor, c.code
		if direction == 1 {
			from, to = to, from
		}
		scores[index], err = Score(ctx, from, to, c.rows, c.Count, orders[s])
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range b.list {
		pairScores := scores[2*splits*i : 2*splits*(i+1)]
		c.ToCode, c.ToFactor = factor.Mean.Of(pairScores[:splits]), factor.Mean.Of(pairScores[splits:])
	}
	return nil
}

// maxClasses is the maximum number of distinct values of a categorical column.
const maxClasses = 10

// Column is a factor or a code column as numbers.
type Column struct {
	Values     []float64 // by row
	treeValues []float64 // by row: the numbers that trees see
	order      []int     // rows in the order of their values
}

// NewColumn sorts the rows of a column. Values that are too large for single precision are an error.
func NewColumn(values []float64) (*Column, error) {
	p := &Column{Values: values, treeValues: values, order: make([]int, len(values))}
	for i, v := range values {
		if !(math.Abs(v) <= math.MaxFloat32) {
			return nil, fmt.Errorf("the value %v is too large for trees, which compare in single precision", v)
		}
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return p, nil
}

// NewFactor is NewColumn for a factor. R^2 does not depend on the unit of a factor, so a factor that is [Coarse] for
// trees, such as a time in seconds or a length in metres, is mapped to [0, 1].
func NewFactor(values []float64) (*Column, error) {
	p, err := NewColumn(values)
	if err != nil {
		return nil, err
	}
	if _, _, joined := Coarse(values); joined {
		low, high := slices.Min(values), slices.Max(values)
		p.treeValues = make([]float64, len(values))
		for i, v := range values {
			p.treeValues[i] = (v - low) / (high - low)
		}
	}
	return p, nil
}

// Coarse reports whether trees take different numbers of a column for equal, and see fewer than 100 steps in its
// standard deviation. Importances and accuracies then fall. Trees take numbers that differ by at most 1e-7 for equal,
// and round to single precision.
func Coarse(values []float64) (deviation, step float64, joined bool) {
	const steps = 100
	m := matrix.Matrix{Rows: len(values), Cols: 1, Data: values}
	sorted := make([]float64, len(values))
	deviation, step = m.UnitColumn(0, sorted), 1e-7
	for _, v := range values {
		step = max(step, math.Abs(v)*0x1p-23)
	}
	if deviation == 0 || deviation >= steps*step {
		return deviation, step, false
	}
	copy(sorted, values)
	slices.Sort(sorted)
	for i, v := range sorted[1:] {
		if last := sorted[i]; v > last && float32(v)-float32(last) <= 1e-7 {
			return deviation, step, true
		}
	}
	return deviation, step, false
}

// Score fits trees that predict column to from column from, on count of the rows. It returns R^2, or the accuracy for a
// categorical column. The first quarter of these rows is for testing, the rest for training.
func Score(ctx context.Context, from, to *Column, rows []bool, count int, order []int) (float64, error) {
	if count < 2 {
		return 0, nil
	}
	testing := make([]bool, len(rows))
	tests := (count + 3) / 4
	for _, i := range order {
		if rows[i] && tests > 0 {
			testing[i] = true
			tests--
		}
	}
	classify, y := categorical(to, rows), to.treeValues
	if classify {
		y = to.Values
	}
	var train, test sample
	for _, i := range from.order {
		switch {
		case !rows[i]:
		case testing[i]:
			test.add(from.treeValues[i], y[i])
		default:
			train.add(from.treeValues[i], y[i])
		}
	}
	if !predict.Vary(train.y) || !predict.Vary(test.y) {
		return 1, nil
	}
	column, err := gbt.NewColumn(train.x)
	if err != nil {
		return 0, err
	}
	groups := column.Groups(test.x)
	if classify {
		predicted, err := column.Classify(ctx, numeric.Convert[int](train.y), gbt.Defaults())
		if err != nil {
			return 0, err
		}
		right := 0
		for i, g := range groups {
			if predicted[g] == int(test.y[i]) {
				right++
			}
		}
		return float64(right) / float64(len(groups)), nil
	}
	predicted, err := column.Regress(ctx, train.y, gbt.Defaults())
	if err != nil {
		return 0, err
	}
	return test.determination(func(i int) float64 { return predicted[groups[i]] }), nil
}

// sample is a list of pairs (x, y), ascending in x.
type sample struct{ x, y []float64 }

func (s *sample) add(x, y float64) { s.x, s.y = append(s.x, x), append(s.y, y) }

// determination returns R^2 = 1 - sum (y - estimate)^2 / sum (y - mean)^2.
func (s *sample) determination(estimate func(i int) float64) float64 {
	mean, residual, variance := factor.Mean.Of(s.y), 0.0, 0.0
	for i, y := range s.y {
		e := y - estimate(i)
		residual += e * e
		variance += (y - mean) * (y - mean)
	}
	if variance == 0 { // the squares underflow
		return 1
	}
	return 1 - residual/variance
}

// categorical reports whether a column has at most maxClasses distinct values on some rows, all whole numbers.
func categorical(p *Column, rows []bool) bool {
	values := make([]float64, 0, maxClasses)
	for i, in := range rows {
		v := p.Values[i]
		if !in || slices.Contains(values, v) {
			continue
		}
		if v != math.Trunc(v) || math.Abs(v) > 1<<31 || len(values) == maxClasses {
			return false
		}
		values = append(values, v)
	}
	return true
}
