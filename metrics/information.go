package metrics

import (
	"math"
	"slices"
	"sort"

	"github.com/unravel-ml/unravel/internal/config"
)

// Binning says how the range of a code column is cut into bins.
type Binning string

// The ways to cut.
const (
	EqualWidth Binning = "width" // bins of one width from the least to the largest value
	EqualCount Binning = "count" // bins with as many rows as the next, as far as equal values allow
)

// maxBins bounds the number of bins.
const maxBins = 10000

func validBins(bins int, binning Binning) error {
	if bins < 1 || bins > maxBins {
		return config.Invalid("bins", "%d is out of range; want 1 to %d", bins, maxBins)
	}
	if binning != EqualWidth && binning != EqualCount {
		return config.Invalid("binning", "unknown binning %q; want width or count", string(binning))
	}
	return nil
}

// information holds, in nats, the mutual information of binned code columns and
// factors, and the factors' entropies, from the frequencies of the rows.
type information struct {
	mutual  [][]float64 // by column and factor
	entropy []float64   // by factor
}

func newInformation(in *Input, bins int, binning Binning) *information {
	n, k := in.Codes.Rows, len(in.Factors)
	x := &information{mutual: make([][]float64, in.Codes.Cols), entropy: make([]float64, k)}
	for j, f := range in.Factors {
		counts := make([]int, f.Size)
		for i := j; i < len(in.Levels); i += k {
			counts[in.Levels[i]]++
		}
		x.entropy[j] = entropy(counts, n)
	}
	column, ids := make([]float64, n), make([]int32, n)
	for c := range x.mutual {
		for i := range column {
			column[i] = in.Codes.Data[i*in.Codes.Cols+c]
		}
		used := assignBins(column, edges(column, bins, binning), ids)
		x.mutual[c] = make([]float64, k)
		for j, f := range in.Factors {
			joint := make([]int, used*f.Size)
			for i, b := range ids {
				joint[int(b)*f.Size+in.Levels[i*k+j]]++
			}
			x.mutual[c][j] = mutualInformation(joint, used, f.Size, n)
		}
	}
	return x
}

// edges are the left edges of the bins of a column, ascending. They are rounded as
// NumPy's histogram does it, edge j at j*step + low: codes of a grid lie on edges.
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
	low, high := slices.Min(column), slices.Max(column)
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

// assignBins writes the bin of every number: that of the last edge which is not
// larger. It returns the number of bins.
func assignBins(column, left []float64, ids []int32) int {
	bins, low := len(left), left[0]
	scale := 0.0
	if width := left[bins-1] - low; width > 0 && !math.IsInf(width, 0) {
		scale = float64(bins-1) / width
	}
	for i, v := range column {
		b := 0
		if scale > 0 && !math.IsInf(scale, 0) {
			b = int(min((v-low)*scale, float64(bins-1))) // a guess, right but for rounding if widths are equal
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

// entropy of frequencies of n rows.
func entropy(counts []int, n int) (sum float64) {
	for _, c := range counts {
		if c > 0 {
			p := float64(c) / float64(n)
			sum -= p * math.Log(p)
		}
	}
	return sum
}

// mutualInformation of the joint frequencies of n rows: sum p(x, y) ln (p(x, y)/(p(x) p(y))).
func mutualInformation(joint []int, rows, columns, n int) (sum float64) {
	x, y := make([]int, rows), make([]int, columns)
	for at, c := range joint {
		x[at/columns] += c
		y[at%columns] += c
	}
	for at, c := range joint {
		if c > 0 {
			p, q := float64(c)/float64(n), float64(x[at/columns])/float64(n)*(float64(y[at%columns])/float64(n))
			sum += p * math.Log(p/q)
		}
	}
	return max(sum, 0) // rounding
}
