// Package votes draws rows with the same level of a random factor, and recovers the factor from their codes: by the
// column with the smallest variance (FactorVAE), or from differences of the codes (beta-VAE).
package votes

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Draw draws rows with a given level of a factor.
type Draw struct {
	table  levels.Table
	known  [][]int          // rows with a known level, by factor
	groups []*levels.Groups // rows with a known level, by factor
	stream *rng.Stream
}

// NewDraw groups the rows by the levels of each factor. known lists the rows to draw from, by factor.
func NewDraw(t levels.Table, known [][]int, s *rng.Stream) *Draw {
	d := &Draw{table: t, known: known, stream: s}
	for j := range t.Factors {
		d.groups = append(d.groups, t.Groups(j, nil))
	}
	return d
}

func (d *Draw) factor() int { return d.stream.IntN(len(d.table.Factors)) }

// row draws one of the rows where factor j is known, uniformly, so a level is drawn with its frequency.
func (d *Draw) row(j int) int { return d.known[j][d.stream.IntN(len(d.known[j]))] }

// members returns the rows with the same level of factor j as the given row.
func (d *Draw) members(row, j int) []int {
	return d.groups[j].Members(d.table.Levels[row*len(d.table.Factors)+j])
}

// Differences draws n points, with one number for each code column, and their factors. A point is the mean absolute
// difference over batch pairs of rows.
func (draw *Draw) Differences(
	ctx context.Context, codes matrix.Matrix, n, batch int,
) (x []float64, labels []int, err error) {
	d := codes.Cols
	x, labels = make([]float64, n*d), make([]int, n)
	points := max(1, pairsPerChunk/batch)
	rows := make([]int, 0, min(n, points)*2*batch)
	for start := 0; start < n; start += points {
		rows = rows[:0]
		for i := start; i < min(start+points, n); i++ {
			if i%64 == 0 && ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			j := draw.factor()
			labels[i] = j
			for range batch {
				first := draw.row(j)
				sameLevel := draw.members(first, j)
				rows = append(rows, first, sameLevel[draw.stream.IntN(len(sameLevel))])
			}
		}
		pairRows := 2 * batch // rows for one point
		err := parallel.Each(ctx, len(rows)/pairRows, func(i int) error {
			point := x[(start+i)*d : (start+i+1)*d]
			for r := i * pairRows; r < (i+1)*pairRows; r += 2 {
				addDifference(point, codes.Row(rows[r]), codes.Row(rows[r+1]), batch)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return x, labels, nil
}

// Standardise divides the columns of points x and y by the standard deviation over x; constant columns stay.
func Standardise(x, y []float64, columns int) {
	points := matrix.Matrix{Rows: len(x) / columns, Cols: columns, Data: x}
	scales, unit := make([]float64, columns), make([]float64, points.Rows)
	for c := range scales {
		if scales[c] = points.UnitColumn(c, unit); scales[c] == 0 {
			scales[c] = 1
		}
	}
	for i := range x {
		x[i] /= scales[i%columns]
	}
	for i := range y {
		y[i] /= scales[i%columns]
	}
}

// addDifference adds a pair of codes z, z' to an input of the classifier that predicts the factor. All L pairs of one
// input have the same level of the factor (Higgins et al. 2017, section 3):
//
//	1/L sum_l |z_l - z'_l|, column by column
func addDifference(input, z, other []float64, pairs int) {
	for c, v := range z {
		input[c] += math.Abs(v-other[c]) / float64(pairs)
	}
}

// pairsPerChunk is approximately how many pairs are drawn before their differences are computed.
const pairsPerChunk = 1 << 16

// Votes draws n votes of batch rows, and counts them by code column and factor.
func (d *Draw) Votes(ctx context.Context, b *Columns, n, batch int) ([][]float64, error) {
	factors, rows := make([]int, n), make([]int32, n*batch)
	for v := range factors {
		if v%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		factors[v] = d.factor()
		first := d.row(factors[v])
		rows[v*batch] = int32(first)
		members := d.members(first, factors[v])
		for i := 1; i < batch; i++ {
			rows[v*batch+i] = int32(members[d.stream.IntN(len(members))])
		}
	}
	smallest := make([]smallestVariance, len(b.blocks)*n) // by block and vote
	chunks := (n + votesPerTask - 1) / votesPerTask
	err := parallel.Each(ctx, len(b.blocks)*chunks, func(item int) error { // the chunks of a block are consecutive
		block, start := item/chunks, item%chunks*votesPerTask
		for v := start; v < min(start+votesPerTask, n); v++ {
			smallest[block*n+v] = b.smallest(block, rows[v*batch:(v+1)*batch])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	votes := numeric.Zeros(b.width, len(d.table.Factors))
	for v, j := range factors {
		best := smallest[v]
		for block := 1; block < len(b.blocks); block++ {
			if next := smallest[block*n+v]; next.variance < best.threshold {
				best = next
			}
		}
		votes[best.column][j]++
	}
	return votes, nil
}

// Majority returns the factor that every column c is assigned to, from the train votes V of columns for factors (Kim
// and Mnih 2018, section 4). A vote is the column with the smallest variance ([Columns.least]):
//
//	C(c) = argmax_j V_cj
func Majority(votes [][]float64) (assigned []int) {
	for _, row := range votes {
		assigned = append(assigned, slices.Index(row, slices.Max(row)))
	}
	return assigned
}

// Correct counts, for each factor j, the votes V of the columns assigned to it, and all votes. The score is the ratio
// of their sums:
//
//	sum_c V_c,C(c) / sum_cj V_cj
func Correct(votes [][]float64, assigned []int) (right, all []float64) {
	right, all = make([]float64, len(votes[0])), make([]float64, len(votes[0]))
	for c, row := range votes {
		for j, v := range row {
			if all[j] += v; assigned[c] == j {
				right[j] += v
			}
		}
	}
	return right, all
}

// sameVariance is a relative difference; variances that differ by less count as equal. Rounding of float32 codes causes
// smaller differences.
const sameVariance = 1e-6

// smallestVariance is the first column with the minimum variance over the rows of a vote.
type smallestVariance struct {
	column    int32   // of the codes
	variance  float64 // variance times the number of rows
	threshold float64 // a smaller variance wins; one between threshold and variance counts as equal
}

// Columns holds columns of codes in blocks of kernel.MomentColumns, row by row, so a row fits a cache line or two.
type Columns struct {
	width   int   // number of columns of the codes
	columns []int // columns that can be voted for
	blocks  [][]float64
}

// smallest returns the vote of rows with the same level: the column of a block with
//
//	argmin_c var_rows(z_c / s_c)
//
// where s_c is the standard deviation of the column over all rows.
func (b *Columns) smallest(block int, rows []int32) (best smallestVariance) {
	var sum, square [kernel.MomentColumns]float64
	kernel.RowMoments(&sum, &square, b.blocks[block], rows)
	n, first := float64(len(rows)), block*kernel.MomentColumns
	for c, column := range b.columns[first:min(first+kernel.MomentColumns, len(b.columns))] {
		variance := max(square[c]-sum[c]*sum[c]/n, 0)
		if c == 0 || variance < best.threshold {
			rounding := n * 0x1p-52 * square[c]
			best = smallestVariance{column: int32(column), variance: variance, threshold: (1-sameVariance)*variance - rounding}
		}
	}
	return best
}

// NewColumns copies code columns, minus their first number and divided by their scales.
func NewColumns(codes matrix.Matrix, columns []int, scales []float64) *Columns {
	const width = kernel.MomentColumns
	b := &Columns{width: codes.Cols, columns: columns, blocks: make([][]float64, (len(columns)+width-1)/width)}
	parallel.For(len(b.blocks), func(_, block int) {
		x := make([]float64, codes.Rows*width)
		for offset, c := range columns[block*width : min((block+1)*width, len(columns))] {
			first := codes.Data[c]
			for i := range codes.Rows {
				x[i*width+offset] = (codes.Data[i*codes.Cols+c] - first) / scales[c]
			}
		}
		b.blocks[block] = x
	})
	return b
}

// votesPerTask is the number of votes for one block of columns in a task.
const votesPerTask = 256

// Active returns the columns with a standard deviation of at least prune, and the scale of every column: its standard
// deviation, or 1 for raw columns. A column that is not raw must vary.
func Active(codes matrix.Matrix, prune float64, raw bool) (active []int, scales []float64) {
	d := codes.Cols
	scales = make([]float64, d)
	deviations, columns := make([]float64, d), make([][]float64, parallel.Threads())
	parallel.ForWorkers(len(columns), d, func(worker, c int) {
		if columns[worker] == nil {
			columns[worker] = make([]float64, codes.Rows)
		}
		deviations[c] = codes.UnitColumn(c, columns[worker])
	})
	for c, deviation := range deviations {
		if n := float64(codes.Rows); n > 1 {
			deviation *= math.Sqrt(n / (n - 1))
		}
		scales[c] = 1
		if !raw {
			scales[c] = deviation
		}
		if deviation >= prune && (raw || deviation > 0) {
			active = append(active, c)
		}
	}
	return active, scales
}
