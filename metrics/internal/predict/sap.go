package predict

import (
	"context"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/linear"
)

// Single returns the scores of one code column, x in the train rows and y in the test rows, for factors. A factor with
// values of the train rows has its squared correlation with the column. The others have the accuracy on the test levels
// of a support vector machine with the given cost, fitted to the train levels.
func Single(
	ctx context.Context, x, y []float64, factors []factor.Factor, train, test [][]int, values [][]float64, cost float64,
) ([]float64, error) {
	row := make([]float64, len(factors))
	var column *linear.Column
	for j, f := range factors {
		if values[j] != nil {
			row[j] = squaredCorrelation(x, values[j])
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if column == nil {
			column = linear.NewColumn(x)
		}
		classify, predicted := column.Classify(train[j], f.Size, cost), make([]int, len(y))
		for at, v := range y {
			predicted[at] = classify(v)
		}
		row[j] = Accuracy(predicted, test[j])
	}
	return row, nil
}
