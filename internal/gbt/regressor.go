package gbt

import (
	"context"
	"fmt"
)

// Regressor is a fitted regressor: it estimates a number by trees of any number of columns.
type Regressor struct{ model *model }

// FitRegressor fits a regressor to the targets of rows, by squared error. The end of the context stops it.
func FitRegressor(ctx context.Context, x *Columns, targets []float64, o Options) (*Regressor, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if len(targets) != x.rows {
		return nil, fmt.Errorf("gbt: there are %d targets; want %d", len(targets), x.rows)
	}
	mean, err := meanTarget(targets)
	if err != nil {
		return nil, err
	}
	m, err := fit(ctx, x, []float64{mean}, squared(targets), o)
	return &Regressor{m}, err
}

// Importance returns the importance of every column; their sum is 1, or 0 if no tree has a split.
func (r *Regressor) Importance() []float64 { return r.model.importance }

// Fitted returns the estimates of the training rows.
func (r *Regressor) Fitted() []float64 { return r.model.scores[0] }

// squared is the squared error of targets.
type squared []float64

func (squared) scale() float64 { return 1 }

func (squared) expect(scores, expected [][]float64, low, high int) {
	copy(expected[0][low:high], scores[0][low:high])
}

func (s squared) residuals(_ int, expected, residual, curvature []float64) {
	for i, v := range expected {
		residual[i], curvature[i] = s[i]-v, 1
	}
}
