package mutual

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/unravel-ml/unravel/configs/config"
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
	bins := h.Bins
	left := make([]float64, bins)
	if h.Binning == EqualCount {
		sorted := slices.Clone(column)
		slices.Sort(sorted)
		for j := range left {
			left[j] = sorted[j*len(sorted)/bins]
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
	if low == high {
		low, high = low-0.5, high+0.5
	}
	step := (high - low) / float64(bins)
	for j := range left {
		left[j] = float64(float64(j)*step) + low // two roundings on every machine, no fused multiply-add
		if math.IsInf(step, 0) {
			t := float64(j) / float64(bins)
			left[j] = low*(1-t) + high*t
		}
	}
	return left
}

// Bin sorts values into bins of equal width from the minimum to the maximum. It returns the bin of every value.
func Bin(values []float64, bins int) []int32 {
	ids := make([]int32, len(values))
	assignBins(values, Histogram{Bins: bins, Binning: EqualWidth}.edges(values), ids)
	return ids
}

// assignBins sets each number's id to the last bin with a left edge at most the number, and returns how many bins.
func assignBins(column, left []float64, ids []int32) int {
	bins, low := len(left), left[0]
	scale := 0.0
	if width := left[bins-1] - low; width > 0 && !math.IsInf(width, 0) {
		scale = float64(bins-1) / width
	}
	for i, v := range column {
		b := 0
		if scale > 0 && !math.IsInf(scale, 0) {
			// correct up to rounding for equal widths, otherwise a first guess
			b = int(min((v-low)*scale, float64(bins-1)))
		}
		if b+1 < bins && v >= left[b+1] || v < left[b] {
			if b+2 < bins && v >= left[b+2] || b > 0 && v < left[b-1] {
				b = sort.Search(bins, func(j int) bool { return left[j] > v }) - 1
			} else if v < left[b] {
				b--
			} else {
				b++
			}
		}
		ids[i] = int32(max(b, 0))
	}
	return bins
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
			used := assignBins(scratch.column, left, scratch.ids)
			use(scratch, first+c, used)
		}
		return nil
	})
}
