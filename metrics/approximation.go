package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/losses/logic"
	"github.com/unravel-ml/unravel/losses/logic/syntax"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Approximation holds the nearest product function of the factors and the nearest left inverse, in mean square (Zhang
// and Sugiyama 2024, definitions 5 and 8, figure 9).
type Approximation struct {
	// Blocks are the sub-codes of the factors.
	Blocks []factor.Block

	// Product is m*, the best product approximation, n x d: the mean of the sub-codes of all rows with the row's level
	// of the factor (equations 15 and 16). An unknown level gives NaN. Columns that belong to no factor keep their
	// codes.
	Product matrix.Matrix

	// LeftInverse is the affine map from codes to factors with the least mean squared error, at the codes, n x k.
	LeftInverse matrix.Matrix

	// Values are the factors that LeftInverse approximates, n x k: continuous factors as given, others mapped to [0,
	// 1]. Unknown values are NaN.
	Values matrix.Matrix
}

// Approximate returns the best product approximation of codes and the best affine left inverse. codes gives the
// sub-codes; without it, assign gives them. The context ends it, with ctx.Err().
func Approximate(ctx context.Context, in *Input, codes factor.SubCodes, assign Assign) (*Approximation, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	blocks, err := planBlocks(in, codes, assign)
	if err == nil && blocks == nil {
		blocks, err = assigned(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	s := logic.Schema{Codes: in.Codes.Cols, SubCodes: map[string][]int{}, Factors: factor.Names(in.Factors)}
	for _, b := range blocks {
		s.SubCodes[s.Factors[b.Factor]] = b.Columns
	}
	l := &Logic{Units: unitsAsGiven}
	fit := func(f syntax.Function, argument, target syntax.Term) ([]logic.Fitted, logic.Batch, error) {
		all := syntax.ForAll(factor.Mean, syntax.Rows("i"), syntax.Equal(syntax.Squared, f.At(argument), target))
		q, err := logic.Compile(syntax.Sentence{Body: syntax.Exists(syntax.Functions(f), all)}, s)
		if err != nil {
			return nil, logic.Batch{}, err
		}
		b := l.batch(in, q)
		b.Interrupt = ctx.Err
		fitted, err := q.Approximation(b)
		return fitted, b, err
	}
	var functions []logic.Fitted
	for _, b := range blocks {
		name := s.Factors[b.Factor]
		f := syntax.Function{Name: "m", From: syntax.Space{Name: name}, To: syntax.Space{Codes: true, Name: name}}
		fitted, _, err := fit(f, syntax.Factor(name, "i"), syntax.SubCode(name, "i"))
		if err != nil {
			return nil, fmt.Errorf("product approximation, factor %q: %w", name, err)
		}
		functions = append(functions, fitted...)
	}
	h, b, err := fit(syntax.Function{Name: "h", From: syntax.Space{Codes: true}, Class: syntax.Affine}, syntax.Codes("i"), syntax.Factors("i"))
	if err != nil {
		return nil, fmt.Errorf("left inverse: %w", err)
	}
	n, k := in.Codes.Rows, len(in.Factors)
	a := &Approximation{Blocks: blocks, Product: joined(logic.Product(functions, b.Codes), in.Codes.Cols), Values: joined(b.Values, k)}
	if a.LeftInverse = joined(nil, k); len(h) > 0 {
		a.LeftInverse = joined(h[0].Values, k)
	}
	for at, level := range in.Levels {
		if level < 0 {
			a.Values.Data[at] = math.NaN()
		}
	}
	if a.LeftInverse.Rows != n {
		return nil, fmt.Errorf("left inverse: no row has known levels of all factors; want at least one")
	}
	return a, nil
}

// joined copies rows of a width to a matrix.
func joined(rows [][]float64, width int) matrix.Matrix {
	m := matrix.Matrix{Rows: len(rows), Cols: width, Data: make([]float64, 0, len(rows)*width)}
	for _, row := range rows {
		m.Data = append(m.Data, row...)
	}
	return m
}
