package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
)

// Assign is the rule that assigns code columns to factors if a config does not name them.
type Assign string

// The rules.
const (
	AssignAuto  Assign = ""      // order if the factors can have equally many columns, otherwise best
	AssignOrder Assign = "order" // equal shares, in order
	AssignBest  Assign = "best"  // one column for each factor: the column that varies least while the factor is fixed
)

func (a Assign) validate() error {
	if a != AssignAuto && a != AssignOrder && a != AssignBest {
		return config.Invalid("assign", "unknown assignment %q; want order or best, or nothing", string(a))
	}
	return nil
}

func validAggregate(a factor.Aggregate) error {
	if !a.Known() {
		return config.Invalid("aggregate", "unknown aggregate %v; want mean, max, sum or mean-square", a)
	}
	return nil
}

var errNoSubCodes = errors.New("there are no factors; want at least one, to have a sub-code")

// planBlocks returns the sub-codes of factors; nil if [assigned] finds them.
func planBlocks(in *Input, codes factor.SubCodes, a Assign) ([]factor.Block, error) {
	d, k := in.Codes.Cols, len(in.Factors)
	switch {
	case k == 0:
		return nil, errNoSubCodes
	case len(codes) > 0:
		return codes.Blocks("codes", in.Factors, d)
	case a == AssignBest || a == AssignAuto && d%k != 0:
		if d < k {
			return nil, fmt.Errorf("codes have %d columns; want at least one for each of the %d factors", d, k)
		}
		return nil, nil
	}
	blocks, err := factor.EvenBlocks(in.Factors, d)
	if err != nil {
		return nil, fmt.Errorf("%w, or assign: best", err)
	}
	return blocks, nil
}

// assigned returns one column for each factor. The assignment minimises the sum over factors of the share of the
// column's variance that remains while the factor is fixed, over the rows where the factor is known. A column that is
// constant there costs 1, the most, and so does any column of a factor without a known level.
func assigned(ctx context.Context, in *Input) ([]factor.Block, error) {
	cost := make([][]float64, len(in.Factors))
	for i := range cost {
		cost[i] = make([]float64, in.Codes.Cols)
	}
	column := make([]float64, in.Codes.Rows)
	for c := range in.Codes.Cols {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scale := in.Codes.UnitColumn(c, column)
		for i, f := range in.Factors {
			if cost[i][c] = 1; scale > 0 {
				cost[i][c] = fractionLeft(column, in.Levels[i:], len(in.Factors), f.Size)
			}
		}
	}
	blocks := make([]factor.Block, len(cost))
	for i, c := range geometry.Assign(cost) {
		blocks[i] = factor.Block{Factor: i, Columns: []int{c}}
	}
	return blocks, nil
}

// fractionLeft takes the rows with known level. It returns the sum of squared distances from the mean of the level,
// over the sum of squared distances from the mean. It returns 1 if the latter is 0. levels has stride k.
func fractionLeft(x []float64, levels []int, k, size int) float64 {
	sums, counts := make([]float64, size), make([]float64, size)
	first, known := 0.0, false // differences of a constant are exactly 0
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			if !known {
				first, known = v, true
			}
			sums[l] += v - first
			counts[l]++
		}
	}
	mean := factor.Sum.Of(sums) / factor.Sum.Of(counts)
	var left, all float64
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			v -= first
			all += (v - mean) * (v - mean)
			v -= sums[l] / counts[l]
			left += v * v
		}
	}
	if all == 0 {
		return 1
	}
	return left / all
}

// describe formats sub-codes as a note: "columns of factors: x 0, y 1".
func describe(in *Input, blocks []factor.Block) string {
	var parts []string
	for _, b := range blocks {
		parts = append(parts, fmt.Sprintf("%s %s", in.Factors[b.Factor].Name, strings.Trim(fmt.Sprint(b.Columns), "[]")))
	}
	return "columns of factors: " + strings.Join(parts, ", ")
}

// SubCoded is implemented by metrics that measure sub-codes of factors.
type SubCoded interface {
	// SetCodes sets the code columns of each factor's sub-code, or the rule that assigns them. A metric with a
	// projection in its settings keeps the projection, and ignores both.
	SetCodes(factor.SubCodes, Assign)
}
