// Package mutual measures how much information code columns have about factors: binned columns, their mutual
// information, and scores of matrices of information or importance.
package mutual

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Information holds, in nats, the mutual information of binned code columns with factors and the entropies of the
// factors, from frequencies over the rows. If a factor has unknown levels, only the rows where it is known count, but
// in the bins of all rows.
type Information struct {
	Mutual  [][]float64 // by column and factor
	Entropy []float64   // by factor
}

// New returns the information of code columns about factors. levels has the levels of the factors, row by row; negative
// values are unknown. If shared is set, it provides the bins and the independent pairs.
func New(
	ctx context.Context, codes matrix.Matrix, factors []factor.Factor, levels []int, h Histogram, shared *Shared,
) (*Information, error) {
	k := len(factors)
	if len(levels) != codes.Rows*k {
		return nil, fmt.Errorf("there are %d levels; want %d of each of %d codes", len(levels), k, codes.Rows)
	}
	x := &Information{Mutual: make([][]float64, codes.Cols), Entropy: make([]float64, k)}
	columns, known := make([][]int32, k), make([]int, k)
	for j, f := range factors {
		counts := make([]int, f.Size)
		columns[j] = make([]int32, codes.Rows)
		for i := range columns[j] {
			l := levels[i*k+j]
			if l >= f.Size {
				return nil, fmt.Errorf("row %d has level %d of factor %q; want less than %d", i, l, f.Name, f.Size)
			}
			columns[j][i] = int32(l)
			if l >= 0 {
				counts[l]++
				known[j]++
			}
		}
		x.Entropy[j] = entropy(counts, known[j])
	}
	err := binColumns(ctx, codes, h, shared.edgesOf(h), func(scratch *binned, c, used int) {
		x.Mutual[c] = make([]float64, k)
		for j, f := range factors {
			x.Mutual[c][j] = scratch.mutual(used, columns[j], f.Size, known[j])
		}
	})
	if err != nil {
		return nil, err
	}
	shared.mask(x, factors)
	return x, nil
}

// Between returns the mutual information between code columns, in nats, with entropies on the diagonal.
func Between(ctx context.Context, codes matrix.Matrix, h Histogram, shared *Shared) ([][]float64, error) {
	d := codes.Cols
	ids, used := make([][]int32, d), make([]int, d)
	err := binColumns(ctx, codes, h, shared.edgesOf(h), func(s *binned, c, bins int) {
		ids[c], used[c] = append([]int32(nil), s.ids...), bins
	})
	if err != nil {
		return nil, err
	}
	mutual := numeric.Zeros(d, d)
	return mutual, parallel.Each(ctx, d, func(a int) error {
		s := &binned{ids: ids[a]}
		for b := a; b < d; b++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			v := s.mutual(used[a], ids[b], used[b], len(ids[b]))
			mutual[a][b], mutual[b][a] = v, v // no two calls write the same element
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

// zeros returns n zeros, in the memory of x if it is large enough.
func zeros(x []int32, n int) []int32 {
	if cap(x) < n {
		return make([]int32, n)
	}
	x = x[:n]
	clear(x)
	return x
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

// mutualInformation returns sum p(x, y) ln (p(x, y)/(p(x) p(y))), in nats, for the joint counts of n rows. x and y must
// be zeros and receive the marginal counts. The ratios of integers make it exactly 0 if the counts are independent.
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
	return max(sum, 0) // rounding can make it negative
}

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
	hiddenDeviations = 3
)

// Share returns the bins of all rows. Errors: settings out of range, and fewer than two rows for each cell of two
// columns.
func Share(codes matrix.Matrix, h Histogram) (*Shared, error) { return share(codes, h, h.Bins*h.Bins) }

func share(codes matrix.Matrix, h Histogram, cells int) (*Shared, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	if least := leastPerCell * cells; codes.Rows < least {
		return nil, fmt.Errorf("%d rows are too few to count %d cells; want at least %d, or fewer bins",
			codes.Rows, cells, least)
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
// have information, by random permutations. Errors: settings out of range, fewer than two rows for each cell of a
// column and a factor, no pair with information, and the end of the context.
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
// pairs. Their total information is at most the total above chance plus three standard deviations.
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
