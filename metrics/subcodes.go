package metrics

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
)

// SubCodes says which code columns are the sub-code of which factor:
// `{shape: [0, 1], x: [2]}`.
type SubCodes map[string][]int

// Validate checks the columns.
func (s SubCodes) Validate() error {
	for name, columns := range s {
		if len(columns) == 0 {
			return config.Invalid(name, "there are no columns; want at least one")
		}
		for i, column := range columns {
			if column < 0 || slices.Contains(columns[:i], column) {
				return config.Invalid(name, "%v has a negative or repeated column; want different columns from 0 on", columns)
			}
		}
	}
	return nil
}

// Assign says how code columns are shared out to factors if a config does not say it.
type Assign string

// The ways to share out columns.
const (
	AssignAuto  Assign = ""      // in order if they can be shared out evenly, else best
	AssignOrder Assign = "order" // the first columns to the first factor, to each as many as to the next
	AssignBest  Assign = "best"  // to every factor the one column that suits it best
)

func (a Assign) validate() error {
	if a != AssignAuto && a != AssignOrder && a != AssignBest {
		return config.Invalid("assign", "unknown assignment %q; want order or best, or nothing", string(a))
	}
	return nil
}

// block is the sub-code of a factor.
type block struct {
	factor  int
	columns []int
}

// plan returns the sub-codes of factors; nil if they are to be assigned.
func (s SubCodes) plan(in *Input, a Assign) ([]block, error) {
	if len(s) > 0 {
		return s.named(in)
	}
	d, k := in.Codes.Cols, len(in.Factors)
	if a == AssignBest || a == AssignAuto && d%k != 0 {
		if d < k {
			return nil, fmt.Errorf("codes have %d columns; want at least one for each of the %d factors", d, k)
		}
		return nil, nil
	}
	if d%k != 0 {
		return nil, fmt.Errorf("%d code columns cannot be shared out evenly to %d factors; want codes, such as {%s: [0]}, or assign: best", d, k, in.Factors[0].Name)
	}
	blocks := make([]block, k)
	for i := range blocks {
		blocks[i].factor = i
		for c := range d / k {
			blocks[i].columns = append(blocks[i].columns, i*(d/k)+c)
		}
	}
	return blocks, nil
}

// named returns the sub-codes that are named, in the factors' order.
func (s SubCodes) named(in *Input) ([]block, error) {
	var blocks []block
	var names []string
	for i, f := range in.Factors {
		names = append(names, f.Name)
		columns := s[f.Name]
		for _, c := range columns {
			if c < 0 || c >= in.Codes.Cols {
				return nil, fmt.Errorf("codes.%s: column %d does not exist; codes have columns 0 to %d", f.Name, c, in.Codes.Cols-1)
			}
		}
		if len(columns) > 0 {
			blocks = append(blocks, block{i, columns})
		}
	}
	if len(blocks) < len(s) {
		for name := range s {
			if !slices.Contains(names, name) {
				return nil, fmt.Errorf("codes: there is no factor %q%s", name, registry.Suggest(name, names))
			}
		}
	}
	return blocks, nil
}

// assigned gives every factor one column, such that the sum over factors of what is
// left of the column's variance where the factor is held, as a part of its variance,
// is least. A constant column is the last choice.
func assigned(in *Input) []block {
	cost := make([][]float64, len(in.Factors))
	for i := range cost {
		cost[i] = make([]float64, in.Codes.Cols)
	}
	column := make([]float64, in.Codes.Rows)
	for c := range in.Codes.Cols {
		scale := unitColumn(in.Codes, c, column)
		for i, f := range in.Factors {
			if cost[i][c] = 1; scale > 0 {
				cost[i][c] = varianceLeft(column, in.Levels[i:], len(in.Factors), f.Size)
			}
		}
	}
	blocks := make([]block, len(cost))
	for i, c := range assign(cost) {
		blocks[i] = block{i, []int{c}}
	}
	return blocks
}

// unitColumn writes a code column less its mean, divided by its standard deviation,
// which it returns. It is 0 for a constant column, and the column then 0.
func unitColumn(codes Matrix, c int, dst []float64) (scale float64) {
	first, largest := codes.Data[c], 0.0
	for i := range dst {
		dst[i] = codes.Data[i*codes.Cols+c] - first
		largest = max(largest, math.Abs(dst[i]))
	}
	if largest == 0 {
		return 0
	}
	var mean, square float64
	for i, v := range dst {
		dst[i] = v / largest // squares neither overflow nor vanish
		mean += dst[i] / float64(len(dst))
	}
	for i := range dst {
		dst[i] -= mean
		square += dst[i] * dst[i]
	}
	deviation := math.Sqrt(square / float64(len(dst)))
	for i := range dst {
		dst[i] /= deviation
	}
	return deviation * largest
}

// varianceLeft is the mean over rows of the squared distance from the mean of the
// row's level; levels has a stride of k.
func varianceLeft(x []float64, levels []int, k, size int) float64 {
	sums, counts := make([]float64, size), make([]float64, size)
	for i, v := range x {
		sums[levels[i*k]] += v
		counts[levels[i*k]]++
	}
	var left float64
	for i, v := range x {
		v -= sums[levels[i*k]] / counts[levels[i*k]]
		left += v * v
	}
	return left / float64(len(x))
}

// describe writes sub-codes for people.
func describe(in *Input, blocks []block) string {
	var parts []string
	for _, b := range blocks {
		parts = append(parts, fmt.Sprintf("%s %s", in.Factors[b.factor].Name, strings.Trim(fmt.Sprint(b.columns), "[]")))
	}
	return "columns of factors: " + strings.Join(parts, ", ")
}

// SubCoded is implemented by metrics that measure sub-codes of factors.
type SubCoded interface {
	// SetCodes says which code columns these are, or how they are shared out.
	SetCodes(SubCodes, Assign)
}
