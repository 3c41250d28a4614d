package dense

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// mixedOperands converts the operands of a product to pairs. It converts the complete left operand first. It converts
// the right operand in pieces that fit in the L1 cache, right before their use.
type mixedOperands struct {
	terms    int // terms of the sums; an odd last term is paired with 0
	original operand
	left     []float32
	zeros    []float32
	item     func(worker, i int)
}

func newMixedMatmul(m, k, n int) *matmul {
	p := newMatmul(m, (k+1)/2, n)
	x := &mixedOperands{terms: k, left: make([]float32, m*p.k), zeros: make([]float32, max(m, 32))}
	x.item = func(_, i int) { x.pairBlock(p, i) }
	p.mixed = x
	return p
}

// pairLeft converts the left operand. Its layout (rows or columns) does not change.
func (x *mixedOperands) pairLeft(p *matmul) {
	x.original = p.a
	if p.a.step == 1 {
		p.a = operand{x.left, p.k, 1}
		parallel.For(blocks(p.m), x.item)
	} else {
		p.a = operand{x.left, 1, p.m}
		parallel.For(blocks(p.k), x.item)
	}
	x.original.data = nil
}

// pairBlock converts some rows of the left operand, or the pairs of some of its columns.
func (x *mixedOperands) pairBlock(p *matmul, i int) {
	from := i * rowBlock
	if x.original.step == 1 {
		n := min(rowBlock, p.m-from)
		simd.PairRows(x.left[from*p.k:], x.original.data[from*x.original.row:], n, x.terms, p.k, x.original.row)
		return
	}
	x.pairSteps(x.left[from*p.m:], x.original, p.m, p.m, from, min(p.k, from+rowBlock))
}

// pairSteps converts pairs [from, to) of columns of an operand with neighbouring rows, to rows width elements apart.
func (x *mixedOperands) pairSteps(dst []float32, a operand, columns, width, from, to int) {
	full := min(to, x.terms/2)
	if from < full {
		simd.PairColumns(dst, a.data[2*from*a.step:], a.data[(2*from+1)*a.step:], full-from, columns, width, 2*a.step)
	}
	if full < to {
		simd.PairColumns(dst[(full-from)*width:], a.data[2*full*a.step:], x.zeros, 1, columns, 0, 0)
	}
}

// pairRight writes pairs [start, end) of a panel of the right operand to piece.
func (x *mixedOperands) pairRight(p *matmul, piece []float32, first, width, columns, start, end int) {
	b := p.b
	if b.step > 1 {
		b.data = b.data[first:]
		x.pairSteps(piece, b, columns, width, start, end)
		return
	}
	n := end - start
	lines := kernel.TakeMemory(columns * n)
	defer kernel.GiveMemory(lines)
	simd.PairRows(*lines, b.data[first*b.row+2*start:], columns, min(2*n, x.terms-2*start), n, b.row)
	simd.Transpose(piece, *lines, width, n, columns, n)
}
