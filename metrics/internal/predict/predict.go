// Package predict predicts factors from codes, and codes from factors. It has logistic regression, boosted trees,
// nearest neighbours, and scores of predictions.
package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Logistic returns the accuracies on train and test rows of a logistic regression of each factor on standardised codes;
// c is the weight of the loss.
func Logistic(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int, c float64,
) (onTrain, onTest []float64, err error) {
	x, y := Standardise(codes, train, test)
	return logistic(ctx, x, y, codes.Cols, t, train, test, slices.Repeat([]float64{c}, len(t.Factors)))
}

// LogisticCV is [Logistic] on unscaled codes, with c chosen by cross-validation.
func LogisticCV(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int,
) (onTrain, onTest []float64, err error) {
	x, y := codes.Take(train), codes.Take(test)
	weights, err := CrossValidate(ctx, x, t.ByFactor(train), codes.Cols)
	if err != nil {
		return nil, nil, err
	}
	return logistic(ctx, x, y, codes.Cols, t, train, test, weights)
}

func logistic(
	ctx context.Context, x, y []float64, d int, t levels.Table, train, test []int, weights []float64,
) (onTrain, onTest []float64, err error) {
	inputs, err := linear.NewInputs(x, d)
	if err != nil {
		return nil, nil, err
	}
	for j, c := range weights {
		of := t.Of(j, train)
		model, err := inputs.Fit(ctx, of, c, fitIterations)
		if err != nil {
			return nil, nil, fmt.Errorf("factor %d: %w", j, err)
		}
		fitted, err := Labels(ctx, model, x, d)
		if err != nil {
			return nil, nil, err
		}
		predicted, err := Labels(ctx, model, y, d)
		if err != nil {
			return nil, nil, err
		}
		onTrain, onTest = append(onTrain, Accuracy(fitted, of)), append(onTest, Accuracy(predicted, t.Of(j, test)))
	}
	return onTrain, onTest, nil
}

// The settings of cross-validated logistic regression.
const (
	folds         = 5
	fitIterations = 200
)

// weightsOfLoss returns ten values of C from 1e-4 to 1e4, evenly spaced in log C.
func weightsOfLoss() []float64 {
	weights := make([]float64, 10)
	for i := range weights {
		weights[i] = math.Pow(10, -4+8*float64(i)/9)
	}
	return weights
}

// Labels predicts the labels of the rows of x.
func Labels(ctx context.Context, model *linear.Logistic, x []float64, d int) ([]int, error) {
	const together = 64
	labels := make([]int, len(x)/d)
	err := parallel.Each(ctx, (len(labels)+together-1)/together, func(part int) error {
		scratch := make([]float64, len(model.Classes))
		for i := part * together; i < min((part+1)*together, len(labels)); i++ {
			labels[i] = model.Predict(x[i*d:(i+1)*d], scratch)
		}
		return nil
	})
	return labels, err
}

// foldBounds returns the first row of each fold of n rows, and n. The first folds get the remainder's rows.
func foldBounds(n int) []int {
	count := min(folds, n)
	bounds := []int{0}
	for fold := range count {
		size := n / count
		if fold < n%count {
			size++
		}
		bounds = append(bounds, bounds[fold]+size)
	}
	return bounds
}

// CrossValidate returns every factor's weight C with the best mean accuracy over folds; ties go to the smallest C.
func CrossValidate(ctx context.Context, x []float64, labels [][]int, d int) ([]float64, error) {
	weights := weightsOfLoss()
	sums := numeric.Zeros(len(labels), len(weights))
	bounds := foldBounds(len(labels[0]))
	for fold, high := range bounds[1:] {
		low := bounds[fold]
		rest := append(append([]float64(nil), x[:low*d]...), x[high*d:]...)
		inputs, err := linear.NewInputs(rest, d)
		if err != nil {
			return nil, err
		}
		for j, l := range labels {
			path, err := inputs.Path(ctx, append(append([]int(nil), l[:low]...), l[high:]...), weights, fitIterations)
			if err != nil {
				return nil, fmt.Errorf("factor %d: %w", j, err)
			}
			for i, model := range path {
				predicted, err := Labels(ctx, model, x[low*d:high*d], d)
				if err != nil {
					return nil, err
				}
				sums[j][i] += Accuracy(predicted, l[low:high])
			}
		}
	}
	chosen := make([]float64, len(labels))
	const rounding = 1e-12
	for j, s := range sums {
		best := 0
		for i, v := range s {
			if v > s[best]+rounding {
				best = i
			}
		}
		chosen[j] = weights[best]
	}
	return chosen, nil
}

// Standardise returns the codes of train and test rows, standardised with statistics of the train rows.
func Standardise(codes matrix.Matrix, train, test []int) (x, y []float64) {
	d := codes.Cols
	x, y = make([]float64, len(train)*d), make([]float64, len(test)*d)
	unit := make([]float64, len(train))
	for c := range d {
		column := codes.Column(c, train)
		scale := matrix.Matrix{Rows: len(train), Cols: 1, Data: column}.UnitColumn(0, unit)
		for at, v := range unit {
			x[at*d+c] = v
		}
		if scale == 0 {
			continue
		}
		mean := matrix.Mean(column)
		for at, i := range test {
			y[at*d+c] = codes.Data[i*d+c]/scale - mean/scale
		}
	}
	return x, y
}

// Single returns, for each factor, the score of a single code column, with values x in the train rows and y in the test
// rows. If values has the factor's values of the train rows, the score is their squared correlation with the column.
// Otherwise it is the accuracy on the test levels of a support vector machine, with the given cost, fitted to the train
// levels.
func Single(
	ctx context.Context, x, y []float64, factors []factor.Factor, train, test [][]int, values [][]float64, cost float64,
) ([]float64, error) {
	row := make([]float64, len(factors))
	var column *linear.Column
	for j, f := range factors {
		if values[j] != nil {
			row[j] = squaredCorrelation(x, values[j])
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if column == nil {
			column = linear.NewColumn(x)
		}
		classify, predicted := column.Classify(train[j], f.Size, cost), make([]int, len(y))
		for at, v := range y {
			predicted[at] = classify(v)
		}
		row[j] = Accuracy(predicted, test[j])
	}
	return row, nil
}

// Ridge returns, for every factor, R^2 on the test rows of a ridge regression on the codes: x of the train rows and y
// of the test rows, d numbers each. It returns 0 for categorical factors. The penalty is 1/c. exact holds the values of
// continuous factors.
func Ridge(
	ctx context.Context, t levels.Table, exact [][]float64, x, y []float64, d int, train, test []int, c float64,
) ([]float64, error) {
	fits, first := make([]float64, len(t.Factors)), targets(t.Factors)
	columns := first[len(t.Factors)]
	var predicted, truth []float64
	if columns > 0 {
		fit := geometry.Regression{Interrupt: ctx.Err}
		if err := fit.LeastSquares(x, d, regressed(t, exact, first, train), columns, 1/(c*float64(len(train)*columns))); err != nil {
			return nil, err
		}
		truth, predicted = regressed(t, exact, first, test), make([]float64, len(test)*columns)
		for i := range test {
			to := predicted[i*columns : (i+1)*columns]
			copy(to, fit.Intercept)
			for at, v := range y[i*d : (i+1)*d] {
				for target, w := range fit.Weights[at*columns : (at+1)*columns] {
					to[target] += v * w
				}
			}
		}
	}
	for j := range fits {
		if first[j] < first[j+1] {
			fits[j] = Determination(truth, predicted, columns, first[j], first[j+1])
		}
	}
	return fits, nil
}

// targets returns the index of the first regression target of each factor, and at the end the number of targets. A
// categorical factor has no target, a circular factor has two (cosine and sine of its angle), and any other factor has
// one.
func targets(factors []factor.Factor) []int {
	first := make([]int, len(factors)+1)
	for j, f := range factors {
		first[j+1] = first[j] + map[factor.Kind]int{factor.Circular: 2, factor.Ordinal: 1}[f.Kind]
	}
	return first
}

// regressed returns the regression targets of some rows.
func regressed(t levels.Table, exact [][]float64, first, rows []int) []float64 {
	list := make([]float64, 0, len(rows)*first[len(first)-1])
	for _, i := range rows {
		for j, f := range t.Factors {
			level := t.Levels[i*len(t.Factors)+j]
			switch {
			case f.Kind == factor.Circular:
				s, c := math.Sincos(f.Angle(level))
				list = append(list, c, s)
			case exact != nil && exact[j] != nil:
				list = append(list, exact[j][i])
			case f.Kind == factor.Ordinal:
				list = append(list, f.Value(level))
			}
		}
	}
	return list
}

// Balanced returns codes for an affine fit, which ignores directions below 1e-12 of the largest. Columns with a
// standard deviation below 2^-30 of the largest get mean 0 and the largest deviation, unless they vary by rounding
// alone.
func Balanced(codes matrix.Matrix) matrix.Matrix {
	deviations, column := make([]float64, codes.Cols), make([]float64, codes.Rows)
	for c := range deviations {
		deviations[c] = codes.UnitColumn(c, column)
	}
	balanced, largest := codes, slices.Max(deviations)
	for c, d := range deviations {
		if d >= 0x1p-30*largest || d <= 1e-12*math.Abs(codes.Data[c]) {
			continue
		}
		if &balanced.Data[0] == &codes.Data[0] {
			balanced.Data = slices.Clone(codes.Data)
		}
		codes.UnitColumn(c, column)
		for i, v := range column {
			balanced.Row(i)[c] = v * largest
		}
	}
	return balanced
}

// Affine returns the predictions h_j(z) of the k values y_j of each row, row by row. h_j is the affine map of all code
// columns with the minimum mean squared error,
//
//	min_h 1/n sum_i (y_ij - h_j(z_i))^2
//
// explained is the fraction of each value's variance that h_j explains, or 0 if the value is constant.
func Affine(ctx context.Context, codes matrix.Matrix, y []float64, k int) (predicted, explained []float64, err error) {
	fit := geometry.Regression{Interrupt: ctx.Err}
	if err := fit.LeastSquares(Balanced(codes).Data, codes.Cols, y, k, 0); err != nil {
		return nil, nil, fmt.Errorf("affine map from codes to factors: %w", err)
	}
	predicted, explained = make([]float64, len(y)), make([]float64, k)
	for at, v := range y {
		predicted[at] = v - fit.Residuals[at]
	}
	values := matrix.Matrix{Rows: codes.Rows, Cols: k, Data: y}
	for j := range k {
		if total := deviation.Variance(values.Columns([]int{j}).Data, 1); total > 0 {
			explained[j] = 1 - fit.Errors[j]/total
		}
	}
	return predicted, explained, nil
}

// Accuracy is the fraction of n predictions that are correct:
//
//	1/n sum_i [predicted_i = levels_i]
func Accuracy(predicted, levels []int) float64 {
	right := 0
	for i, l := range levels {
		if predicted[i] == l {
			right++
		}
	}
	return float64(right) / float64(len(levels))
}

// Determination is the joint R^2 of predictions in the columns from first up to, but not including, last:
//
//	1 - sum (y - predicted)^2 / sum (y - mean)^2
//
// If y is constant, it is 1 for perfect predictions and otherwise 0.
func Determination(y, predicted []float64, columns, first, last int) float64 {
	var rest, all float64
	for c := first; c < last; c++ {
		var mean float64
		for i := c; i < len(y); i += columns {
			mean += y[i] / float64(len(y)/columns)
		}
		for i := c; i < len(y); i += columns {
			rest += (y[i] - predicted[i]) * (y[i] - predicted[i])
			all += (y[i] - mean) * (y[i] - mean)
		}
	}
	if all == 0 {
		if rest == 0 {
			return 1
		}
		return 0
	}
	return 1 - rest/all
}

// constantVariance is the largest variance (n-1 degrees of freedom) of a column that counts as constant in
// [squaredCorrelation].
const constantVariance = 1e-12

// squaredCorrelation is the score cov(x, y)^2 / (var x var y) of two lists of numbers x and y, where var y is above 0.
// It is 0 if x counts as constant.
func squaredCorrelation(x, y []float64) float64 {
	column := make([]float64, len(x))
	n := float64(len(x))
	scale := matrix.Matrix{Rows: len(x), Cols: 1, Data: x}.UnitColumn(0, column)
	if scale*scale*n/(n-1) <= constantVariance {
		return 0
	}
	var mean, square, product float64
	for _, v := range y {
		mean += v / n
	}
	for i, v := range y {
		v -= mean
		square += v * v
		product += v * column[i]
	}
	return product / square * product / n
}

// ConstantNote returns a note on columns that vary, but count as constant for squared correlations. names has their
// names.
func ConstantNote(codes matrix.Matrix, names []string) []string {
	var small []string
	n, column := float64(codes.Rows), make([]float64, codes.Rows)
	for c, name := range names {
		if s := codes.UnitColumn(c, column); s > 0 && s*s*n/(n-1) <= constantVariance {
			small = append(small, fmt.Sprintf("%s (standard deviation %.1g)", name, s))
		}
	}
	if len(small) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d columns count as constant, such as %s; want codes of size 1",
		len(small), len(names), small[0])}
}

// PenaltyNote returns a note if the penalty of support vector machines decides their scores, which needs large weights:
// every varying column is small or far from 0, or a large one is far from 0. names has the names of the columns.
func PenaltyNote(codes matrix.Matrix, names []string) []string {
	const small, far = 0.3, 3
	example, usual, distant, column := "", false, false, make([]float64, codes.Rows)
	for c, name := range names {
		deviation := codes.UnitColumn(c, column)
		mean := codes.Data[c] - column[0]*deviation
		large, near := deviation >= small, max(mean, -mean) <= far*deviation
		usual = usual || large && near
		if deviation > 0 && !(large && near) && (example == "" || large && !distant) {
			example = fmt.Sprintf("%s (mean %.2g, standard deviation %.2g)", name, mean, deviation)
			distant = large
		}
	}
	if example == "" || usual && !distant {
		return nil
	}
	return []string{"columns are small or far from 0, such as " + example +
		", so the penalty of the support vector machine lowers the value; want codes around 0, of size 1"}
}

// Vary reports whether a list has different values.
func Vary[T comparable](values []T) bool {
	return slices.ContainsFunc(values, func(v T) bool { return v != values[0] })
}

// Majority is the fraction of test levels equal to the most frequent train level, of ties the smallest.
func Majority(train, test []int, levels int) float64 {
	count := make([]int, levels)
	for _, l := range train {
		count[l]++
	}
	best := slices.Index(count, slices.Max(count))
	right := 0
	for _, l := range test {
		if l == best {
			right++
		}
	}
	return float64(right) / float64(len(test))
}
