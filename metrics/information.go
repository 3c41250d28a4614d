package metrics

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Binning is the rule that cuts the range of a code column into bins.
type Binning string

// The ways to cut.
const (
	EqualWidth Binning = "width" // bins of equal width from the least to the largest value
	EqualCount Binning = "count" // bins of equally many rows, as far as ties allow
)

// maxBins bounds the number of bins.
const maxBins = 10000

// Histogram sets the bins of code columns. Mutual information is computed from their frequencies.
type Histogram struct {
	Bins    int     `yaml:"bins" doc:"number of bins of a code column"`
	Binning Binning `yaml:"binning" doc:"width (bins of equal width) or count (bins with equally many rows)"`
}

// libraryHistogram returns the bins of disentanglement_lib.
func libraryHistogram() Histogram { return Histogram{Bins: 20, Binning: EqualWidth} }

func (h Histogram) validate() error {
	if h.Bins < 1 || h.Bins > maxBins {
		return config.Invalid("bins", "%d is out of range; want 1 to %d", h.Bins, maxBins)
	}
	if h.Binning != EqualWidth && h.Binning != EqualCount {
		return config.Invalid("binning", "unknown binning %q; want width or count", string(h.Binning))
	}
	return nil
}

// rows returns the input restricted to some rows: codes, levels and factors, without Exact values.
func (in *Input) rows(list []int) *Input {
	k := len(in.Factors)
	some := &Input{Factors: in.Factors, Stream: in.Stream, counting: in.counting, Codes: Matrix{Rows: len(list), Cols: in.Codes.Cols}}
	for _, i := range list {
		some.Codes.Data = append(some.Codes.Data, in.Codes.Row(i)...)
		some.Levels = append(some.Levels, in.Levels[i*k:(i+1)*k]...)
	}
	return some
}

// information holds, in nats, the mutual information of binned code columns with factors and the entropies of the
// factors, from frequencies over the rows. A factor with unknown levels counts the rows where it is known, in the bins
// of all rows of the input. Evaluate has already removed rows without a known level.
type information struct {
	mutual  [][]float64 // by column and factor
	entropy []float64   // by factor
}

func newInformation(ctx context.Context, in *Input, h Histogram) (*information, error) {
	n, d, k := in.Codes.Rows, in.Codes.Cols, len(in.Factors)
	x := &information{mutual: make([][]float64, d), entropy: make([]float64, k)}
	levels, known := make([][]int32, k), make([]int, k)
	for j, f := range in.Factors {
		counts := make([]int, f.Size)
		levels[j] = make([]int32, n)
		for i := range n {
			l := in.Levels[i*k+j]
			levels[j][i] = int32(l)
			if l >= 0 {
				counts[l]++
				known[j]++
			}
		}
		x.entropy[j] = entropy(counts, known[j])
	}
	err := binColumns(ctx, in.Codes, h, in.counting.of(h), func(scratch *binned, c, used int) {
		x.mutual[c] = make([]float64, k)
		for j, f := range in.Factors {
			x.mutual[c][j] = scratch.mutual(used, levels[j], f.Size, known[j])
		}
		in.counting.mask(in, c, x.mutual[c])
	})
	return x, err
}

// binned is a binned code column, with scratch memory for counts.
type binned struct {
	column []float64
	ids    []int32
	joint  []int32
	x, y   []int32
}

// columnsAtOnce is the number of code columns read together, as they share cache lines of the rows.
const columnsAtOnce = 8

// binColumns calls use with every binned code column c and its number of bins. If edges are given, the bins lie between
// them. Calls run concurrently, each with its own scratch memory.
func binColumns(ctx context.Context, codes Matrix, h Histogram, given [][]float64, use func(scratch *binned, c, used int)) error {
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
				left = edges(scratch.column, h.Bins, h.Binning)
			}
			used := assignBins(scratch.column, left, scratch.ids)
			use(scratch, first+c, used)
		}
		return nil
	})
}

// mutual returns the mutual information, in nats, of the column in bins with a factor of size levels. known is the
// number of rows with a known level.
func (s *binned) mutual(bins int, levels []int32, size, known int) float64 {
	s.joint = zeros(s.joint, bins*size)
	s.x, s.y = zeros(s.x, bins), zeros(s.y, size)
	for i, b := range s.ids {
		if l := int(levels[i]); known == len(levels) || l >= 0 {
			s.joint[int(b)*size+l]++
		}
	}
	return mutualInformation(s.joint, s.x, s.y, known)
}

// zeros returns n zeros, and reuses the memory of x if it is large enough.
func zeros(x []int32, n int) []int32 {
	if cap(x) < n {
		return make([]int32, n)
	}
	x = x[:n]
	clear(x)
	return x
}

// edges returns the left edges of the bins of a column, ascending. It rounds as NumPy's histogram does (edge j at
// j*step + low), as codes of a grid lie on edges.
func edges(column []float64, bins int, binning Binning) []float64 {
	left := make([]float64, bins)
	if binning == EqualCount {
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
		left[j] = float64(float64(j)*step) + low // rounded twice on every machine
		if math.IsInf(step, 0) {
			t := float64(j) / float64(bins)
			left[j] = low*(1-t) + high*t
		}
	}
	return left
}

// assignBins sets ids to the bin of every number, the last bin with an edge not above it. It returns the number of
// bins.
func assignBins(column, left []float64, ids []int32) int {
	bins, low := len(left), left[0]
	scale := 0.0
	if width := left[bins-1] - low; width > 0 && !math.IsInf(width, 0) {
		scale = float64(bins-1) / width
	}
	for i, v := range column {
		b := 0
		if scale > 0 && !math.IsInf(scale, 0) {
			b = int(min((v-low)*scale, float64(bins-1))) // right up to rounding for equal widths, otherwise a first guess
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

// entropy returns -sum p ln p of the frequencies p = counts/n, in nats.
func entropy(counts []int, n int) (sum float64) {
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(n)
			sum -= p * math.Log(p)
		}
	}
	return sum
}

// mutualInformation returns sum p(x, y) ln (p(x, y)/(p(x) p(y))), in nats, of the joint counts of n rows. x and y are
// zeros and receive the margins. Ratios of integers make it exactly 0 for independent counts.
func mutualInformation(joint, x, y []int32, n int) (sum float64) {
	for a := range x {
		for b, c := range joint[a*len(y) : (a+1)*len(y)] {
			x[a] += c
			y[b] += c
		}
	}
	for a := range x {
		if x[a] == 0 {
			continue
		}
		for b, c := range joint[a*len(y) : (a+1)*len(y)] {
			if c > 0 {
				ratio := float64(c) * float64(n) / (float64(x[a]) * float64(y[b]))
				sum += float64(c) / float64(n) * math.Log(ratio)
			}
		}
	}
	return max(sum, 0) // rounding
}
