package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/metrics/internal/information"
	"github.com/unravel-ml/unravel/metrics/internal/predict"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/metrics/mutual"
)

// Projection is the rule that finds each factor's sub-code if no columns are assigned to factors (Zhang and Sugiyama
// 2024, appendix F.3).
type Projection string

// The rules.
const (
	projectNone   Projection = ""       // no projection: columns are named, or assigned by [Assign]
	projectLinear Projection = "linear" // the best affine prediction of the factor from all columns: one new column for each factor
	projectBest   Projection = "best"   // one column for each factor, with the largest sum of mutual information
	projectBlocks Projection = "blocks" // equal shares of adjacent columns, with the largest sum of mutual information of their columns
)

// validate rejects a projection together with settings that it excludes.
func (p Projection) validate(codes factor.SubCodes, a Assign) error {
	switch p {
	case projectNone:
		return nil
	case projectLinear, projectBest, projectBlocks:
	default:
		return config.Invalid("project", "unknown projection %q; want linear, best or blocks, or nothing", string(p))
	}
	if len(codes) > 0 || a != AssignAuto {
		return config.Invalid("project", "%s itself finds the sub-codes of all factors; want no codes and no assign", string(p))
	}
	return nil
}

// suits reports codes of d columns that cannot be projected to k factors.
func (p Projection) suits(d, k int) error {
	switch {
	case k == 0:
		return errNoSubCodes
	case p == projectBest && d < k:
		return fmt.Errorf("codes have %d columns; want at least one for each of the %d factors, or project: linear", d, k)
	case p == projectBlocks && (d < k || d%k != 0):
		return fmt.Errorf("%d code columns cannot be shared out evenly to %d factors; want a multiple of them, or project: linear or best", d, k)
	}
	return nil
}

// project returns codes, the columns of each factor's sub-code in them, and parts that describe the sub-codes.
func (p Projection) project(ctx context.Context, in *Input) (matrix.Matrix, []factor.Block, []Part, error) {
	if p == projectLinear {
		return in.affine(ctx)
	}
	width := 1
	if p == projectBlocks {
		width = in.Codes.Cols / len(in.Factors)
	}
	x, err := in.information(ctx, mutual.Library())
	if err != nil {
		return in.Codes, nil, nil, err
	}
	blocks := information.Assign(x.Mutual, width)
	return in.Codes, blocks, []Part{columnsPart(in, blocks)}, nil
}

// affine projects the codes to the best affine prediction of each factor. Rows where the factor is unknown get 0.
func (in *Input) affine(ctx context.Context) (codes matrix.Matrix, blocks []factor.Block, parts []Part, err error) {
	n, k := in.Codes.Rows, len(in.Factors)
	codes = matrix.Matrix{Rows: n, Cols: k, Data: make([]float64, n*k)}
	explained := in.perFactor(make([]float64, k))
	explained.Name = "explained"
	for _, p := range in.knownParts() {
		if p.Codes.Rows == 0 {
			continue
		}
		predicted, shares, err := predict.Affine(ctx, p.Codes, p.factorRows(unitsRange), len(p.factors))
		if err != nil {
			return codes, nil, nil, err
		}
		for at, j := range p.factors {
			explained.Values[j] = shares[at]
			for i := range p.Codes.Rows {
				row := i
				if p.rows != nil {
					row = p.rows[i]
				}
				codes.Data[row*k+j] = predicted[i*len(p.factors)+at]
			}
		}
	}
	for j := range in.Factors {
		blocks = append(blocks, factor.Block{Factor: j, Columns: []int{j}})
	}
	return codes, blocks, []Part{explained}, nil
}
