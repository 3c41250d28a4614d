package metrics

import (
	"context"
	"github.com/unravel-ml/unravel/factor"
)

// AssignColumns is the assignment of columns to factors, for its test.
var AssignColumns = assign

// Concentrations is the arithmetic of disentanglement and, of the transposed matrix,
// completeness, for its test.
var (
	Concentrations = libraryEntropy().OfRows
	Transposed     = transposed
)

// Predict is the score of trees that estimate one column from another on some rows, for its test.
func Predict(from, to []float64, rows []bool, order []int) (float64, error) {
	x, err := newPredictor(0, from)
	if err != nil {
		return 0, err
	}
	y, err := newPredictor(0, to)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, in := range rows {
		if in {
			count++
		}
	}
	return predict(context.Background(), x, y, rows, count, order)
}

// SplitRows is the choice of rows, for its test.
var SplitRows = TrainTest.rows

// ROCArea is the area under the ROC curve of a label, for its test.
var ROCArea = rocArea

// FoldBounds are the folds of cross-validation, for their test.
var FoldBounds = foldBounds

// CrossValidate is the weight of the loss that cross-validation chooses from the first rows, for its test.
func CrossValidate(in *Input, rows int) ([]float64, error) {
	train, _, err := TrainTest{TrainRows: rows}.rows(in)
	if err != nil {
		return nil, err
	}
	return crossValidate(context.Background(), rowsOf(in.Codes, train), labelsOf(in, train), in.Codes.Cols)
}

// Sampled computes D_LSBD of any rows, grids too, as of a sample.
func Sampled(m *DLSBD, in *Input) (Result, error) {
	s, err := newSampling(in, m.Objects == ObjectsTogether)
	if err != nil {
		return Result{}, err
	}
	t := turning{m.Omega, m.Aggregate, m.SharedOmega, whitenedPlane, true}
	var factors []factor.Factor
	for _, j := range s.moving {
		factors = append(factors, in.Factors[j])
	}
	return t.collect(factors, s.names, func(k int) (*measured, error) { return t.sampled(context.Background(), in.Codes, s, s.moving[k]) })
}
