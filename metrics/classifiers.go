package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// classify predicts the labels of rows.
type classify func(ctx context.Context, x []float64) ([]int, error)

// Settings of cross-validated logistic regression.
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

func validWeight(c float64) error {
	if !(c > 0) || math.IsInf(c, 0) {
		return config.Invalid("c", "%v is not a positive number", c)
	}
	return nil
}

// fit fits a classifier of each factor.
func (m *Downstream) fit(ctx context.Context, x []float64, labels [][]int, d int) ([]classify, error) {
	switch m.Predictor {
	case Boosted:
		return fitBoosted(ctx, x, labels, d)
	case LogisticCV:
		weights, err := crossValidate(ctx, x, labels, d)
		if err != nil {
			return nil, err
		}
		return fitLogistic(ctx, x, labels, d, weights)
	}
	weights := make([]float64, len(labels))
	for j := range weights {
		weights[j] = m.C
	}
	return fitLogistic(ctx, x, labels, d, weights)
}

// fitLogistic fits a logistic regression of each factor, with the weight C of its loss.
func fitLogistic(ctx context.Context, x []float64, labels [][]int, d int, weights []float64) ([]classify, error) {
	inputs, err := linear.NewInputs(x, d)
	if err != nil {
		return nil, err
	}
	models := make([]classify, len(labels))
	for j, l := range labels {
		model, err := inputs.Fit(ctx, l, weights[j], fitIterations)
		if err != nil {
			return nil, fmt.Errorf("factor %d: %w", j, err)
		}
		models[j] = func(ctx context.Context, x []float64) ([]int, error) { return predictAll(ctx, model, x, d) }
	}
	return models, nil
}

// predictAll predicts the labels of the rows of x.
func predictAll(ctx context.Context, model *linear.Logistic, x []float64, d int) ([]int, error) {
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

// crossValidate returns, for every factor, the weight C with the best mean accuracy over folds, or the smallest such
// weight.
func crossValidate(ctx context.Context, x []float64, labels [][]int, d int) ([]float64, error) {
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
				predicted, err := predictAll(ctx, model, x[low*d:high*d], d)
				if err != nil {
					return nil, err
				}
				sums[j][i] += accuracy(predicted, l[low:high])
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

// fitBoosted fits boosted trees of each factor.
func fitBoosted(ctx context.Context, x []float64, labels [][]int, d int) ([]classify, error) {
	columns, err := gbt.NewColumns(len(labels[0]), d, x)
	if err != nil {
		return nil, err
	}
	models := make([]classify, len(labels))
	for j, l := range labels {
		if !varies(l) {
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
