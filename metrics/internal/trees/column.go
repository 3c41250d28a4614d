// Package trees predicts columns of numbers from each other by boosted trees.
package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/gbt"
)

// maxClasses is the largest number of distinct whole numbers of a categorical column.
const maxClasses = 10

// Column is a factor or a code column, as numbers.
type Column struct {
	Values []float64 // by row
	order  []int     // rows by value
}

// NewColumn sorts the rows of a column. Values too large for single precision are an error.
func NewColumn(values []float64) (*Column, error) {
	p := &Column{Values: values, order: make([]int, len(values))}
	for i, v := range values {
		if !(math.Abs(v) <= math.MaxFloat32) {
			return nil, fmt.Errorf("the value %v is too large for trees, which compare in single precision", v)
		}
		p.order[i] = i
	}
	slices.SortFunc(p.order, func(a, b int) int {
		if d := cmp.Compare(values[a], values[b]); d != 0 {
			return d
		}
		return cmp.Compare(a, b)
	})
	return p, nil
}

// Score fits trees that predict column to from column from on count of the rows. It returns their R^2, or, for a
// categorical column, their accuracy. The first quarter of these rows tests, the others train.
func Score(ctx context.Context, from, to *Column, rows []bool, count int, order []int) (float64, error) {
	if count < 2 {
		return 0, nil
	}
	testing := make([]bool, len(rows))
	tests := (count + 3) / 4
	for _, i := range order {
		if rows[i] && tests > 0 {
			testing[i] = true
			tests--
		}
	}
	var train, test sample
	for _, i := range from.order {
		switch {
		case !rows[i]:
		case testing[i]:
			test.add(from.Values[i], to.Values[i])
		default:
			train.add(from.Values[i], to.Values[i])
		}
	}
	if train.single() || test.single() {
		return 1, nil
	}
	column, err := gbt.NewColumn(train.x)
	if err != nil {
		return 0, err
	}
	groups := column.Groups(test.x)
	if categorical(to, rows) {
		predicted, err := column.Classify(ctx, whole(train.y), gbt.Defaults())
		if err != nil {
			return 0, err
		}
		right := 0
		for i, g := range groups {
			if predicted[g] == int(test.y[i]) {
				right++
			}
		}
		return float64(right) / float64(len(groups)), nil
	}
	predicted, err := column.Regress(ctx, train.y, gbt.Defaults())
	if err != nil {
		return 0, err
	}
	return test.determination(func(i int) float64 { return predicted[groups[i]] }), nil
}

// sample is a list of pairs (x, y), ascending in x.
type sample struct{ x, y []float64 }

func (s *sample) add(x, y float64) { s.x, s.y = append(s.x, x), append(s.y, y) }

// single reports whether all y are equal.
func (s *sample) single() bool {
	for _, y := range s.y {
		if y != s.y[0] {
			return false
		}
	}
	return true
}

// determination returns R^2 = 1 - sum (y - estimate)^2 / sum (y - mean)^2.
func (s *sample) determination(estimate func(i int) float64) float64 {
	mean, residual, variance := factor.Mean.Of(s.y), 0.0, 0.0
	for i, y := range s.y {
		e := y - estimate(i)
		residual += e * e
		variance += (y - mean) * (y - mean)
	}
	if variance == 0 { // the squares underflow
		return 1
	}
	return 1 - residual/variance
}

// categorical reports whether a column has at most maxClasses distinct values on some rows, all whole numbers.
func categorical(p *Column, rows []bool) bool {
	found := make([]float64, 0, maxClasses)
	for i, in := range rows {
		v := p.Values[i]
		if !in || slices.Contains(found, v) {
			continue
		}
		if v != math.Trunc(v) || math.Abs(v) > 1<<31 || len(found) == maxClasses {
			return false
		}
		found = append(found, v)
	}
	return true
}

func whole(values []float64) []int {
	classes := make([]int, len(values))
	for i, v := range values {
		classes[i] = int(v)
	}
	return classes
}
