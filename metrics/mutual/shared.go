package mutual

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Shared holds the bins and the informative pairs of all rows, computed once for all subsets of the rows. Otherwise the
// bins would differ randomly between subsets.
//
// The mutual information of n rows is biased upwards by about (bins-1)(levels-1)/2n. Halves of the rows correct this
// bias for sums and gaps, but not for shares over many columns, because each column without information adds to the
// bias. A pair of a column and a factor therefore counts as independent if its information is at most the mean for
// permuted levels plus 3.3 standard deviations. About one independent pair in a thousand exceeds that.
type Shared struct {
	// numbers of pairs of a column and a factor: pairs that count as independent, and all pairs; 0 if there was no test
	Independent, Pairs int

	histogram Histogram
	edges     [][]float64       // by column
	informed  map[string][]bool // by factor and column; nil: all

	// information of an independent pair, and the most that chance is likely to hide in each
	assumed, hidden float64
}

// leastPerCell is the minimum number of rows for each cell of two columns, or of a column and a factor. With fewer rows
// the bias is no longer of order 1/n.
const leastPerCell = 2

const (
	nullPermutations = 10
	nullDeviations   = 3.3
	hiddenDeviations = 2
)

// Share returns the bins of all rows. Errors: fewer than two rows for each cell of two columns.
func Share(codes matrix.Matrix, h Histogram) (*Shared, error) { return share(codes, h, h.Bins*h.Bins) }

func share(codes matrix.Matrix, h Histogram, cells int) (*Shared, error) {
	if least := leastPerCell * cells; codes.Rows < least {
		return nil, fmt.Errorf("%d rows are too few to count %d cells; want at least %d, or fewer bins", codes.Rows, cells, least)
	}
	x := &Shared{histogram: h, edges: make([][]float64, codes.Cols)}
	column := make([]float64, codes.Rows)
	for c := range x.edges {
		for i := range column {
			column[i] = codes.Data[i*codes.Cols+c]
		}
		x.edges[c] = h.edges(column)
	}
	return x, nil
}

// ShareWithFactors returns the bins of all rows for joint counts with factors. With test it also finds the pairs that
// have information, by random permutations. Errors: fewer than two rows for each cell of a column and a factor, no pair
// with information, and the end of the context.
func ShareWithFactors(
	ctx context.Context, codes matrix.Matrix, factors []factor.Factor, levels []int, h Histogram, test bool, s *rng.Stream,
) (*Shared, error) {
	cells := 0
	for _, f := range factors {
		cells = max(cells, h.Bins*f.Size)
	}
	x, err := share(codes, h, cells)
	if err != nil || !test {
		return x, err
	}
	found, err := New(ctx, codes, factors, levels, h, nil)
	if err != nil {
		return nil, err
	}
	null, err := permuted(ctx, codes, factors, levels, h, s)
	if err != nil {
		return nil, err
	}
	x.informed, x.Pairs = map[string][]bool{}, len(factors)*codes.Cols
	var rest, variance float64 // sums over independent pairs: information above chance, and its variance
	for j, f := range factors {
		informed := make([]bool, codes.Cols)
		for c := range informed {
			// for independent columns, 2 n I has a chi-squared distribution, whose variance is twice its mean
			deviation := math.Sqrt(null[c][j] / float64(codes.Rows))
			informed[c] = found.Mutual[c][j] > null[c][j]+nullDeviations*deviation
			if !informed[c] {
				x.Independent++
				rest, variance = rest+found.Mutual[c][j]-null[c][j], variance+deviation*deviation
			}
		}
		x.informed[f.Name] = informed
	}
	if x.Independent == x.Pairs {
		return nil, errors.New("no column has more information about a factor than by chance")
	}
	x.hidden = max(rest+hiddenDeviations*math.Sqrt(variance), 0) / float64(max(x.Independent, 1))
	return x, nil
}

// Undetected returns x with pairs that share as much information as chance is likely to hide, instead of independent
// pairs. Their total information is at most the total above chance plus two standard deviations.
func (x *Shared) Undetected() *Shared {
	other := *x
	other.assumed = x.hidden
	return &other
}

// permuted returns the mean mutual information with permuted levels, by column and factor.
func permuted(
	ctx context.Context, codes matrix.Matrix, factors []factor.Factor, levels []int, h Histogram, s *rng.Stream,
) ([][]float64, error) {
	k := len(factors)
	mean := numeric.Zeros(codes.Cols, k)
	mixed := make([]int, len(levels))
	for range nullPermutations {
		for to, from := range s.Perm(codes.Rows) {
			copy(mixed[to*k:(to+1)*k], levels[from*k:(from+1)*k])
		}
		chance, err := New(ctx, codes, factors, mixed, h, nil)
		if err != nil {
			return nil, err
		}
		for c, row := range chance.Mutual {
			for j, v := range row {
				mean[c][j] += v / nullPermutations
			}
		}
	}
	return mean, nil
}

// edgesOf returns the edges of a histogram, or nil if they belong to a different histogram.
func (x *Shared) edgesOf(h Histogram) [][]float64 {
	if x == nil || x.histogram != h {
		return nil
	}
	return x.edges
}

// Masks reports whether pairs without information are left out.
func (x *Shared) Masks() bool { return x != nil && x.informed != nil }

// mask sets the information of independent pairs to 0, or to the assumed information.
func (x *Shared) mask(in *Information, factors []factor.Factor) {
	if !x.Masks() {
		return
	}
	for j, f := range factors {
		for c, informed := range x.informed[f.Name] {
			if !informed {
				in.Mutual[c][j] = x.assumed
			}
		}
	}
}
