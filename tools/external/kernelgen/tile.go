package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of simd.Tile. A test in package simd compares them with unsafe.Offsetof.
const (
	tileA     = 0
	tileB     = 24
	tileC     = 48
	tileBias  = 72
	tileRows  = 96
	tileCRows = 120
	tileSteps = 144
	tileAStep = 152
	tileSegs  = 160
	tileASeg  = 168
	tileBlks  = 176
	tileABlk  = 184
	tileBStep = 192
	tileBSeg  = 200
	tileBBlk  = 208
	tileFlags = 216
	tileSegN  = 224 // scratch from here on
	tileBlkN  = 232
	tileASegP = 240
	tileBSegP = 248
	tileABlkP = 256
	tileBBlkP = 264
	tileAhead = 272
	tileLast  = 280
)

// tiles writes the micro-kernels: 8 rows by 32 and by 16 columns.
func tiles(v isa) {
	suffix = v.suffix
	for _, columns := range []int{32, 16} {
		begin(fmt.Sprintf("tile8x%d%s", columns, v.suffix), "func(t *byte)",
			fmt.Sprintf("computes a block of 8 rows and %d columns; t points to a tile.", columns))
		Load(Param("t"), RDI)
		if v.lanes == 16 {
			subtile(v, 0, 8, 0, columns/16, "all")
		} else { // 16 registers: a block of 4 rows and 16 columns at a time
			for row := 0; row < 8; row += 4 {
				for column := 0; column < columns; column += 16 {
					subtile(v, row, 4, column, 2, fmt.Sprintf("r%dc%d", row, column))
				}
			}
		}
		end()
	}
}

// subtile computes rows [row, row+rows) and n vectors of columns, starting at column.
func subtile(v isa, row, rows, column, n int, label string) {
	field := func(offset int) Mem { return Mem{Base: RDI, Disp: offset} }
	pointers := []GPPhysical{R8, R9, R10, R11, R12, R13, R14, R15}[:rows]
	accumulator := func(i, j int) VecPhysical { return v.reg(i*n + j) }
	b := func(j int) VecPhysical { return v.reg(rows*n + j) }
	// two alternating broadcast registers
	broadcast := func(i int) VecPhysical { return v.reg(rows*n + n + i%2) }

	MOVQ(field(tileA), RSI)
	MOVQ(field(tileRows), RAX)
	for i, p := range pointers {
		MOVQ(Mem{Base: RAX, Disp: 8 * (row + i)}, p)
		LEAQ(Mem{Base: RSI, Index: p, Scale: 4}, p)
		for j := range n {
			v.zero(accumulator(i, j))
		}
	}
	MOVQ(field(tileAStep), RDX)
	MOVQ(field(tileBStep), RCX)
	SHLQ(Imm(2), RCX)
	XORQ(RAX, RAX)
	MOVQ(RAX, field(tileABlkP))
	MOVQ(field(tileB), RBX)
	ADDQ(Imm(uint64(4*column)), RBX)
	MOVQ(RBX, field(tileBBlkP))
	MOVQ(field(tileBlks), RSI)
	MOVQ(RSI, field(tileBlkN))

	Label(label + "block")
	MOVQ(RAX, field(tileASegP))
	MOVQ(RBX, field(tileBSegP))
	MOVQ(field(tileSegs), RSI)
	MOVQ(RSI, field(tileSegN))

	Label(label + "segment")
	if row == 0 && column == 0 {
		MOVQ(field(tileAhead), RSI)
		for line := range 4 {
			PREFETCHT1(Mem{Base: RSI, Disp: 64 * line})
		}
		ADDQ(U32(256), RSI)
		CMPQ(RSI, field(tileLast))
		CMOVQGT(field(tileLast), RSI)
		MOVQ(RSI, field(tileAhead))
	}
	MOVQ(field(tileSteps), RSI)

	Label(label + "step")
	for j := range n {
		VMOVUPS(Mem{Base: RBX, Disp: j * v.bytes()}, b(j))
	}
	for i, p := range pointers {
		VBROADCASTSS(Mem{Base: p, Index: RAX, Scale: 4}, broadcast(i))
		for j := range n {
			v.multiply(broadcast(i), b(j), accumulator(i, j))
		}
	}
	ADDQ(RDX, RAX)
	ADDQ(RCX, RBX)
	DECQ(RSI)
	JNZ(LabelRef(label + "step"))

	MOVQ(field(tileASegP), RAX)
	ADDQ(field(tileASeg), RAX)
	MOVQ(RAX, field(tileASegP))
	MOVQ(field(tileBSeg), RBX)
	SHLQ(Imm(2), RBX)
	ADDQ(field(tileBSegP), RBX)
	MOVQ(RBX, field(tileBSegP))
	DECQ(field(tileSegN))
	JNZ(LabelRef(label + "segment"))

	MOVQ(field(tileABlkP), RAX)
	ADDQ(field(tileABlk), RAX)
	MOVQ(RAX, field(tileABlkP))
	MOVQ(field(tileBBlk), RBX)
	SHLQ(Imm(2), RBX)
	ADDQ(field(tileBBlkP), RBX)
	MOVQ(RBX, field(tileBBlkP))
	DECQ(field(tileBlkN))
	JNZ(LabelRef(label + "block"))

	finish(v, rows, row, column, n, accumulator, b, broadcast, label)
}

// finish adds the old content of C and the bias, applies the ReLU or the leaky ReLU and stores the block.
func finish(v isa, rows, row, column, n int, accumulator func(i, j int) VecPhysical, b, broadcast func(i int) VecPhysical, label string) {
	field := func(offset int) Mem { return Mem{Base: RDI, Disp: offset} }
	MOVQ(field(tileC), RSI)
	MOVQ(field(tileCRows), RAX)
	MOVQ(field(tileFlags), RDX)
	out := []GPPhysical{R8, R9, R10, R11, R12, R13, R14, R15}[:rows]
	for i, p := range out {
		MOVQ(Mem{Base: RAX, Disp: 8 * (row + i)}, p)
		LEAQ(Mem{Base: RSI, Index: p, Scale: 4, Disp: 4 * column}, p)
	}
	TESTQ(U32(1), RDX)
	JZ(LabelRef(label + "fresh"))
	for i, p := range out {
		for j := range n {
			VADDPS(Mem{Base: p, Disp: j * v.bytes()}, accumulator(i, j), accumulator(i, j))
		}
	}
	Label(label + "fresh")
	TESTQ(U32(2), RDX)
	JZ(LabelRef(label + "unbiased"))
	MOVQ(field(tileBias), RBX)
	for j := range n {
		VMOVUPS(Mem{Base: RBX, Disp: 4*column + j*v.bytes()}, b(j))
		for i := range out {
			VADDPS(b(j), accumulator(i, j), accumulator(i, j))
		}
	}
	Label(label + "unbiased")
	TESTQ(U32(4), RDX)
	JZ(LabelRef(label + "linear"))
	v.zero(b(0))
	for i := range out {
		for j := range n {
			VMAXPS(accumulator(i, j), b(0), accumulator(i, j)) // this order keeps NaN
		}
	}
	Label(label + "linear")
	TESTQ(U32(8), RDX)
	JZ(LabelRef(label + "store"))
	VMOVUPS(constant(0.2), b(0))
	for i := range out {
		for j := range n {
			VMULPS(b(0), accumulator(i, j), broadcast(0))
			VMAXPS(accumulator(i, j), broadcast(0), accumulator(i, j)) // this order keeps NaN
		}
	}
	Label(label + "store")
	for i, p := range out {
		for j := range n {
			VMOVUPS(accumulator(i, j), Mem{Base: p, Disp: j * v.bytes()})
		}
	}
}
