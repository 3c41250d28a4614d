package metrics

import (
	"context"

	"github.com/unravel-ml/unravel/metrics/internal/lsbd"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/interval"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Concentrations computes disentanglement or, of the transposed matrix, completeness.
var (
	Concentrations = mutual.LibraryEntropy().OfRows
	Transposed     = mutual.Transposed
)

// WayOf exports the way to measure a metric again.
func WayOf(m Metric) (interval.Way, string) { return traitsOf(m).way, traitsOf(m).reason }

// Traits names the properties of a metric that are set.
func Traits(m Metric) (names []string) {
	t := traitsOf(m)
	for name, set := range map[string]bool{"slow": t.slow, "angles": t.angles, "scaled": t.scaled, "whole": t.allRows, "informed": t.informed,
		"bins": t.bins != nil, "counts": t.drawSettings != nil, string(t.way): true} {
		if set {
			names = append(names, name)
		}
	}
	return names
}

// SplitRows exports the choice of rows.
var SplitRows = TrainTest.rows

// CrossValidate returns the C that cross-validation on the first rows chooses.
func CrossValidate(in *Input, rows int) ([]float64, error) {
	train, _, err := TrainTest{TrainRows: rows}.rows(in)
	if err != nil {
		return nil, err
	}
	return predict.CrossValidate(context.Background(), in.Codes.Take(train), in.table().ByFactor(train), in.Codes.Cols)
}

// OfSample computes D_LSBD with the computation for samples, even on a grid.
func OfSample(m *DLSBD, in *Input) (Result, error) {
	s, err := m.sample(in)
	if err != nil {
		return Result{}, err
	}
	d := s.Design()
	return collect(d, m.Aggregate, func(k int) (*lsbd.Measured, error) { return d.Measure(context.Background(), in.Codes, k) })
}

// OfRotationMoments returns D_k of the first factor of a grid, with the moments of the grid's rotations.
func OfRotationMoments(in *Input) float64 {
	t, err := lsbd.NewGrid(in.table(), true)
	if err != nil {
		panic(err)
	}
	s, err := t.Design(lsbd.Settings{Omega: 10}).Measure(context.Background(), in.Codes, 0)
	if err != nil {
		panic(err)
	}
	return s.Values[0]
}

// Rows exports the choice of train and test rows.
var Rows = Apart.rows

// Neighbours returns the indices and scores of the nearest train rows of each test row.
func Neighbours(m *KNN, codes matrix.Matrix, train, test []int) (rows []int, scores []float64, err error) {
	n, err := predict.Nearest(context.Background(), codes, train, test, m.K, m.Distance == cosineDistance)
	if err != nil {
		return nil, nil, err
	}
	return n.Rows, n.Scores, nil
}
