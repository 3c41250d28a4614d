// Package mutual measures how much information code columns have about factors: binned columns, their mutual
// information, and scores of matrices of information or importance.
package mutual

import (
	"context"
	"math"

	"github.com/unravel-ml/unravel/datasets/factor"
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
	x := &Information{Mutual: make([][]float64, codes.Cols), Entropy: make([]float64, k)}
	columns, known := make([][]int32, k), make([]int, k)
	for j, f := range factors {
		counts := make([]int, f.Size)
		columns[j] = make([]int32, codes.Rows)
		for i := range columns[j] {
			l := levels[i*k+j]
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
	if err == nil {
		shared.mask(x, factors)
	}
	return x, err
}

// Between returns the mutual information of code columns with each other, in nats, with their entropies on the
// diagonal.
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
