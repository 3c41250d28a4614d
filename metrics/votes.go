package metrics

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/votes"
)

// FactorVAE is the score of Kim and Mnih 2018, section 4, as disentanglement_lib computes it, 0 to 1. For a vote, Batch
// rows are drawn with the same level of a random factor. The vote is the column with the smallest variance over these
// rows, relative to its variance over all rows. If variances differ by less than a millionth, the first column wins.
// Columns with a standard deviation below Prune are left out. Each column is assigned to the factor with most of the
// column's Train votes. The value is the fraction of Test votes whose column is assigned to the drawn factor. It is 0
// if all columns are left out.
//
// The rows need not form a grid. A vote draws its factor uniformly, and its rows from the table. The first row is
// uniform among the rows with a known level, so a level is drawn with its frequency. The others are uniform among the
// rows with that level, with replacement. On a full grid all other factors are then uniform and independent, as in the
// paper.
//
// Table 2 of Zhang and Sugiyama 2024 uses Direct (column i is assigned to factor i, without Train votes), Raw (absolute
// variances), Batch 8 and Prune 0.
type FactorVAE struct {
	knownLevels
	twoFactors
	share

	Batch  int     `yaml:"batch" doc:"rows of one vote"`
	Train  int     `yaml:"train" doc:"number of training votes, to assign a factor to every column"`
	Test   int     `yaml:"test" doc:"number of test votes"`
	Prune  float64 `yaml:"prune" doc:"smallest standard deviation of a column; columns below it are left out"`
	Direct bool    `yaml:"direct" doc:"assign factor i to column i, without training votes"`
	Raw    bool    `yaml:"raw" doc:"compare variances without dividing by the variance over all rows"`
}

func (m *FactorVAE) Validate() error {
	return cmp.Or(rule(m.Prune >= 0 && !math.IsInf(m.Prune, 0), "prune",
		"%v is not a number of at least 0", m.Prune), validDraws(m.Batch, 2, m.Train, m.Test))
}

// Compute returns the part per_factor (the fraction of correct votes among the factor's Test votes) and, without
// Direct, train (the fraction among all Train votes). The grid votes counts the Train votes (with Direct: the Test
// votes) by column and factor.
func (m *FactorVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := readyWithLevels(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	draw := votes.NewDraw(in.table(), in.knownRows(), in.Stream)
	r := Result{Notes: in.unpredictableFactors()}
	d := in.Codes.Cols
	active, scales := votes.Active(in.Codes, m.Prune, m.Raw)
	if len(active) < d {
		r.note("%d of %d columns are left out: their standard deviation is too small", d-len(active), d)
	}
	if len(active) == 0 {
		return r, nil
	}
	columns := votes.NewColumns(in.Codes, active, scales)
	columnFactors := slices.Repeat([]int{-1}, d) // the factor that each column is assigned to; -1: none
	for j := range in.Factors {
		if column := in.factorIndex(j); column < d {
			columnFactors[column] = j
		}
	}
	g := in.byFactor("votes", nil)
	r.Basis = Basis{Train: m.Train, Test: m.Test, Shared: true}
	var err error
	if !m.Direct {
		if g.Values, err = draw.Votes(ctx, columns, m.Train, m.Batch); err != nil {
			return Result{}, err
		}
		columnFactors = votes.Majority(g.Values)
		correct, _ := votes.Correct(g.Values, columnFactors)
		r.Parts = append(r.Parts, Part{Name: "train", Values: []float64{factor.Sum.Of(correct) / float64(m.Train)}})
	}
	test, err := draw.Votes(ctx, columns, m.Test, m.Batch)
	if err != nil {
		return Result{}, err
	}
	if m.Direct {
		g.Values = test
	}
	correct, totals := votes.Correct(test, columnFactors)
	r.Value = factor.Sum.Of(correct) / float64(m.Test)
	r.Parts = append([]Part{perFactor(in, correct, totals)}, r.Parts...)
	r.Grids = []Grid{g}
	return r, nil
}

func validDraws(batch, minBatch, train, test int) error {
	return cmp.Or(
		inRange("batch", batch, minBatch, maxDrawn),
		inRange("train", train, 1, maxDrawn),
		inRange("test", test, 1, maxDrawn),
	)
}

// perFactor returns the part per_factor: correct/totals for every factor with points.
func perFactor(in *Input, correct, totals []float64) Part {
	part := Part{Name: "per_factor"}
	for j, f := range in.Factors {
		if totals[j] > 0 {
			part.add(f.Name, correct[j]/totals[j])
		}
	}
	return part
}

// BetaVAE is the score of Higgins et al. 2017, section 3, as disentanglement_lib computes it, 0 to 1. A point is the
// mean of |z - z'|, column by column, over Batch pairs of rows with the same level of a random factor. A logistic
// regression (L2 penalty, C = 1) is fitted to Train points and predicts the factor; the value is its accuracy on Test
// points.
//
// The rows need not form a grid. A point draws its factor uniformly, and the rows of each pair from the table. The
// first row is uniform among the rows with a known level, so a level is drawn with its frequency. The second is uniform
// among the rows with the same level, and may be the same row. On a full grid of levels all other factors are then
// uniform and independent, as in the paper. On other tables they are distributed as among the rows with that level.
// With Standardise, points are divided by their standard deviation over the Train points. Table 2 of Zhang and Sugiyama
// 2024 does this, with Batch 8.
type BetaVAE struct {
	knownLevels
	twoFactors
	share

	Batch       int  `yaml:"batch" doc:"pairs of images averaged for one point"`
	Train       int  `yaml:"train" doc:"number of training points"`
	Test        int  `yaml:"test" doc:"number of test points"`
	Standardise bool `yaml:"standardise" doc:"divide the differences of every column by their standard deviation"`
}

func (m *BetaVAE) Validate() error { return validDraws(m.Batch, 1, m.Train, m.Test) }

// Compute returns the parts per_factor (accuracy on each factor's test points) and train (accuracy on train points).
func (m *BetaVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := readyWithLevels(ctx, m, in); err != nil {
		return Result{}, err
	}
	if in.Stream == nil {
		return Result{}, errNoStream
	}
	draw := votes.NewDraw(in.table(), in.knownRows(), in.Stream)
	x, labels, err := draw.Differences(ctx, in.Codes, m.Train, m.Batch)
	if err != nil {
		return Result{}, err
	}
	y, answers, err := draw.Differences(ctx, in.Codes, m.Test, m.Batch)
	if err != nil {
		return Result{}, err
	}
	if m.Standardise {
		votes.Standardise(x, y, in.Codes.Cols)
	}
	model, err := linear.FitLogistic(ctx, x, in.Codes.Cols, labels, 1, 1000)
	if err != nil {
		return Result{}, err
	}
	part, value := accuracies(in, model, y, answers)
	_, fitted := accuracies(in, model, x, labels)
	r := Result{Value: value, Parts: []Part{part, {Name: "train", Values: []float64{fitted}}},
		Notes: in.unpredictableFactors(), Basis: Basis{Train: m.Train, Test: m.Test, Shared: true}}
	if !model.Converged {
		r.Notes = append(r.Notes, "the regression has not converged")
	}
	if largest := slices.Max(x); largest > 0 && float64(m.Train)*largest*largest < 1 { // weights are at most about Train x
		r.note("the differences of codes are at most %.2g, so the penalty of the regression lowers the value; want codes of size 1", largest)
	}
	return r, nil
}

// accuracies returns the accuracy on the points of each factor, and on all points.
func accuracies(in *Input, model *linear.Logistic, x []float64, factors []int) (Part, float64) {
	d := in.Codes.Cols
	scratch := make([]float64, len(in.Factors))
	correct, totals := make([]float64, len(in.Factors)), make([]float64, len(in.Factors))
	for i, j := range factors {
		totals[j]++
		if model.Predict(x[i*d:(i+1)*d], scratch) == j {
			correct[j]++
		}
	}
	return perFactor(in, correct, totals), factor.Sum.Of(correct) / float64(len(factors))
}

// unpredictableFactors returns a note on each factor with one level.
func (in *Input) unpredictableFactors() []string {
	return in.constantFactors(numeric.UpTo(len(in.Factors)), ", so no column can predict it; want input without it")
}
