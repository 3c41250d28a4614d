package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/metrics/internal/levels"
)

// majority returns the factor that every column c stands for, from the train votes V of columns for factors (Kim and
// Mnih 2018, section 4). A vote is the column that varies least ([columnBlocks.least]):
//
//	C(c) = argmax_j V_cj
func majority(votes [][]float64) (stands []int) {
	for _, row := range votes {
		stands = append(stands, slices.Index(row, slices.Max(row)))
	}
	return stands
}

// correct counts, by factor j, the votes V of the columns that stand for it, and all votes. The score is the ratio of
// their sums:
//
//	sum_c V_c,C(c) / sum_cj V_cj
func correct(votes [][]float64, stands []int) (right, all []float64) {
	right, all = make([]float64, len(votes[0])), make([]float64, len(votes[0]))
	for c, row := range votes {
		for j, v := range row {
			if all[j] += v; stands[c] == j {
				right[j] += v
			}
		}
	}
	return right, all
}

// sameVariance is the relative difference below which variances count as equal; rounding of float32 codes makes a
// smaller one.
const sameVariance = 1e-6

// leastVariance is the first column with the least variance over the rows of a vote.
type leastVariance struct {
	column   int32   // of the codes
	variance float64 // times the number of rows
	beaten   float64 // a variance below this is less; one between counts as equal
}

// least returns the vote of rows that share a level: the column of a block with
//
//	argmin_c var_rows(z_c / s_c)
//
// where s_c is the standard deviation of the column over all rows.
func (b *columnBlocks) least(block int, rows []int32) (best leastVariance) {
	var sum, square [kernel.MomentColumns]float64
	kernel.RowMoments(&sum, &square, b.blocks[block], rows)
	n, first := float64(len(rows)), block*kernel.MomentColumns
	for c, at := range b.columns[first:min(first+kernel.MomentColumns, len(b.columns))] {
		variance := max(square[c]-sum[c]*sum[c]/n, 0)
		if c == 0 || variance < best.beaten {
			rounding := n * 0x1p-52 * square[c]
			best = leastVariance{column: int32(at), variance: variance, beaten: (1-sameVariance)*variance - rounding}
		}
	}
	return best
}

// FactorVAE is the score of Kim and Mnih 2018, section 4, as disentanglement_lib computes it, 0 to 1. A vote is the
// column with the least variance over Batch rows that share a level of a random factor, relative to its variance over
// all rows. The first column wins among variances within a millionth. Columns with a standard deviation below Prune are
// left out. Every column stands for the factor with the most of its Train votes. The value is the fraction of Test
// votes for a column that stands for the vote's factor. It is 0 if all columns are left out.
//
// The rows need not be a grid. A vote draws its factor uniformly, and its rows from the table. The first row is uniform
// among the rows with a known level, which draws a level by its frequency. The others are uniform among the rows with
// that level, with replacement. On a full grid all other factors are uniform and independent, as in the paper.
//
// Table 2 of Zhang and Sugiyama 2024 computes the score with Direct (column i stands for factor i, without Train
// votes), Raw (absolute variances), Batch 8 and Prune 0.
type FactorVAE struct {
	knownLevels
	share

	Batch  int     `yaml:"batch" doc:"rows of one vote"`
	Train  int     `yaml:"train" doc:"number of training votes, to assign a factor to every column"`
	Test   int     `yaml:"test" doc:"number of test votes"`
	Prune  float64 `yaml:"prune" doc:"smallest standard deviation of a column; columns below it are left out"`
	Direct bool    `yaml:"direct" doc:"assign factor i to column i, without training votes"`
	Raw    bool    `yaml:"raw" doc:"compare variances without dividing by the variance over all rows"`
}

// Validate checks the settings.
func (m *FactorVAE) Validate() error {
	if !(m.Prune >= 0) || math.IsInf(m.Prune, 0) {
		return config.Invalid("prune", "%v is not a number of at least 0", m.Prune)
	}
	return validDraws(m.Batch, 2, m.Train, m.Test)
}

// Suits implements Selective.
func (*FactorVAE) Suits(in *Input) error { return wantFactors(in, 2) }

// Compute returns the parts per_factor (the share of correct votes among its test votes) and, without Direct, train
// (the share among all Train votes). The grid votes counts the Train votes, with Direct the Test votes, by column and
// factor.
func (m *FactorVAE) Compute(ctx context.Context, in *Input) (Result, error) {
	if err := ready(ctx, m, in); err != nil {
		return Result{}, err
	}
	draw, err := newDrawing(in)
	if err != nil {
		return Result{}, err
	}
	var r Result
	d := in.Codes.Cols
	active, scales := m.active(in)
	if len(active) < d {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d columns are left out: their standard deviation is too small", d-len(active), d))
	}
	if len(active) == 0 {
		return r, nil
	}
	columns := blocksOf(in, active, scales)
	stands := make([]int, d) // the factor that a column stands for
	g := Grid{Name: "votes"}
	for c := range stands {
		stands[c] = c
	}
	r.Basis = Basis{Train: m.Train, Test: m.Test, Shared: true}
	if !m.Direct {
		if g.Values, err = m.votes(ctx, draw, columns, m.Train); err != nil {
			return Result{}, err
		}
		stands = majority(g.Values)
		right, _ := correct(g.Values, stands)
		r.Parts = append(r.Parts, Part{Name: "train", Values: []float64{factor.Sum.Of(right) / float64(m.Train)}})
	}
	test, err := m.votes(ctx, draw, columns, m.Test)
	if err != nil {
		return Result{}, err
	}
	if m.Direct {
		g.Values = test
	}
	right, all := correct(test, stands)
	for c := range test {
		g.Rows = append(g.Rows, in.columnName(c))
	}
	for _, f := range in.Factors {
		g.Columns = append(g.Columns, f.Name)
	}
	r.Value = factor.Sum.Of(right) / float64(m.Test)
	r.Parts = append([]Part{perFactor(in, right, all)}, r.Parts...)
	r.Grids = []Grid{g}
	return r, nil
}

// active returns the columns left after pruning, and the scale of every column.
func (m *FactorVAE) active(in *Input) (active []int, scales []float64) {
	d := in.Codes.Cols
	scales = make([]float64, d)
	deviations, columns := make([]float64, d), make([][]float64, parallel.Threads())
	parallel.ForWorkers(len(columns), d, func(worker, c int) {
		if columns[worker] == nil {
			columns[worker] = make([]float64, in.Codes.Rows)
		}
		deviations[c] = in.Codes.UnitColumn(c, columns[worker])
	})
	for c, deviation := range deviations {
		if n := float64(in.Codes.Rows); n > 1 {
			deviation *= math.Sqrt(n / (n - 1))
		}
		scales[c] = 1
		if !m.Raw {
			scales[c] = deviation
		}
		if deviation >= m.Prune && (m.Raw || deviation > 0) {
			active = append(active, c)
		}
	}
	return active, scales
}

// columnBlocks holds columns of codes in blocks of kernel.MomentColumns, row by row. A row of a block takes a cache
// line or two.
type columnBlocks struct {
	columns []int // of the codes
	blocks  [][]float64
}

// blocksOf copies columns minus their first number, divided by their scales.
func blocksOf(in *Input, columns []int, scales []float64) *columnBlocks {
	const width = kernel.MomentColumns
	b := &columnBlocks{columns: columns, blocks: make([][]float64, (len(columns)+width-1)/width)}
	parallel.For(len(b.blocks), func(_, at int) {
		x := make([]float64, in.Codes.Rows*width)
		for to, c := range columns[at*width : min((at+1)*width, len(columns))] {
			first := in.Codes.Data[c]
			for i := range in.Codes.Rows {
				x[i*width+to] = (in.Codes.Data[i*in.Codes.Cols+c] - first) / scales[c]
			}
		}
		b.blocks[at] = x
	})
	return b
}

// votesAtOnce is the number of votes of one block of columns in a task.
const votesAtOnce = 256

// votes draws n votes, and counts them by column and factor.
func (m *FactorVAE) votes(ctx context.Context, draw *drawing, b *columnBlocks, n int) ([][]float64, error) {
	factors, rows := make([]int, n), make([]int32, n*m.Batch)
	for v := range factors {
		if err := stops(ctx, v, 256); err != nil {
			return nil, err
		}
		factors[v] = draw.factor()
		first := draw.row(factors[v])
		rows[v*m.Batch] = int32(first)
		members := draw.members(first, factors[v])
		for i := 1; i < m.Batch; i++ {
			rows[v*m.Batch+i] = int32(members[draw.in.Stream.IntN(len(members))])
		}
	}
	found := make([]leastVariance, len(b.blocks)*n) // by block and vote
	chunks := (n + votesAtOnce - 1) / votesAtOnce
	err := parallel.Each(ctx, len(b.blocks)*chunks, func(item int) error { // the chunks of a block follow each other
		block, from := item/chunks, item%chunks*votesAtOnce
		for v := from; v < min(from+votesAtOnce, n); v++ {
			found[block*n+v] = b.least(block, rows[v*m.Batch:(v+1)*m.Batch])
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	votes := make([][]float64, draw.in.Codes.Cols)
	for c := range votes {
		votes[c] = make([]float64, len(draw.in.Factors))
	}
	for v, j := range factors {
		best := found[v]
		for block := 1; block < len(b.blocks); block++ {
			if next := found[block*n+v]; next.variance < best.beaten {
				best = next
			}
		}
		votes[best.column][j]++
	}
	return votes, nil
}

func validDraws(batch, least, train, test int) error {
	switch {
	case batch < least || batch > maxDrawn:
		return config.Invalid("batch", "%d is out of range; want %d to %d", batch, least, maxDrawn)
	case train < 1 || train > maxDrawn:
		return config.Invalid("train", "%d is out of range; want 1 to %d", train, maxDrawn)
	case test < 1 || test > maxDrawn:
		return config.Invalid("test", "%d is out of range; want 1 to %d", test, maxDrawn)
	}
	return nil
}

// perFactor returns the part per_factor: right/all of every factor with points.
func perFactor(in *Input, right, all []float64) Part {
	part := Part{Name: "per_factor"}
	for j, f := range in.Factors {
		if all[j] > 0 {
			part.Labels = append(part.Labels, f.Name)
			part.Values = append(part.Values, right[j]/all[j])
		}
	}
	return part
}

// drawing draws rows with a given level of a factor.
type drawing struct {
	in     *Input
	levels []*levels.Groups
}

func newDrawing(in *Input) (*drawing, error) {
	if in.Stream == nil {
		return nil, fmt.Errorf("there is no stream of random numbers to draw rows; want one")
	}
	d := &drawing{in: in}
	for j := range in.Factors {
		d.levels = append(d.levels, in.table().Groups(j, nil))
	}
	return d, nil
}

// factor draws a factor, uniformly.
func (d *drawing) factor() int { return d.in.Stream.IntN(len(d.in.Factors)) }

// row draws a row uniformly from the rows that know factor j, which draws its levels by their frequency.
func (d *drawing) row(j int) int {
	known := d.levels[j].Order
	if len(known) == d.in.Codes.Rows {
		return d.in.Stream.IntN(len(known))
	}
	return known[d.in.Stream.IntN(len(known))]
}

// like draws a row with the same level of factor j as the given row, uniformly, the row itself included.
func (d *drawing) like(row, j int) int {
	members := d.members(row, j)
	return members[d.in.Stream.IntN(len(members))]
}

// members returns the rows with the same level of factor j as the given row.
func (d *drawing) members(row, j int) []int {
	return d.levels[j].Members(d.in.Levels[row*len(d.in.Factors)+j])
}
