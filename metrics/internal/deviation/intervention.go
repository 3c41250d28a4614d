package deviation

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// quantileAt is the deviation of a code column z over the rows of one level (Suter et al. 2019, section 4), relative
// to the largest deviation of the column from its mean; it overwrites z:
//
//	quantile of |z - mean z| / largest
//
// The score of the column for the factor is 1 minus the mean over levels.
func quantileAt(z []float64, q, largest float64) float64 {
	mean := matrix.Mean(z)
	for i, v := range z {
		z[i] = math.Abs(v-mean) / largest
	}
	return quantile(z, q)
}

// Robustness returns, for column c and every factor, 1 minus the mean over levels of quantile q of the deviations (Suter
// et al. 2019, section 4). It also returns the largest deviation of the column from its mean, 0 if it is constant.
func Robustness(
	ctx context.Context, codes matrix.Matrix, c int, factors []*levels.Groups, q float64,
) (row []float64, largest float64, err error) {
	z := make([]float64, codes.Rows)
	low, high := codes.Data[c], codes.Data[c]
	for i := range z {
		z[i] = codes.Data[i*codes.Cols+c]
		low, high = min(low, z[i]), max(high, z[i])
	}
	if low == high {
		return nil, 0, nil
	}
	centre := matrix.Mean(z)
	largest = max(high-centre, centre-low)
	row = make([]float64, len(factors))
	group := make([]float64, 0, len(z))
	for j, g := range factors {
		var sum, count float64
		for level := range g.Count {
			members := g.Members(level)
			if len(members) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			group = group[:0]
			for _, i := range members {
				group = append(group, z[i])
			}
			sum += quantileAt(group, q, largest)
			count++
		}
		row[j] = 1 - sum/count
	}
	return row, largest, nil
}

// quantile returns the q-quantile of x, interpolated linearly; it sorts x.
func quantile(x []float64, q float64) float64 {
	if q == 1 {
		return slices.Max(x)
	}
	slices.Sort(x)
	return numeric.Quantile(x, q)
}

// Within returns the sum of squared distances of column c from its means over groups of rows.
func Within(m matrix.Matrix, groups [][]int, c int) float64 {
	var sum float64
	for _, rows := range groups {
		first := m.Data[int(rows[0])*m.Cols+c] // subtracted first, against cancellation
		var mean, square float64
		for n, i := range rows {
			x := m.Data[int(i)*m.Cols+c] - first
			step := x - mean
			mean += step / float64(n+1)
			square += step * (x - mean)
		}
		sum += square
	}
	return sum
}

// Draw draws groups of rows at random, without replacement, until they hold most rows. It also counts their degrees of
// freedom: rows minus groups.
func Draw(all [][]int, most int, s *rng.Stream) (groups [][]int, freedom int) {
	rows := 0
	for _, at := range s.Perm(len(all)) {
		if rows >= most {
			break
		}
		groups = append(groups, all[at])
		rows += len(all[at])
		freedom += len(all[at]) - 1
	}
	return groups, freedom
}

// LargestShare returns the largest variance of a code column as a fraction of the sum of variances, or NaN if all are
// 0.
func LargestShare(variances []float64) float64 {
	var sum, most float64
	for _, v := range variances {
		sum, most = sum+v, max(most, v)
	}
	return most / sum
}
