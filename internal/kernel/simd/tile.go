package simd

import "unsafe"

// Tile is one call of the micro-kernel. With width w = 16 or 32 it computes, for r < 8 and n < w,
//
//	sum over k in [0, blocks), s in [0, segs), i in [0, steps) of
//	a[rows[r] + k*aBlk + s*aSeg + i*aStep] * b[k*bBlk + s*bSeg + i*bStep + n]
//
// adds the old c[cRows[r]+n] and bias[n] and applies an activation as flags say, and stores it to c[cRows[r]+n].
// Offsets are in elements. steps, segs and blocks are at least 1. The assembly depends on this layout.
type Tile struct {
	A, B, C, Bias []float32
	Rows, CRows   []int

	Steps, AStep int
	Segs, ASeg   int
	Blocks, ABlk int

	BStep, BSeg, BBlk int

	Flags int

	scratch [6]uintptr // the assembly's loop counters

	ahead, last uintptr // next line to prefetch (4 lines per segment) and last element; NEON does not prefetch

	Width   int
	Pairs   bool            // a and b are pairs of bfloat16 numbers
	edge    [8 * 32]float32 // result of an incomplete tile
	clamp   [8]int
	lines   [8]int
	Columns [16]float32 // bias of narrow's columns
}

const (
	Accumulate = 1
	AddBias    = 2
	ApplyReLU  = 4
	ApplyLeaky = 8 // max(x, leakySlope x)
)

// LeakySlope is the factor of negative numbers in a leaky ReLU.
const LeakySlope float32 = 0.2

// Compute runs the micro-kernel of the active instruction set.
func (t *Tile) Compute() {
	switch {
	case active == Go || t.Pairs && !fastPairs():
		t.computeGo()
		return
	case t.Pairs:
		computePairs((*byte)(unsafe.Pointer(t)), t.Width)
		return
	}
	if t.Width == 32 {
		Tile8x32((*byte)(unsafe.Pointer(t)))
	} else {
		Tile8x16((*byte)(unsafe.Pointer(t)))
	}
}

// Prefetch prefetches the memory of x during the next calls.
func (t *Tile) Prefetch(x []float32) {
	t.ahead, t.last = uintptr(unsafe.Pointer(&x[0])), uintptr(unsafe.Pointer(&x[len(x)-1]))
}

// Lines returns the number of lines of 16 elements that a call prefetches.
func (t *Tile) Lines() int { return 4 * t.Segs * t.Blocks }

// Sweep computes n rows, listed in rows and cRows, of the first columns columns (at most width) of a product. It
// touches only these elements of c.
func (t *Tile) Sweep(rows, cRows []int, n, columns int) {
	if t.last == 0 { // nothing to prefetch
		t.Prefetch(t.A[:1])
	}
	i := 0
	if columns == t.Width {
		for ; i+8 <= n; i += 8 {
			t.Rows, t.CRows = rows[i:i+8], cRows[i:i+8]
			t.Compute()
		}
	}
	for ; i < n; i += 8 {
		t.border(rows[i:n], cRows[i:n], columns)
	}
}

// Depth is the approximate number of steps of a long product that are computed at a time. The steps of the right
// operand's panel stay in the first-level cache for all rows.
const Depth = 256

// Product is Sweep for a long product of one segment and block. It computes Depth steps of all rows at a time, and
// applies the flags with the last steps.
func (t *Tile) Product(rows, cRows []int, n, columns int) {
	b := t.B
	t.productOf(rows, cRows, n, columns, func(from, _ int) []float32 { return b[from*t.BStep:] })
	t.B = b
}

// ProductPieces returns the number of pieces of a product with the given number of steps.
func ProductPieces(steps int) int { return max(1, (steps+Depth/2)/Depth) }

// PieceFlags returns the flags of piece i: the first begins the sums, the last finishes them.
func PieceFlags(flags, i, pieces int) int {
	if i < pieces-1 {
		flags &= Accumulate
	}
	if i > 0 {
		flags |= Accumulate
	}
	return flags
}

// productOf is Product with piece, which returns the steps [from, to) of the right operand.
func (t *Tile) productOf(rows, cRows []int, n, columns int, piece func(from, to int) []float32) {
	a, steps, flags := t.A, t.Steps, t.Flags
	pieces := ProductPieces(steps)
	for i := range pieces {
		from, to := i*steps/pieces, (i+1)*steps/pieces
		t.A, t.B, t.Steps, t.Flags = a[from*t.AStep:], piece(from, to), to-from, PieceFlags(flags, i, pieces)
		t.Sweep(rows, cRows, n, columns)
	}
	t.A, t.Steps, t.Flags = a, steps, flags
}

// border computes up to 8 rows that do not fill a tile. It repeats the last row and works on a copy.
func (t *Tile) border(rows, cRows []int, columns int) {
	count := min(8, len(rows))
	for r := range 8 {
		t.clamp[r] = rows[min(r, count-1)]
		t.lines[r] = 32 * r
	}
	c := t.C
	if t.Flags&Accumulate != 0 {
		for r := range count {
			copy(t.edge[32*r:32*r+columns], c[cRows[r]:cRows[r]+columns])
		}
	}
	t.Rows, t.CRows, t.C = t.clamp[:], t.lines[:], t.edge[:]
	t.Compute()
	t.C = c
	for r := range count {
		copy(c[cRows[r]:cRows[r]+columns], t.edge[32*r:32*r+columns])
	}
}

// computeGo is the micro-kernel in Go. It works in blocks of 2 rows and 4 columns: 8 sums fit into registers.
func (t *Tile) computeGo() {
	var sums [8]float32
	for row := 0; row < 8; row += 2 {
		for column := 0; column < t.Width; column += 4 {
			if t.Pairs {
				t.pairsGo(row, column, &sums)
			} else {
				t.blockGo(row, column, &sums)
			}
			for r := range 2 {
				c := t.C[t.CRows[row+r]+column:][:4]
				for n := range c {
					c[n] = finishGo(t.Flags, sums[4*r+n], c[n], t.Bias, column+n)
				}
			}
		}
	}
}

// blockGo computes the sums of 2 rows and 4 columns.
func (t *Tile) blockGo(row, column int, sums *[8]float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	r0, r1 := t.Rows[row], t.Rows[row+1]
	left, right := t.A, t.B
	aStep, bStep := t.AStep, t.BStep
	for k := range t.Blocks {
		for s := range t.Segs {
			a := k*t.ABlk + s*t.ASeg
			b := k*t.BBlk + s*t.BSeg + column
			for range t.Steps {
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
