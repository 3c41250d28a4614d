package trees

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Importances holds the importances of code columns to boosted trees, one for each factor, and how well they predict.
type Importances struct {
	Factors     []int       // that trees predict
	Single      []int       // with one level among the train rows, which no trees predict
	Of          [][]float64 // by column and factor
	Train, Test []float64   // by factor: accuracy of classifiers, R^2 or 0 of regressors
}

func (m *Importances) add(j int, importance []float64, train float64) {
	m.Factors, m.Train = append(m.Factors, j), append(m.Train, train)
	for c, v := range importance {
		m.Of[c] = append(m.Of[c], v)
	}
}

// Join adds the importances of other factors, with their numbers.
func (m *Importances) Join(x *Importances, factors []int) {
	m.Factors, m.Train, m.Test = append(m.Factors, levels.Chosen(factors, x.Factors)...), append(m.Train, x.Train...), append(m.Test, x.Test...)
	for c, v := range x.Of {
		m.Of[c] = append(m.Of[c], v...)
	}
}

// Classify fits a classifier of each factor to the train rows and tests it on the test rows. Splits are exact, or at
// the edges of bins.
func Classify(
	ctx context.Context, codes matrix.Matrix, t levels.Table, train, test []int, bins int, o gbt.Options,
) (*Importances, error) {
	x, err := gbt.NewColumns(len(train), codes.Cols, codes.Take(train))
	if bins > 0 {
		x, err = gbt.NewBinned(len(train), codes.Cols, codes.Take(train), bins)
	}
	if err != nil {
		return nil, err
	}
	y, err := gbt.NewColumns(len(test), codes.Cols, codes.Take(test))
	if err != nil {
		return nil, err
	}
	m := &Importances{Of: make([][]float64, codes.Cols)}
	for j, f := range t.Factors {
		of := t.Of(j, train)
		if !predict.Vary(of) {
			m.Single = append(m.Single, j)
			continue
		}
		classifier, err := gbt.FitClassifier(ctx, x, of, o)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		predicted, err := classifier.Predict(ctx, y)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", f.Name, err)
		}
		m.add(j, classifier.Importance(), predict.Accuracy(classifier.Fitted(), of))
		m.Test = append(m.Test, predict.Accuracy(predicted, t.Of(j, test)))
	}
	return m, nil
}

// Regress fits a regressor of each varying factor to all rows. values has the numbers of the factors, row by row.
func Regress(
	ctx context.Context, codes matrix.Matrix, t levels.Table, values []float64, o gbt.Options,
) (*Importances, error) {
	x, err := gbt.NewColumns(codes.Rows, codes.Cols, codes.Data)
	if err != nil {
		return nil, err
	}
	m := &Importances{Of: make([][]float64, codes.Cols)}
	for _, j := range t.Varying(codes.Rows) {
		targets := make([]float64, codes.Rows)
		for i := range targets {
			targets[i] = values[i*len(t.Factors)+j]
		}
		r, err := gbt.FitRegressor(ctx, x, targets, o)
		if err != nil {
			return nil, fmt.Errorf("factor %q: %w", t.Factors[j].Name, err)
		}
		m.add(j, r.Importance(), max(0, predict.Determination(targets, r.Fitted(), 1, 0, 1)))
	}
	return m, nil
}
