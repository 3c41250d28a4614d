package metrics

import (
	"context"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/graph/rng"
)

// counting holds what both halves of the rows use when an [Interval] counts frequencies. The halves use the bins of all
// rows, as their separate bins would differ at random. They also agree on the pairs of a column and a factor that have
// information at all.
//
// The mutual information of n rows is too large by about (bins-1)(levels-1)/2n. Halves remove that from sums and gaps.
// Shares of many columns do not get rid of it: each column without information adds its part. A pair therefore counts
// as independent if it has no more information than with permuted levels: the mean of the permutations plus 3.3
// standard deviations. About one in a thousand independent pairs has more. It is decided once, for all halves.
type counting struct {
	histogram Histogram
	edges     [][]float64 // by column
	note      string
	informed  map[string][]bool // by factor and column; nil: all
}

// leastPerCell is the least number of rows for each cell of two columns, or of a column and a factor. With fewer rows
// the bias is no longer of order 1/n.
const leastPerCell = 2

const (
	nullPermutations = 10
	nullDeviations   = 3.3
)

// newCounting returns the bins of all rows and, if masked, the pairs that have information. between says that columns
// are counted with columns, not with factors.
func newCounting(ctx context.Context, in *Input, h Histogram, masked, between bool, s *rng.Stream) (*counting, error) {
	cells := h.Bins * h.Bins // of two columns
	if !between {
		cells = 0
		for _, f := range in.Factors {
			cells = max(cells, h.Bins*f.Size)
		}
	}
	if least := leastPerCell * cells; in.Codes.Rows < least {
		return nil, noInterval(fmt.Sprintf("%d rows are too few to count %d cells; want at least %d, or fewer bins", in.Codes.Rows, cells, least))
	}
	x := &counting{histogram: h, edges: make([][]float64, in.Codes.Cols)}
	column := make([]float64, in.Codes.Rows)
	for c := range x.edges {
		for i := range column {
			column[i] = in.Codes.Data[i*in.Codes.Cols+c]
		}
		x.edges[c] = edges(column, h.Bins, h.Binning)
	}
	if !masked {
		return x, nil
	}
	found, err := newInformation(ctx, in, h)
	if err != nil {
		return nil, err
	}
	k := len(in.Factors)
	null := make([][]float64, in.Codes.Cols)
	for c := range null {
		null[c] = make([]float64, k)
	}
	mixed := *in
	mixed.Levels = make([]int, len(in.Levels))
	for range nullPermutations {
		for to, from := range s.Perm(in.Codes.Rows) {
			copy(mixed.Levels[to*k:(to+1)*k], in.Levels[from*k:(from+1)*k])
		}
		chance, err := newInformation(ctx, &mixed, h)
		if err != nil {
			return nil, err
		}
		for c, row := range chance.mutual {
			for j, v := range row {
				null[c][j] += v / nullPermutations
			}
		}
	}
	x.informed = map[string][]bool{}
	independent := 0
	for j, f := range in.Factors {
		informed := make([]bool, in.Codes.Cols)
		for c := range informed {
			// 2 n I of independent columns has a chi-squared distribution, with a variance of twice its mean
			deviation := math.Sqrt(null[c][j] / float64(in.Codes.Rows))
			informed[c] = found.mutual[c][j] > null[c][j]+nullDeviations*deviation
			if !informed[c] {
				independent++
			}
		}
		x.informed[f.Name] = informed
	}
	pairs := k * in.Codes.Cols
	if independent == pairs {
		return nil, noInterval("no column tells more of a factor than chance does")
	}
	if independent > 0 {
		x.note = fmt.Sprintf("interval: %d of %d pairs of a column and a factor tell no more than chance and count as independent", independent, pairs)
	}
	return x, nil
}

// of returns the edges of a histogram; nil if it is another one.
func (x *counting) of(h Histogram) [][]float64 {
	if x == nil || x.histogram != h {
		return nil
	}
	return x.edges
}

// masks reports whether pairs without information are left out.
func (x *counting) masks() bool { return x != nil && x.informed != nil }

// mask sets the information of column c with factors to 0 where there is none.
func (x *counting) mask(in *Input, c int, mutual []float64) {
	if !x.masks() {
		return
	}
	for j, f := range in.Factors {
		if !x.informed[f.Name][c] {
			mutual[j] = 0
		}
	}
}
