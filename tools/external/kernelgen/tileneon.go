package main

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/tools/external/kernelgen/neon"
)

// Block size within a tile. 4 rows and 16 columns take 16 accumulators and leave 16 registers for operands.
const (
	blockRows    = 4
	blockVectors = 4
)

// neonTile writes the micro-kernel. See subtile for the loops on other architectures.
type neonTile struct {
	*neon.Function
	t           neon.Reg // the tile
	row, column neon.Reg // position of the block, in bytes of a list of rows and of a row
	pointers    [blockRows]neon.Reg
	sums        [blockRows][blockVectors]neon.Reg
	b, bStep    neon.Reg
	at, aStep   neon.Reg // bytes from the pointers
}

// tileNEON writes the micro-kernel for 8 rows and a number of columns.
func tileNEON(columns int) *neon.Function {
	name := fmt.Sprint("Tile8x", columns)
	f := &neonTile{Function: neon.NewFunction(name, fmt.Sprintf("%s computes a block of 8 rows and %d columns; t points to a tile.", name, columns), "func(t *byte)", 8)}
	f.t, f.row, f.column = f.Parameter("t", 0, false), f.X(), f.X()
	f.aStep, f.bStep = f.field(tileAStep, 2), f.field(tileBStep, 2)
	f.Go(1, "MOVD $0, %s", f.column)
	f.Label("columns")
	f.Go(1, "MOVD $0, %s", f.row)
	f.Label("rows")
	f.begin()
	f.steps()
	f.finish()
	f.next(f.row, 8*blockRows, 8*8, "rows")
	f.next(f.column, 16*blockVectors, 4*columns, "columns")
	f.Return()
	return f.Function
}

// next increments a counter and jumps to a label if the counter is below a limit.
func (f *neonTile) next(counter neon.Reg, by, limit int, label string) {
	f.Go(1, fmt.Sprintf("ADD $%d, %%s, %%s", by), counter, counter)
	f.Go(0, fmt.Sprintf("CMP $%d, %%s", limit), counter)
	f.Jump("LT", label)
}

// field loads a field of the tile, times 1<<shift.
func (f *neonTile) field(offset, shift int) neon.Reg {
	r := f.X()
	f.Go(1, fmt.Sprintf("MOVD %d(%%s), %%s", offset), f.t, r)
	if shift > 0 {
		f.Go(1, fmt.Sprintf("LSL $%d, %%s, %%s", shift), r, r)
	}
	return r
}

// lines returns pointers to the block's rows. list holds the rows' offsets in elements from the start of slice.
func (f *neonTile) lines(slice, list int) (pointers [blockRows]neon.Reg) {
	base, rows := f.field(slice, 0), f.field(list, 0)
	f.Go(1, "ADD %s, %s, %s", f.row, rows, rows)
	for i := range pointers {
		pointers[i] = f.X()
		f.Go(1, fmt.Sprintf("MOVD %d(%%s), %%s", 8*i), rows, pointers[i])
		f.Go(1, "ADD %s<<2, %s, %s", pointers[i], base, pointers[i])
	}
	return pointers
}

func (f *neonTile) begin() {
	f.pointers = f.lines(tileA, tileRows)
	f.at, f.b = f.X(), f.field(tileB, 0)
	f.Go(1, "ADD %s, %s, %s", f.column, f.b, f.b)
	f.Go(1, "MOVD $0, %s", f.at)
	for i := range f.sums {
		for j := range f.sums[i] {
			f.sums[i][j] = f.V()
			f.Do("movi.4s", f.sums[i][j])
		}
	}
}

// steps writes the loops over blocks, segments and steps. If the left operand's steps are adjacent, it loads 4 steps at
// a time.
func (f *neonTile) steps() {
	blocks, segments, n := f.field(tileBlks, 0), f.X(), f.X()
	aBlock, bBlock, aSegment, bSegment := f.X(), f.X(), f.X(), f.X()
	move := func(from, to neon.Reg) { f.Go(1, "MOVD %s, %s", from, to) }
	move(f.at, aBlock)
	move(f.b, bBlock)
	f.Label("block")
	f.Go(1, fmt.Sprintf("MOVD %d(%%s), %%s", tileSegs), f.t, segments)
	move(aBlock, aSegment)
	move(bBlock, bSegment)
	f.Label("segment")
	f.Go(1, fmt.Sprintf("MOVD %d(%%s), %%s", tileSteps), f.t, n)
	move(aSegment, f.at)
	move(bSegment, f.b)
	f.Go(0, "CMP $4, %s", f.aStep)
	f.Jump("NE", "one")
	f.Count(n, -4)
	f.Jump("LT", "few")
	f.Label("four")
	f.four()
	f.Count(n, -4)
	f.Jump("GE", "four")
	f.Label("few")
	f.Go(1, "ADD $4, %s, %s", n, n)
	f.Go(0, "CMP $0, %s", n)
	f.Jump("EQ", "end")
	f.Label("one")
	f.one()
	f.Count(n, -1)
	f.Jump("NE", "one")
	f.Label("end")
	f.Go(1, "ADD %s<<2, %s, %s", f.field(tileASeg, 0), aSegment, aSegment)
	f.Go(1, "ADD %s<<2, %s, %s", f.field(tileBSeg, 0), bSegment, bSegment)
	f.Count(segments, -1)
	f.Jump("NE", "segment")
	f.Go(1, "ADD %s<<2, %s, %s", f.field(tileABlk, 0), aBlock, aBlock)
	f.Go(1, "ADD %s<<2, %s, %s", f.field(tileBBlk, 0), bBlock, bBlock)
	f.Count(blocks, -1)
	f.Jump("NE", "block")
}

// right loads the right operand of a step and advances.
func (f *neonTile) right() (b [blockVectors]neon.Reg) {
	for j := range b {
		b[j] = f.V()
	}
	for j := 0; j < blockVectors; j += 2 {
		f.DoAt("ldp.q", 16*j, b[j], b[j+1], f.b)
	}
	f.Go(1, "ADD %s, %s, %s", f.bStep, f.b, f.b)
	return b
}

func (f *neonTile) multiply(a [blockRows]neon.Reg, lane int, b [blockVectors]neon.Reg) {
	for i := range f.sums {
		for j := range f.sums[i] {
			f.DoAt("fmla.s", lane, f.sums[i][j], b[j], a[i])
		}
	}
}

func (f *neonTile) four() {
	var a [blockRows]neon.Reg
	for i := range a {
		a[i] = f.V()
		f.Do("ldr.q.x", a[i], f.pointers[i], f.at)
	}
	f.Go(1, "ADD $16, %s, %s", f.at, f.at)
	for lane := range 4 {
		f.multiply(a, lane, f.right())
	}
}

func (f *neonTile) one() {
	var a [blockRows]neon.Reg
	for i := range a {
		a[i] = f.V()
		f.Do("ldr.s.x", a[i], f.pointers[i], f.at)
	}
	f.Go(1, "ADD %s, %s, %s", f.aStep, f.at, f.at)
	f.multiply(a, 0, f.right())
}

// finish adds the old content of C and the bias, applies the ReLU or the leaky ReLU and stores the block.
func (f *neonTile) finish() {
	out := f.lines(tileC, tileCRows)
	for _, p := range out {
		f.Go(1, "ADD %s, %s, %s", f.column, p, p)
	}
	flags := f.field(tileFlags, 0)
	unless := func(flag int, label string) {
		f.Go(0, fmt.Sprintf("TST $%d, %%s", flag), flags)
		f.Jump("EQ", label)
	}
	each := func(do func(i, j int, sum neon.Reg)) {
		for i := range f.sums {
			for j, sum := range f.sums[i] {
				do(i, j, sum)
			}
		}
	}
	load := func(p neon.Reg, j int) neon.Reg {
		r := f.V()
		f.DoAt("ldr.q", 16*j, r, p)
		return r
	}
	unless(1, "fresh")
	each(func(i, j int, sum neon.Reg) { f.Do("fadd.4s", sum, sum, load(out[i], j)) })
	f.Label("fresh")
	unless(2, "unbiased")
	bias := f.field(tileBias, 0)
	f.Go(1, "ADD %s, %s, %s", f.column, bias, bias)
	for j := range blockVectors {
		b := load(bias, j)
		for i := range f.sums {
			f.Do("fadd.4s", f.sums[i][j], f.sums[i][j], b)
		}
	}
	f.Label("unbiased")
	unless(4, "linear")
	zero := f.V()
	f.SetConstant(zero, 0)
	each(func(_, _ int, sum neon.Reg) { f.Do("fmax.4s", sum, sum, zero) }) // keeps NaN
	f.Label("linear")
	unless(8, "store")
	slope := f.V()
	f.SetConstant(slope, math.Float32bits(0.2))
	each(func(_, _ int, sum neon.Reg) {
		small := f.V()
		f.Do("fmul.4s", small, sum, slope)
		f.Do("fmax.4s", sum, sum, small) // keeps NaN
	})
	f.Label("store")
	for i, p := range out {
		for j := 0; j < blockVectors; j += 2 {
			f.DoAt("stp.q", 16*j, f.sums[i][j], f.sums[i][j+1], p)
		}
	}
}
