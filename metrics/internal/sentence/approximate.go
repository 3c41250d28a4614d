package sentence

import (
	"context"
	"errors"
	"fmt"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Approximate returns the nearest product function of the factors and the nearest affine left inverse, in mean square
// (Zhang and Sugiyama 2024, definitions 5 and 8), at every row. values has the numbers of the factors, row by row, and
// blocks the sub-codes.
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
