package metrics

import (
	"context"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/metrics/internal/votes"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// BetaVAE is the score of Higgins et al. 2017, section 3, as disentanglement_lib computes it, 0 to 1. A point is the
// mean of |z - z'|, column by column, over Batch pairs of rows that share the level of a random factor. A logistic
// regression (L2 penalty, C = 1), fitted to Train points, predicts the factor; the value is its accuracy on Test
// points.
//
// The rows need not be a grid. A point draws its factor uniformly, and the rows of each pair from the table. The first
// row is uniform among the rows with a known level, which draws a level by its frequency. The second is uniform among
// the rows with the same level, and may be the same row. On a full grid of levels all other factors are uniform and
// independent, as in the paper. On other tables they are distributed as among the rows with that level. With
// Standardise, inputs are divided by their standard deviation over the Train points. Table 2 of Zhang and Sugiyama 2024
// does this, with Batch 8.
type BetaVAE struct {
	knownLevels
	share

	Batch       int  `yaml:"batch" doc:"pairs of images averaged for one point"`
	Train       int  `yaml:"train" doc:"number of training points"`
	Test        int  `yaml:"test" doc:"number of test points"`
	Standardise bool `yaml:"standardise" doc:"divide the differences of every column by their standard deviation"`
}

// Validate checks the settings.
func (m *BetaVAE) Validate() error { return validDraws(m.Batch, 1, m.Train, m.Test) }

// Suits implements Selective.
func (*BetaVAE) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns the parts per_factor (accuracy on the test points of each factor) and train (accuracy on the train
// points).
func (m *BetaVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	draw := votes.NewDraw(in.table(), in.known(), in.Stream)
	d := in.Codes.Cols
	x, labels, err := draw.Differences(ctx, in.Codes, m.Train, m.Batch)
	if err != nil {
		return Result{}, err
	}
	y, answers, err := draw.Differences(ctx, in.Codes, m.Test, m.Batch)
	if err != nil {
		return Result{}, err
	}
	var scales []float64
	if m.Standardise {
		scales = make([]float64, d)
		unit := make([]float64, m.Train)
		for c := range scales {
			if scales[c] = (matrix.Matrix{Rows: m.Train, Cols: d, Data: x}).UnitColumn(c, unit); scales[c] == 0 {
				scales[c] = 1
			}
		}
		for i := range x {
			x[i] /= scales[i%d]
		}
		for i := range y {
			y[i] /= scales[i%d]
		}
	}
	model, err := linear.FitLogistic(ctx, x, d, labels, 1, 1000)
	if err != nil {
		return Result{}, err
	}
	part, value := predicted(in, model, y, answers)
	_, fitted := predicted(in, model, x, labels)
	r := Result{Value: value, Basis: Basis{Train: m.Train, Test: m.Test, Shared: true}, Parts: []Part{part, {Name: "train", Values: []float64{fitted}}}}
	if !model.Converged {
		r.Notes = append(r.Notes, "the regression has not converged")
	}
	return r, nil
}

// predicted returns the accuracy on the points of each factor, and on all points.
func predicted(in *Input, model *linear.Logistic, x []float64, factors []int) (Part, float64) {
	d := in.Codes.Cols
	scratch := make([]float64, len(in.Factors))
	right, all := make([]float64, len(in.Factors)), make([]float64, len(in.Factors))
	for i, j := range factors {
		all[j]++
		if model.Predict(x[i*d:(i+1)*d], scratch) == j {
			right[j]++
		}
	}
	return perFactor(in, right, all), factor.Sum.Of(right) / float64(len(factors))
}
