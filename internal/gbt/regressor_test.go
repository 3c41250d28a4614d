package gbt

import "context"

var ctx = context.Background()

// Predict returns the estimates of the rows of a table.
func (r *Regressor) Predict(ctx context.Context, x *Columns) ([]float64, error) {
	scores, err := r.model.predict(ctx, x)
	if err != nil {
		return nil, err
	}
	return scores[0], nil
}
