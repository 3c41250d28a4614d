package metrics

import (
	"context"
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/metrics/internal/deviation"
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
		return config.Invalid("project", "%s finds the sub-codes of all factors; want it without codes and assign", string(p))
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
		return linearCodes(ctx, in)
	}
	width := 1
	if p == projectBlocks {
		width = in.Codes.Cols / len(in.Factors)
	}
	blocks, part, err := informative(ctx, in, width)
	return in.Codes, blocks, []Part{part}, err
}

// linearCodes returns a column h_j(z) for each factor j. The affine map h_j from all code columns has the least mean
// squared error over the rows in which the factor is known,
//
//	min_h 1/n sum_i (y_ij - h_j(z_i))^2
//
// with values y mapped to [0, 1]. The part explained is the fraction of each factor's variance that h_j explains, 0 of
// a factor without variance.
func linearCodes(ctx context.Context, in *Input) (codes matrix.Matrix, blocks []factor.Block, parts []Part, err error) {
	k := len(in.Factors)
	codes = matrix.Matrix{Rows: in.Codes.Rows, Cols: k, Data: make([]float64, in.Codes.Rows*k)}
	explained := Part{Name: "explained"}
	fit := geometry.Regression{Interrupt: ctx.Err}
	for _, together := range in.knownTogether() {
		some := in.restrict(together)
		var targets []float64
		if some.Codes.Rows > 0 {
			targets = some.factorRows(unitsRange)
			if err := fit.LeastSquares(some.Codes.Data, some.Codes.Cols, targets, len(together), 0); err != nil {
				return codes, nil, nil, fmt.Errorf("affine map from codes to factors: %w", err)
			}
		}
		for t, j := range together {
			at := t
			var values []float64
			for i := range in.Codes.Rows {
				if in.Levels[i*k+j] >= 0 {
					codes.Data[i*k+j] = targets[at] - fit.Residuals[at]
					values = append(values, targets[at])
					at += len(together)
				}
			}
			share := 0.0
			if total := deviation.Variance(values, 1); total > 0 {
				share = 1 - fit.Errors[t]/total
			}
			blocks = append(blocks, factor.Block{Factor: j, Columns: []int{j}})
			explained.Labels, explained.Values = append(explained.Labels, in.Factors[j].Name), append(explained.Values, share)
		}
	}
	return codes, blocks, []Part{explained}, nil
}

// knownTogether groups the factors that are known in the same rows: all factors together if all levels are known,
// otherwise each factor alone.
func (in *Input) knownTogether() (groups [][]int) {
	all := make([]int, len(in.Factors))
	for j := range all {
		all[j] = j
		groups = append(groups, []int{j})
	}
	if in.table().Unknown() == nil {
		return [][]int{all}
	}
	return groups
}

// informative assigns a block of width adjacent code columns to each factor. The assignment has the largest sum over
// factors of the factor's mutual information with the columns of its block, in nats, with the bins of [MIG]. Its part
// lists the first column of every block.
func informative(ctx context.Context, in *Input, width int) ([]factor.Block, Part, error) {
	known, err := in.information(ctx, mutual.Library())
	if err != nil {
		return nil, Part{}, err
	}
	cost := make([][]float64, len(in.Factors))
	for j := range cost {
		cost[j] = make([]float64, in.Codes.Cols/width)
		for c := range in.Codes.Cols {
			cost[j][c/width] -= known.Mutual[c][j]
		}
	}
	var blocks []factor.Block
	columns := Part{Name: "columns"}
	for j, b := range geometry.Assign(cost) {
		block := factor.Block{Factor: j}
		for c := range width {
			block.Columns = append(block.Columns, b*width+c)
		}
		blocks = append(blocks, block)
		columns.Labels, columns.Values = append(columns.Labels, in.Factors[j].Name), append(columns.Values, float64(b*width))
	}
	return blocks, columns, nil
}
