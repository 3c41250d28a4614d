package mutual

import (
	"context"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/bins"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Binning is the rule that cuts the range of a code column into bins.
type Binning string

// The ways to cut.
const (
	EqualWidth Binning = "width" // bins of equal width from the minimum to the maximum
	EqualCount Binning = "count" // bins with equally many rows, as far as ties allow
)

// MaxBins is the maximum number of bins.
const MaxBins = 10000

// Histogram sets the bins of code columns. Frequencies of these bins give the mutual information.
type Histogram struct {
	Bins    int     `yaml:"bins" doc:"number of bins of a code column"`
	Binning Binning `yaml:"binning" doc:"width (bins of equal width) or count (bins with equally many rows)"`
}

// Library returns the settings of disentanglement_lib.
func Library() Histogram { return Histogram{Bins: 20, Binning: EqualWidth} }

// Check checks the settings.
func (h Histogram) Check() error {
	if h.Bins < 1 || h.Bins > MaxBins {
		return config.Invalid("bins", "%d is out of range; want 1 to %d", h.Bins, MaxBins)
	}
	if h.Binning != EqualWidth && h.Binning != EqualCount {
		return config.Invalid("binning", "unknown binning %q; want width or count", string(h.Binning))
	}
	return nil
}

// edges returns the left edges of the bins of a column in ascending order. It rounds like NumPy's histogram (edge j at
// j*step + low), because codes of a grid lie exactly on edges.
func (h Histogram) edges(column []float64) []float64 {
	if h.Binning == EqualCount {
		left, sorted := make([]float64, h.Bins), slices.Clone(column)
		slices.Sort(sorted)
		for j := range left {
			left[j] = sorted[j*len(sorted)/h.Bins]
		}
		return slices.Compact(left)
	}
	low, high := column[0], column[0]
	for _, v := range column { // faster than slices.Min and Max, which check for NaN
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	return bins.EqualWidth(low, high, h.Bins)
}

// binned is a binned code column, with scratch memory for counts.
type binned struct {
	column []float64
	ids    []int32
	joint  []int32
	x, y   []int32
}

// columnsAtOnce is the number of code columns read together, because adjacent columns are in the same cache line.
const columnsAtOnce = 8

// binColumns calls use with each binned code column c and its number of bins. If edges are given, they define the bins.
// Calls run concurrently, each with its own scratch memory.
func binColumns(
	ctx context.Context, codes matrix.Matrix, h Histogram, given [][]float64, use func(scratch *binned, c, used int),
) error {
	n, d := codes.Rows, codes.Cols
	if err := h.Check(); err != nil {
		return err
	}
	if n < 1 || d < 1 || len(codes.Data) != n*d {
		return fmt.Errorf("codes hold %d numbers; want %d x %d, at least one of each", len(codes.Data), n, d)
	}
	blocks := (d + columnsAtOnce - 1) / columnsAtOnce
	return parallel.Each(ctx, blocks, func(block int) error {
		first := block * columnsAtOnce
		width := min(columnsAtOnce, d-first)
		columns := make([]float64, width*n)
		for i := range n {
			for c, v := range codes.Data[i*d+first : i*d+first+width] {
				columns[c*n+i] = v
			}
		}
		scratch := &binned{ids: make([]int32, n)}
		for c := range width {
			if err := ctx.Err(); err != nil {
				return err
			}
			scratch.column = columns[c*n : (c+1)*n]
			var left []float64
			if given != nil {
				left = given[first+c]
			} else {
				left = h.edges(scratch.column)
			}
			bins.Assign(scratch.ids, scratch.column, left)
			use(scratch, first+c, len(left))
		}
		return nil
	})
}
