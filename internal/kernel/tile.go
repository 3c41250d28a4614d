package kernel

import "unsafe"

// tile is one call of the micro-kernel. With width w = 16 or 32 it computes, for
// r < 8 and n < w,
//
//	sum over k in [0, blocks), s in [0, segs), i in [0, steps) of
//	a[rows[r] + k*aBlk + s*aSeg + i*aStep] * b[k*bBlk + s*bSeg + i*bStep + n]
//
// adds the old c[cRows[r]+n] and bias[n] and applies an activation as flags say, and stores it to
// c[cRows[r]+n]. Offsets are in elements. steps, segs and blocks are at least 1. The assembly depends
// on this layout.
type tile struct {
	a, b, c, bias []float32
	rows, cRows   []int

	steps, aStep int
	segs, aSeg   int
	blocks, aBlk int

	bStep, bSeg, bBlk int

	flags int

	scratch [6]uintptr // the assembly's loop counters

	width   int
	pairs   bool            // a and b are pairs of bfloat16 numbers
	edge    [8 * 32]float32 // result of a tile at the border
	clamp   [8]int
	lines   [8]int
	columns [16]float32 // the bias of narrow's columns
}

const (
	accumulate = 1
	addBias    = 2
	applyReLU  = 4
	applyLeaky = 8 // max(x, leakySlope x)
)

// compute runs the micro-kernel of the active instruction set.
func (t *tile) compute() {
	switch {
	case active == levelGo || t.pairs && !fastPairs():
		t.computeGo()
		return
	case t.pairs:
		computePairs((*byte)(unsafe.Pointer(t)), t.width)
		return
	}
	if t.width == 32 {
		tile8x32Vector((*byte)(unsafe.Pointer(t)))
	} else {
		tile8x16Vector((*byte)(unsafe.Pointer(t)))
	}
}

// sweep computes n rows, listed in rows and cRows, of the first columns columns
// (at most width) of a product. Only these elements of c are touched.
func (t *tile) sweep(rows, cRows []int, n, columns int) {
	i := 0
	if columns == t.width {
		for ; i+8 <= n; i += 8 {
			t.rows, t.cRows = rows[i:i+8], cRows[i:i+8]
			t.compute()
		}
	}
	for ; i < n; i += 8 {
		t.border(rows[i:n], cRows[i:n], columns)
	}
}

// depth is the approximate number of steps of a long product that are computed at a time. These steps of the right
// operand's panel stay in the first-level cache for all rows.
const depth = 256

// product is sweep for a long product of one segment and block. It computes depth steps of all rows, then the next, and
// applies the flags with the last.
func (t *tile) product(rows, cRows []int, n, columns int) {
	b := t.b
	t.productOf(rows, cRows, n, columns, func(from, _ int) []float32 { return b[from*t.bStep:] })
	t.b = b
}

// productPieces returns the number of pieces of a long product.
func productPieces(steps int) int { return max(1, (steps+depth/2)/depth) }

// pieceFlags returns the flags of piece i: the first begins the sums, the last finishes them.
func pieceFlags(flags, i, pieces int) int {
	if i < pieces-1 {
		flags &= accumulate
	}
	if i > 0 {
		flags |= accumulate
	}
	return flags
}

// productOf is product where piece returns the steps [from, to) of the right operand.
func (t *tile) productOf(rows, cRows []int, n, columns int, piece func(from, to int) []float32) {
	a, steps, flags := t.a, t.steps, t.flags
	pieces := productPieces(steps)
	for i := range pieces {
		from, to := i*steps/pieces, (i+1)*steps/pieces
		t.a, t.b, t.steps, t.flags = a[from*t.aStep:], piece(from, to), to-from, pieceFlags(flags, i, pieces)
		t.sweep(rows, cRows, n, columns)
	}
	t.a, t.steps, t.flags = a, steps, flags
}

// border computes up to 8 rows that do not fill a tile: it repeats the last row and works on a copy.
func (t *tile) border(rows, cRows []int, columns int) {
	count := min(8, len(rows))
	for r := range 8 {
		t.clamp[r] = rows[min(r, count-1)]
		t.lines[r] = 32 * r
	}
	c := t.c
	if t.flags&accumulate != 0 {
		for r := range count {
			copy(t.edge[32*r:32*r+columns], c[cRows[r]:cRows[r]+columns])
		}
	}
	t.rows, t.cRows, t.c = t.clamp[:], t.lines[:], t.edge[:]
	t.compute()
	t.c = c
	for r := range count {
		copy(c[cRows[r]:cRows[r]+columns], t.edge[32*r:32*r+columns])
	}
}

// computeGo is the micro-kernel in Go. It works in blocks of 2 rows and 4 columns: 8 sums fit into registers.
func (t *tile) computeGo() {
	var sums [8]float32
	for row := 0; row < 8; row += 2 {
		for column := 0; column < t.width; column += 4 {
			if t.pairs {
				t.pairsGo(row, column, &sums)
			} else {
				t.blockGo(row, column, &sums)
			}
			for r := range 2 {
				c := t.c[t.cRows[row+r]+column:][:4]
				for n := range c {
					c[n] = finishGo(t.flags, sums[4*r+n], c[n], t.bias, column+n)
				}
			}
		}
	}
}

// blockGo computes the sums of 2 rows and 4 columns.
func (t *tile) blockGo(row, column int, sums *[8]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	r0, r1 := t.rows[row], t.rows[row+1]
	left, right := t.a, t.b
	aStep, bStep := t.aStep, t.bStep
	for k := range t.blocks {
		for s := range t.segs {
			a := k*t.aBlk + s*t.aSeg
			b := k*t.bBlk + s*t.bSeg + column
			for range t.steps {
				y := (*[4]float32)(right[b:])
				x0, x1 := left[a+r0], left[a+r1]
				s00, s01, s02, s03 = s00+x0*y[0], s01+x0*y[1], s02+x0*y[2], s03+x0*y[3]
				s10, s11, s12, s13 = s10+x1*y[0], s11+x1*y[1], s12+x1*y[2], s13+x1*y[3]
				a += aStep
				b += bStep
			}
		}
	}
	*sums = [8]float32{s00, s01, s02, s03, s10, s11, s12, s13}
}

// panels splits n columns into panels of a width of 32 or 16. If at most 16 columns are left, the last panel has width
// 16.
type panels struct{ n, width, count, padded int }

// newPanels splits columns into panels of 32.
func newPanels(n int) panels { return newPanelsOf(n, 32) }

func newPanelsOf(n, width int) panels {
	padded := (n + 15) / 16 * 16
	return panels{n: n, width: width, count: (padded + width - 1) / width, padded: padded}
}

// at returns the first column of panel p, its width and how many columns are real.
func (p panels) at(i int) (first, width, columns int) {
	first = p.width * i
	width = min(p.width, p.padded-first)
	return first, width, min(width, p.n-first)
}
