// Package deviation measures how much codes change within groups of rows. It has the deviations of sub-codes, the
// change of columns under interventions, and the assignment of columns to factors.
//
// The deviations of n points p_i are defined in Zhang and Sugiyama 2024, sections 3.1 and 3.2.
package deviation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/geometry"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// ByLevel returns the deviation d of the points of each level that occurs.
func ByLevel(ctx context.Context, points []float64, columns int, g *levels.Groups, d Func) ([]float64, error) {
	var values []float64
	group := make([]float64, 0, g.Largest()*columns)
	for level := range g.Count {
		members := g.Members(level)
		if len(members) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		group = group[:0]
		if columns == 1 {
			for _, i := range members {
				group = append(group, points[i])
			}
		} else {
			for _, i := range members {
				group = append(group, points[i*columns:(i+1)*columns]...)
			}
		}
		value, err := d(group, g.Count[level])
		if err != nil {
			return nil, fmt.Errorf("level %d: %w", level, err)
		}
		values = append(values, value)
	}
	return values, nil
}

// Variance is the sum over columns of the variances (example 4):
//
//	1/n sum_i |p_i - mean|^2
func Variance(points []float64, columns int) (sum float64) {
	n := float64(len(points) / columns)
	for c := range columns {
		var mean, square, rest float64
		for i := c; i < len(points); i += columns {
			mean += (points[i] - points[c]) / n // differences from the first point: less rounding
		}
		for i := c; i < len(points); i += columns {
			d := points[i] - points[c] - mean
			square += d * d
			rest += d
		}
		sum += (square - rest*rest/n) / n
	}
	return sum
}

// Func measures points, row by row, and may reorder them. They may be a random sample of a group of count points.
type Func func(points []float64, count int) (float64, error)

// New returns the deviation d for points with the given number of columns.
func New(ctx context.Context, d factor.Deviation, columns int) Func {
	if columns == 1 {
		switch d {
		case factor.MAD:
			return onePerRow(mad1D)
		case factor.Radius:
			return onePerRow(radius1D)
		case factor.Diameter:
			return onePerRow(diameter1D)
		case factor.MPD:
			return onePerRow(mpd1D)
		}
	}
	switch d {
	case factor.MAD:
		median := &geometry.Median{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := median.Fit(points, columns)
			return median.MeanDistance, err
		}
	case factor.Radius:
		ball := &geometry.Ball{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			err := ball.Enclose(points, columns)
			return ball.Radius, err
		}
	case factor.Diameter:
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, _ int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			distance, _, _, err := pairs.Diameter()
			return distance, err
		}
	case factor.MPD:
		pairs := &geometry.Pairs{Interrupt: ctx.Err}
		return func(points []float64, count int) (float64, error) {
			if err := pairs.Set(points, columns); err != nil {
				return 0, err
			}
			// pairs of a point with itself have distance 0; they are 1/count of all pairs of the group, but a larger
			// fraction of the pairs of a sample
			mean, err := pairs.Mean()
			return mean / 2 * float64(count-1) / float64(count), err
		}
	}
	return func(points []float64, _ int) (float64, error) { return Variance(points, columns), nil }
}

// onePerRow makes a Func from a deviation of single numbers.
func onePerRow(measure func(x []float64) float64) Func {
	return func(points []float64, _ int) (float64, error) { return measure(points), nil }
}

// mad1D is the mean absolute deviation from the median (example 3):
//
//	min_c 1/n sum_i |x_i - c|
func mad1D(x []float64) float64 {
	slices.Sort(x)
	median, n := x[len(x)/2], float64(len(x))
	var sum float64
	for _, v := range x {
		sum += math.Abs(v-median) / n
	}
	return sum
}

// radius1D is half the range (example 2):
//
//	min_c max_i |x_i - c| = (max x - min x)/2
func radius1D(x []float64) float64 { return slices.Max(x)/2 - slices.Min(x)/2 }

// diameter1D is the range (example 7):
//
//	max_ij |x_i - x_j| = max x - min x
func diameter1D(x []float64) float64 { return slices.Max(x) - slices.Min(x) }

// mpd1D is half the mean pairwise distance (section 3.2), in time n log n:
//
//	1/(2 n^2) sum_ij |x_i - x_j| = 1/n^2 sum_i (2i - n + 1) x_i,  x sorted, i from 0
func mpd1D(x []float64) float64 {
	slices.Sort(x)
	n := float64(len(x))
	var sum float64
	for i, v := range x {
		sum += (float64(2*i+1) - n) / n * (v - x[0]) / n
	}
	return sum
}

// Points copies columns of codes, row by row. With standardise, each column is divided by its standard deviation.
func Points(codes matrix.Matrix, columns []int, standardise bool) []float64 {
	selected := codes.Columns(columns)
	if !standardise {
		return selected.Data
	}
	column := make([]float64, selected.Rows)
	for c := range selected.Cols {
		selected.UnitColumn(c, column)
		for i, v := range column {
			selected.Data[i*selected.Cols+c] = v
		}
	}
	return selected.Data
}

// deviationQuantile is the deviation of a code column z over the rows with one level (Suter et al. 2019, section 4),
// relative to the largest deviation of the column from its mean; it overwrites z:
//
//	quantile of |z - mean z| / largest
//
// The column's score for the factor is 1 minus the mean over levels.
func deviationQuantile(z []float64, q, largest float64) float64 {
	mean := matrix.Mean(z)
	for i, v := range z {
		z[i] = math.Abs(v-mean) / largest
	}
	if q == 1 {
		return slices.Max(z)
	}
	slices.Sort(z)
	return numeric.Quantile(z, q)
}

// Robustness returns, for column c and every factor, 1 minus the mean over levels of quantile q of the deviations
// (Suter et al. 2019, section 4). It also returns the largest deviation of the column from its mean, which is 0 for a
// constant column.
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
			sum += deviationQuantile(group, q, largest)
			count++
		}
		row[j] = 1 - sum/count
	}
	return row, largest, nil
}

// Within returns the sum of the squared distances of column c from its mean within each group of rows.
func Within(m matrix.Matrix, groups [][]int, c int) float64 {
	var sum float64
	for _, rows := range groups {
		first := m.Data[int(rows[0])*m.Cols+c] // subtracted first, which avoids cancellation
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

// Draw draws groups of rows at random, without replacement, until they contain the wanted number of rows. It also
// returns their degrees of freedom: rows minus groups.
func Draw(all [][]int, rowLimit int, s *rng.Stream) (groups [][]int, freedom int) {
	rows := 0
	for _, g := range s.Perm(len(all)) {
		if rows >= rowLimit {
			break
		}
		groups = append(groups, all[g])
		rows += len(all[g])
		freedom += len(all[g]) - 1
	}
	return groups, freedom
}

// LargestShare returns the largest variance of a column as a fraction of all variances, or NaN if all are 0.
func LargestShare(variances []float64) float64 {
	var sum, largest float64
	for _, v := range variances {
		sum, largest = sum+v, max(largest, v)
	}
	return largest / sum
}

// Assign returns one column for each factor. The assignment minimises the sum over factors of the fraction of the
// column's variance that remains while the factor is fixed, over the rows where the factor is known. A column that is
// constant on these rows has the maximum cost 1, and so has every column for a factor without a known level.
func Assign(ctx context.Context, codes matrix.Matrix, t levels.Table) ([]factor.Block, error) {
	cost := numeric.Zeros(len(t.Factors), codes.Cols)
	column := make([]float64, codes.Rows)
	for c := range codes.Cols {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		scale := codes.UnitColumn(c, column)
		for i, f := range t.Factors {
			if cost[i][c] = 1; scale > 0 {
				cost[i][c] = remainingFraction(column, t.Levels[i:], len(t.Factors), f.Size)
			}
		}
	}
	blocks := make([]factor.Block, len(cost))
	for i, c := range geometry.Assign(cost) {
		blocks[i] = factor.Block{Factor: i, Columns: []int{c}}
	}
	return blocks, nil
}

// remainingFraction uses the rows with a known level. It returns the sum of squared distances from the mean of the
// level, divided by the sum of squared distances from the overall mean. It is 1 for a divisor of 0. levels has stride k.
func remainingFraction(x []float64, levels []int, k, size int) float64 {
	sums, counts := make([]float64, size), make([]float64, size)
	first, known := 0.0, false // differences of a constant column are exactly 0
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			if !known {
				first, known = v, true
			}
			sums[l] += v - first
			counts[l]++
		}
	}
	mean := factor.Sum.Of(sums) / factor.Sum.Of(counts)
	var remaining, all float64
	for i, v := range x {
		if l := levels[i*k]; l >= 0 {
			v -= first
			all += (v - mean) * (v - mean)
			v -= sums[l] / counts[l]
			remaining += v * v
		}
	}
	if all == 0 {
		return 1
	}
	return remaining / all
}
