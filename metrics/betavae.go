package metrics

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// addDifference adds a pair of codes z, z' to an input of the classifier, which predicts the factor. All L pairs of an
// input share a level of the factor (Higgins et al. 2017, section 3):
//
//	1/L sum_l |z_l - z'_l|, column by column
func addDifference(input, z, other []float64, pairs int) {
	for c, v := range z {
		input[c] += math.Abs(v-other[c]) / float64(pairs)
	}
}

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
	draw, err := newDrawing(in)
	if err != nil {
		return Result{}, err
	}
	d := in.Codes.Cols
	x, labels, err := m.points(ctx, draw, m.Train)
	if err != nil {
		return Result{}, err
	}
	y, answers, err := m.points(ctx, draw, m.Test)
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

// points draws n points, d numbers each, and their factors.
func (m *BetaVAE) points(ctx context.Context, draw *drawing, n int) (x []float64, labels []int, err error) {
	d := draw.in.Codes.Cols
	x, labels = make([]float64, n*d), make([]int, n)
	points := max(1, pairsAtOnce/m.Batch)
	rows := make([]int, 0, min(n, points)*2*m.Batch)
	for from := 0; from < n; from += points {
		rows = rows[:0]
		for i := from; i < min(from+points, n); i++ {
			if err := stops(ctx, i, 64); err != nil {
				return nil, nil, err
			}
			j := draw.factor()
			labels[i] = j
			for range m.Batch {
				first := draw.row(j)
				rows = append(rows, first, draw.like(first, j))
			}
		}
		of := 2 * m.Batch // rows of a point
		err := parallel.Each(ctx, len(rows)/of, func(i int) error {
			point := x[(from+i)*d : (from+i+1)*d]
			for at := i * of; at < (i+1)*of; at += 2 {
				addDifference(point, draw.in.Codes.Row(rows[at]), draw.in.Codes.Row(rows[at+1]), m.Batch)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return x, labels, nil
}

// pairsAtOnce is about the number of pairs that are drawn before their differences are computed.
const pairsAtOnce = 1 << 16

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
