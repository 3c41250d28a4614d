package trees

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/gbt"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// pick returns some values of a column.
func pick(rows []int, of []float64) (values []float64) {
	for _, i := range rows {
		values = append(values, of[i])
	}
	return values
}

// distinct returns the distinct values of a list, and whether all are whole.
func distinct(values []float64) (different []float64, whole bool) {
	whole = true
	for _, v := range values {
		whole = whole && v == float64(int(v))
	}
	different = slices.Clone(values)
	slices.Sort(different)
	return slices.Compact(different), whole
}

func tableOf(t *testing.T, column []float64) *gbt.Columns {
	t.Helper()
	return must.Get(gbt.NewColumns(len(column), 1, column))(t)
}

// slowPredict computes the score by definition, with trees of a table of one column.
func slowPredict(t *testing.T, from, to []float64, rows []bool, order []int) float64 {
	t.Helper()
	var chosen []int
	for _, i := range order {
		if rows[i] {
			chosen = append(chosen, i)
		}
	}
	n := len(chosen)
	if n < 2 {
		return 0
	}
	tests := int(math.Ceil(0.25 * float64(n)))
	test, train := chosen[:tests], chosen[tests:]
	x, y, testX, testY := tableOf(t, pick(train, from)), pick(train, to), tableOf(t, pick(test, from)), pick(test, to)
	inTrain, _ := distinct(y)
	inTest, _ := distinct(testY)
	if len(inTest) == 1 || len(inTrain) == 1 {
		return 1
	}
	if all, whole := distinct(pick(chosen, to)); whole && len(all) <= 10 {
		return slowAccuracy(t, x, testX, y, testY)
	}
	predicted := slowRegress(t, pick(train, from), y, pick(test, from))
	mean, residual, variance := 0.0, 0.0, 0.0
	for _, v := range testY {
		mean += v / float64(tests)
	}
	for i, v := range testY {
		residual += math.Pow(v-predicted[i], 2)
		variance += math.Pow(v-mean, 2)
	}
	return 1 - residual/variance
}

// slowRegress estimates y of rows from x alone, one row at a time. Package gbt checks its columns against whole tables.
func slowRegress(t *testing.T, x, y, at []float64) (estimates []float64) {
	t.Helper()
	order := numeric.UpTo(len(x))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	column := must.Get(gbt.NewColumn(pick(order, x)))(t)
	groups := must.Get(column.Regress(context.Background(), pick(order, y), gbt.Defaults()))(t)
	for _, v := range at {
		estimates = append(estimates, groups[column.Groups([]float64{v})[0]])
	}
	return estimates
}

func slowAccuracy(t *testing.T, x, testX *gbt.Columns, y, testY []float64) float64 {
	t.Helper()
	c := must.Get(gbt.FitClassifier(context.Background(), x, numeric.Convert[int](y), gbt.Defaults()))(t)
	predicted := must.Get(c.Predict(context.Background(), testX))(t)
	right := 0.0
	for i, class := range predicted {
		if class == int(testY[i]) {
			right++
		}
	}
	return right / float64(len(testY))
}

func TestPredict(t *testing.T) {
	stream := rng.New(6, "predict")
	kinds := map[string]func(x float64) float64{
		"number":         func(x float64) float64 { return math.Sin(3*x) + 0.1*stream.NormFloat64() },
		"halves":         func(x float64) float64 { return math.Floor(3*x) / 2 },
		"nine or ten":    func(x float64) float64 { return math.Floor(9.99 * x) },
		"eleven":         func(x float64) float64 { return math.Floor(10.99*x) - 3 },
		"rarely another": func(x float64) float64 { return math.Floor(x + 0.1) },
		"constant":       func(float64) float64 { return 2 },
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		off := 0
		for _, n := range []int{1, 2, 3, 4, 5, 8, 9, 12, 13, 30, 200} {
			for range 10 {
				from, to, rows := make([]float64, n), make([]float64, n), make([]bool, n)
				for i := range from {
					from[i] = stream.Float64()
					to[i], rows[i] = kinds[name](from[i]), stream.IntN(3) > 0
				}
				order := stream.Perm(n)
				got := must.Get(score(from, to, rows, order))(t)
				if want := slowPredict(t, from, to, rows, order); !(math.Abs(got-want) <= 1e-9) {
					off++
					if name == "number" || name == "halves" || name == "eleven" { // classifiers have equal cuts, and rounding chooses
						t.Errorf("%s, %d rows: %v, want %v", name, n, got, want)
					}
				}
			}
		}
		if off > 5 {
			t.Errorf("%s: %d of 110 scores differ", name, off)
		}
	}
}

// score returns the score of trees that predict one column from another on some rows.
func score(from, to []float64, rows []bool, order []int) (float64, error) {
	x, err := NewColumn(from)
	if err != nil {
		return 0, err
	}
	y, err := NewColumn(to)
	if err != nil {
		return 0, err
	}
	count := 0
	for _, in := range rows {
		if in {
			count++
		}
	}
	return Score(context.Background(), x, y, rows, count, order)
}
