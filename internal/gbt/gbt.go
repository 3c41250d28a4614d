// Package gbt fits gradient-boosted regression trees (Friedman 2001) like scikit-learn 1.2 without subsampling:
// GradientBoostingClassifier with the deviance loss, and GradientBoostingRegressor with the squared error.
//
// In every round, a tree of limited depth is fitted to the residuals of each output. Regression and two classes have
// one output, and more classes have one output per class. A node is split to maximise
//
//	n_l n_r/(n_l + n_r) (mean of the left - mean of the right)^2
//
// of the residuals (Friedman 2001, equation 35) over all columns and all thresholds halfway between adjacent values,
// unless the variance of its residuals is below 2^-52. Values that differ by 1e-7 or less count as equal. A leaf adds a
// Newton step of the loss times the learning rate. The importance of a column is the decrease of the squared error by
// its splits over all trees, divided by the decrease by all columns.
//
// Columns are sorted once; the row order of a node follows from the order of its parent. For large tables, [NewBinned]
// creates columns that are split only between bins, with fewer passes over the rows. The trees of a round, or the
// columns of a tree, are processed in parallel. The result does not depend on the number of threads.
package gbt

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// minCurvature is the minimum second derivative for the Newton step of a leaf, as in scikit-learn. Without it, the
// step would be unbounded.
const minCurvature = 1e-150

// Options are the settings of a fit.
type Options struct {
	Rounds int     // trees per output
	Depth  int     // maximum depth of a tree
	Rate   float64 // learning rate: factor of the leaf values

	// Ties, if not nil, visits the columns of every node in random order and splits the first one with the largest
	// gain, as scikit-learn does. Equal columns then share their importance. If Ties is nil, the first of equal columns
	// is split.
	Ties *rng.Stream
}

// Defaults returns scikit-learn's default options.
func Defaults() Options { return Options{Rounds: 100, Depth: 3, Rate: 0.1} }

// Upper limits of the options.
const (
	maxRounds = 100000
	maxDepth  = 24
)

// Validate checks the options' ranges.
func (o Options) Validate() error {
	switch {
	case o.Rounds < 1 || o.Rounds > maxRounds:
		return fmt.Errorf("gbt: %d rounds; want 1 to %d", o.Rounds, maxRounds)
	case o.Depth < 1 || o.Depth > maxDepth:
		return fmt.Errorf("gbt: depth %d; want 1 to %d", o.Depth, maxDepth)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return fmt.Errorf("gbt: learning rate %v; want a positive number", o.Rate)
	}
	return nil
}

const blockRows = 256

// loss computes the residuals of outputs from their scores.
type loss interface {
	// expect replaces the scores of rows [low, high) by expected values of the outputs.
	expect(scores, expected [][]float64, low, high int)

	// residuals computes target - expected for an output, and the second derivatives of the loss.
	residuals(output int, expected, residual, curvature []float64)
}

// model is a sum of trees for each output.
type model struct {
	prior      []float64
	rate       float64
	rounds     [][]tree // by round and output
	importance []float64
	scores     [][]float64 // scores of the training rows, by output
}

// fit runs all boosting rounds, until the context ends.
func fit(ctx context.Context, x *Columns, prior []float64, l loss, o Options) (*model, error) {
	m := &model{prior: prior, rate: o.Rate}
	outputs := len(prior)
	expected := make([][]float64, outputs)
	for k := range outputs {
		m.scores = append(m.scores, slices.Repeat(prior[k:k+1], x.rows))
		expected[k] = make([]float64, x.rows)
	}
	var seed uint64
	if o.Ties != nil {
		seed = o.Ties.Uint64()
	}
	workers := min(parallel.Threads(), outputs)
	boosters := make([]*booster, workers)
	importance := make([][]float64, outputs)
	fitTree := func(worker, k, round int) tree {
		if boosters[worker] == nil {
			grow := newGrower(x, o.Depth, outputs < parallel.Threads())
			boosters[worker] = &booster{grow, o.Rate, newtonScale(outputs), make([]float64, x.rows), make([]float64, x.rows)}
		}
		if importance[k] == nil {
			importance[k] = make([]float64, len(x.values))
		}
		var random *rand.Rand
		if o.Ties != nil {
			random = rand.New(rand.NewPCG(seed, uint64(round*outputs+k)))
		}
		return boosters[worker].boost(k, l, expected[k], m.scores[k], importance[k], random)
	}
	for round := range o.Rounds {
		blocks(x.rows, func(low, high int) { l.expect(m.scores, expected, low, high) })
		trees := make([]tree, outputs)
		parallel.ForWorkers(workers, outputs, func(w, k int) {
			if ctx.Err() == nil {
				trees[k] = fitTree(w, k, round)
			}
		})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.rounds = append(m.rounds, trees)
	}
	m.importance = normalise(importance)
	return m, nil
}

// normalise returns the sums of importances, normalised to sum 1.
func normalise(importance [][]float64) []float64 {
	total := make([]float64, len(importance[0]))
	sum := 0.0
	for j := range total {
		for _, row := range importance {
			total[j] += row[j]
		}
		sum += total[j]
	}
	if sum > 0 {
		for j := range total {
			total[j] /= sum
		}
	}
	return total
}

func blocks(rows int, body func(low, high int)) {
	parallel.For((rows+blockRows-1)/blockRows, func(_, b int) {
		body(b*blockRows, min((b+1)*blockRows, rows))
	})
}

// booster grows the trees of one worker.
type booster struct {
	grower              *grower
	rate, scale         float64 // factors of the leaf values and of the Newton steps
	residual, curvature []float64
}

// boost fits a tree and adds it to the scores of an output.
func (m *booster) boost(k int, l loss, expected, scores, importance []float64, random *rand.Rand) tree {
	l.residuals(k, expected, m.residual, m.curvature)
	clear(m.grower.importance)
	t := m.grower.grow(m.residual, random)
	for j, v := range m.grower.importance {
		importance[j] += v
	}
	residuals, curvatures := make([]float64, len(t)), make([]float64, len(t))
	for i, leaf := range m.grower.leaves {
		residuals[leaf] += m.residual[i]
		curvatures[leaf] += m.curvature[i]
	}
	for leaf := range t {
		if t[leaf].column < 0 && math.Abs(curvatures[leaf]) >= minCurvature {
			t[leaf].value = m.scale * residuals[leaf] / curvatures[leaf]
		}
	}
	for i, leaf := range m.grower.leaves {
		scores[i] += m.rate * t[leaf].value
	}
	return t
}

// predict returns the scores of the rows of a table, by output.
func (m *model) predict(ctx context.Context, x *Columns) ([][]float64, error) {
	if len(x.values) != len(m.importance) {
		return nil, fmt.Errorf("gbt: there are %d columns; want %d, as in training", len(x.values), len(m.importance))
	}
	scores := make([][]float64, len(m.prior))
	for k := range scores {
		scores[k] = slices.Repeat(m.prior[k:k+1], x.rows)
	}
	blocks(x.rows, func(low, high int) {
		for _, trees := range m.rounds {
			if ctx.Err() != nil {
				return
			}
			for k, t := range trees {
				for i := low; i < high; i++ {
					scores[k][i] += m.rate * t.leaf(x.values, i).value
				}
			}
		}
	})
	return scores, ctx.Err()
}
