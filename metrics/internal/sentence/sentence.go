// Package sentence prepares codes and factors as rows for sentences of logic.
package sentence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Rows returns all rows in the form that the sentence needs. values returns the numbers of the factors, row by row.
func Rows(q *logic.Quantity, codes matrix.Matrix, t levels.Table, values func() []float64) logic.Batch {
	n, k := codes.Rows, len(t.Factors)
	b := logic.Batch{Codes: rowList(codes.Data, n, codes.Cols)}
	if q.NeedsValues() {
		b.Values = rowList(values(), n, k)
	}
	if q.NeedsValues() || q.NeedsLabels() { // rows with unknown values are outside the domain of the quantifiers
		labels := make([]float64, n*k)
		for at, level := range t.Levels {
			labels[at] = float64(level)
		}
		b.Labels = rowList(labels, n, k)
	}
	if q.NeedsMoves() {
		levels := make([][]int, n)
		for i := range levels {
			levels[i] = t.Levels[i*k : (i+1)*k]
		}
		b.Moves, b.Groups = logic.MovesOf(t.Factors, levels)
	}
	return b
}

// rowList divides an array into n rows, without copying.
func rowList(data []float64, n, width int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = data[i*width : (i+1)*width]
	}
	return rows
}

// Affordable returns the batch, or random rows of it if the sentence would otherwise exceed the maximum number of
// tuples or of rows (0: no maximum). If it has to draw rows but has no stream, it returns the given error.
func Affordable(
	ctx context.Context, q *logic.Quantity, b logic.Batch, rows, allowed int, s *rng.Stream, none error,
) (logic.Batch, error) {
	n := len(b.Codes)
	most := n
	if rows > 0 {
		most = min(n, rows)
	}
	whole, err := q.Tuples(b)
	if err != nil || most == n && whole <= float64(allowed) {
		return b, err
	}
	if s == nil {
		return b, fmt.Errorf("the sentence has %.2g tuples of %d rows; measuring %d tuples of random rows: %w",
			whole, n, allowed, none)
	}
	order := s.Perm(n)
	fits := func(m int) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		tuples, err := q.Tuples(chosenRows(b, order[:m]))
		return tuples <= float64(allowed), err
	}
	if ok, err := fits(most); ok || err != nil {
		return chosenRows(b, order[:most]), err
	}
	few := 1
	for most-few > 1 { // few rows are within the limits, most are not: the number of tuples grows with the rows
		middle := (few + most) / 2
		switch ok, err := fits(middle); {
		case err != nil:
			return b, err
		case ok:
			few = middle
		default:
			most = middle
		}
	}
	return chosenRows(b, order[:few]), nil
}

// chosenRows returns some rows of a batch, in the order of the batch.
func chosenRows(b logic.Batch, rows []int) logic.Batch {
	rows = slices.Clone(rows)
	slices.Sort(rows)
	b.Codes, b.Values, b.Labels = levels.Chosen(b.Codes, rows), levels.Chosen(b.Values, rows),
		levels.Chosen(b.Labels, rows)
	b.Moves, b.Groups = levels.Chosen(b.Moves, rows), levels.Chosen(b.Groups, rows)
	return b
}

// joined copies rows of the given width to a matrix.
func joined(rows [][]float64, width int) matrix.Matrix {
	m := matrix.Matrix{Rows: len(rows), Cols: width, Data: make([]float64, 0, len(rows)*width)}
	for _, row := range rows {
		m.Data = append(m.Data, row...)
	}
	return m
}

// Approximate returns the best product function of the factors and the best affine left inverse, in mean square (Zhang
// and Sugiyama 2024, definitions 5 and 8), at every row. values has the numbers of the factors, row by row, and blocks
// the sub-codes.
func Approximate(
	ctx context.Context, codes matrix.Matrix, t levels.Table, values []float64, blocks []factor.Block,
) (product, inverse matrix.Matrix, err error) {
	s := logic.Schema{Codes: codes.Cols, SubCodes: map[string][]int{}, Factors: factor.Names(t.Factors)}
	for _, b := range blocks {
		s.SubCodes[s.Factors[b.Factor]] = b.Columns
	}
	fit := func(format string, names ...any) ([]logic.Fitted, logic.Batch, error) {
		sentence, err := logic.Parse(fmt.Sprintf(format, names...))
		if err != nil {
			return nil, logic.Batch{}, err
		}
		q, err := logic.Compile(sentence, s)
		if err != nil {
			return nil, logic.Batch{}, err
		}
		b := Rows(q, codes, t, func() []float64 { return values })
		b.Interrupt = ctx.Err
		fitted, err := q.Approximation(b)
		return fitted, b, err
	}
	var functions []logic.Fitted
	for _, b := range blocks {
		name := s.Factors[b.Factor]
		fitted, _, err := fit("exists m: y.%[1]q -> z.%[1]q: forall[mean] i: m(y.%[1]q(i)) =[squared] z.%[1]q(i)", name)
		if err != nil {
			return product, inverse, fmt.Errorf("product approximation, factor %q: %w", name, err)
		}
		functions = append(functions, fitted...)
	}
	h, b, err := fit("exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)")
	if err != nil {
		return product, inverse, fmt.Errorf("left inverse: %w", err)
	}
	if len(h) == 0 || len(h[0].Values) != codes.Rows {
		return product, inverse, errors.New("left inverse: no row has known levels of all factors; want at least one")
	}
	return joined(logic.Product(functions, b.Codes), codes.Cols), joined(h[0].Values, len(t.Factors)), nil
}
