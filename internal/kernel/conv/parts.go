package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// partProducts are the matrix products of transformed tiles: for part p, row r and column n
//
//	c[p*cPart + r*cRow + n] = sum over k in [0, steps) of a[p*aPart + r*aRow + k*aStep] b[p*bPart + k*bStep + n]
//
// added to the old content of c if add is true. All columns of one panel, 32 or 16, must exist.
type partProducts struct {
	a, b, c            []float32
	count, rows        int
	steps, width       int
	aPart, aRow, aStep int
	bPart, bStep       int
	cPart, cRow        int
	add                bool
}

// multiply computes the products with a worker's tile, and prefetches the worker's next operands. rows and cRows list
// the distances of rows, for the rows that the faster kernel leaves.
func (p *partProducts) multiply(s *convWorker, rows, cRows []int) {
	t := &s.tile
	fullRows := 0
	if p.width == 32 && simd.Vectors() {
		fullRows = p.rows / 8 * 8
	}
	if fullRows > 0 {
		sum := 0
		if p.add {
			sum = 1
		}
		ahead, last := s.ahead.take(p.count*fullRows/8*p.steps, &p.a[0])
		simd.Products32(&p.a[0], &p.b[0], &p.c[0], p.count, fullRows/8, p.steps, p.aPart, p.aRow, p.aStep, p.bPart, p.bStep,
			p.cPart, p.cRow, sum, ahead, last)
	}
	if fullRows == p.rows {
		return
	}
	t.Steps, t.AStep, t.Segs, t.Blocks, t.Width, t.BStep, t.Flags = p.steps, p.aStep, 1, 1, p.width, p.bStep, 0
	if p.add {
		t.Flags = simd.Accumulate
	}
	for i := range p.count {
		t.A, t.B, t.C = p.a[i*p.aPart:], p.b[i*p.bPart:], p.c[i*p.cPart:]
		t.Sweep(rows[fullRows:], cRows[fullRows:], p.rows-fullRows, p.width)
	}
}

// sweep computes rows with a worker's tile, and prefetches the worker's next operands.
func (s *convWorker) sweep(rows, cRows []int, n, columns int) {
	t := &s.tile
	for start := 0; start < n; {
		end := n
		if lines := s.ahead.takeLines((n - start) / 8 * t.Lines()); len(lines) > 0 {
			t.Prefetch(lines)
			end = min(n, start+(len(lines)/16+t.Lines()-1)/t.Lines()*8)
		}
		t.Sweep(rows[start:end], cRows[start:end], end-start, columns)
		start = end
	}
}

// prefetches are ranges of memory that a worker will need, in order.
type prefetches struct {
	list        [4][]float32
	next, count int
}

func (p *prefetches) set(ranges ...[]float32) {
	p.list, p.next = [4][]float32{}, 0
	p.count = copy(p.list[:], ranges)
}

func (p *prefetches) add(x []float32) {
	p.list[p.count] = x
	p.count++
}

// take cuts lines, and returns their first and last element; without any it returns idle.
func (p *prefetches) take(lines int, idle *float32) (first, last *float32) {
	if x := p.takeLines(lines); len(x) > 0 {
		return &x[0], &x[len(x)-1]
	}
	return idle, idle
}

// takeLines removes up to the given number of lines (16 elements) of a range, and returns them.
func (p *prefetches) takeLines(lines int) []float32 {
	for ; p.next < len(p.list); p.next++ {
		if x := p.list[p.next]; len(x) > 0 {
			n := min(len(x), 16*lines)
			p.list[p.next] = x[n:]
			return x[:n]
		}
	}
	return nil
}
