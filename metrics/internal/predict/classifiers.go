// Package predict predicts factors from codes, and codes from factors: logistic regression, boosted trees, nearest
// neighbours, and the quality of predictions.
package predict

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Classifier predicts the labels of rows.
type Classifier func(ctx context.Context, x []float64) ([]int, error)

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

// FitLogistic fits a logistic regression of each factor, with the weight C of its loss.
func FitLogistic(ctx context.Context, x []float64, labels [][]int, d int, weights []float64) ([]Classifier, error) {
	inputs, err := linear.NewInputs(x, d)
	if err != nil {
		return nil, err
	}
	models := make([]Classifier, len(labels))
	for j, l := range labels {
		model, err := inputs.Fit(ctx, l, weights[j], fitIterations)
		if err != nil {
			return nil, fmt.Errorf("factor %d: %w", j, err)
		}
		models[j] = func(ctx context.Context, x []float64) ([]int, error) { return Labels(ctx, model, x, d) }
	}
	return models, nil
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

// FitBoosted fits boosted trees of each factor.
func FitBoosted(ctx context.Context, x []float64, labels [][]int, d int) ([]Classifier, error) {
	columns, err := gbt.NewColumns(len(labels[0]), d, x)
	if err != nil {
		return nil, err
	}
	models := make([]Classifier, len(labels))
	for j, l := range labels {
		if !Vary(l) {
			only := l[:1]
			models[j] = func(_ context.Context, x []float64) ([]int, error) { return slices.Repeat(only, len(x)/d), nil }
			continue
		}
		model, err := gbt.FitClassifier(ctx, columns, l, gbt.Defaults())
		if err != nil {
			return nil, fmt.Errorf("factor %d: %w", j, err)
		}
		models[j] = func(ctx context.Context, x []float64) ([]int, error) {
			rows, err := gbt.NewColumns(len(x)/d, d, x)
			if err != nil {
				return nil, err
			}
			return model.Predict(ctx, rows)
		}
	}
	return models, nil
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
