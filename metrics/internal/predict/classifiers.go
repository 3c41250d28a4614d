// Package predict predicts factors from codes, and codes from factors: logistic regression, boosted trees, nearest
// neighbours, and the quality of predictions.
package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Logistic returns the accuracies on train and test rows of a logistic regression of each factor from standardised codes,
// with the weight c of the loss.
func Logistic(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int, c float64,
) (onTrain, onTest []float64, err error) {
	x, y := Standardise(codes, train, test)
	return logistic(ctx, x, y, codes.Cols, t, train, test, slices.Repeat([]float64{c}, len(t.Factors)))
}

// LogisticCV is [Logistic] of codes as given; cross-validation chooses c.
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

// foldBounds returns the first row of each fold of n rows, and n. The first folds have the rows left over.
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

// CrossValidate returns, for every factor, the weight C with the best mean accuracy over folds, or the smallest such
// weight.
func CrossValidate(ctx context.Context, x []float64, labels [][]int, d int) ([]float64, error) {
	weights := weightsOfLoss()
	sums := make([][]float64, len(labels))
	for j := range sums {
		sums[j] = make([]float64, len(weights))
	}
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

// Standardise returns the codes of the train and of the test rows, standardised by mean and standard deviation of
// every column over the train rows.
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
