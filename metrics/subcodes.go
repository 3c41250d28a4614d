package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
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
	return rule(a == AssignAuto || a == AssignOrder || a == AssignBest, "assign",
		"unknown assignment %q; want order or best, or nothing", string(a))
}

func validAggregate(a factor.Aggregate) error {
	return rule(a.Known(), "aggregate", "unknown aggregate %v; want mean, max, sum or mean-square", a)
}

var errNoSubCodes = errors.New("there are no factors; want at least one, to have a sub-code")

// planBlocks returns the sub-codes of factors; nil if [Input.assigned] finds them.
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

// assigned returns the best column of each factor ([AssignBest]).
func (in *Input) assigned(ctx context.Context) ([]factor.Block, error) {
	return deviation.Assign(ctx, in.Codes, in.table())
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
