package predict

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
)

// Ridge returns, for every factor, R^2 on the test rows of ridge regression from codes x of the train rows and y of the
// test rows, d numbers each; 0 of a categorical factor. The penalty is 1/c. exact has the values of continuous factors.
func Ridge(
	ctx context.Context, t levels.Table, exact [][]float64, x, y []float64, d int, train, test []int, c float64,
) ([]float64, error) {
	fits, first := make([]float64, len(t.Factors)), targets(t.Factors)
	columns := first[len(t.Factors)]
	var predicted, truth []float64
	if columns > 0 {
		fit := geometry.Regression{Interrupt: ctx.Err}
		if err := fit.LeastSquares(x, d, regressed(t, exact, first, train), columns, 1/(c*float64(len(train)))); err != nil {
			return nil, err
		}
		truth, predicted = regressed(t, exact, first, test), make([]float64, len(test)*columns)
		for i := range test {
			to := predicted[i*columns : (i+1)*columns]
			copy(to, fit.Intercept)
			for at, v := range y[i*d : (i+1)*d] {
				for target, w := range fit.Weights[at*columns : (at+1)*columns] {
					to[target] += v * w
				}
			}
		}
	}
	for j := range fits {
		if first[j] < first[j+1] {
			fits[j] = Determination(truth, predicted, columns, first[j], first[j+1])
		}
	}
	return fits, nil
}

// targets returns the place of the first regression target of each factor, and at the end the number of targets. A
// categorical factor has none, a circular factor the cosine and sine of its angle, any other factor one.
func targets(factors []factor.Factor) []int {
	first := make([]int, len(factors)+1)
	for j, f := range factors {
		first[j+1] = first[j] + map[factor.Kind]int{factor.Circular: 2, factor.Ordinal: 1}[f.Kind]
	}
	return first
}

// regressed returns the numbers that are regressed, for some rows.
func regressed(t levels.Table, exact [][]float64, first, rows []int) []float64 {
	list := make([]float64, 0, len(rows)*first[len(first)-1])
	for _, i := range rows {
		for j, f := range t.Factors {
			level := t.Levels[i*len(t.Factors)+j]
			switch {
			case f.Kind == factor.Circular:
				s, c := math.Sincos(f.Angle(level))
				list = append(list, c, s)
			case exact != nil && exact[j] != nil:
				list = append(list, exact[j][i])
			case f.Kind == factor.Ordinal:
				list = append(list, f.Value(level))
			}
		}
	}
	return list
}
