package metrics

import (
	"context"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

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
