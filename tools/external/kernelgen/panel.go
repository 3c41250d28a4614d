package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Byte offsets of the fields of simd.Panel. A test in package simd compares them with unsafe.Offsetof.
const (
	panelA        = 0
	panelB        = 24
	panelC        = 48
	panelBias     = 72
	panelARow     = 96
	panelAStep    = 104
	panelBStep    = 112
	panelCRow     = 120
	panelRows     = 128
	panelSteps    = 136
	panelFlags    = 144
	panelAhead    = 152
	panelLines    = 176
	panelColumns  = 200
	panelAheadRow = 216
	panelAheadAt  = 224 // scratch
)

// The registers of a panel. Each pointer serves 4 rows of a: p, p + row, p + 2 row, p + 3 row.
var (
	panelPointers         = []GPPhysical{R8, R9, R10}
	panelRow, panelRow3   = RDX, R11
	panelStep             = RCX
	panelRight            = RBX
	panelRightStep        = R12
	panelOut, panelOutRow = R13, R14
	panelOutRow3          = R15
	panelAheadLines       = R14 // during the steps, which do not use panelOutRow and panelOutRow3
	panelAheadLine        = R15
)

// panels writes the micro-kernel of matrix products: panels of 32 (AVX-512) and 16 columns.
func panels(v isa) {
	suffix = v.suffix
	if v.lanes == 16 {
		panel(v, 2, false, []int{12, 8, 4, 2, 1})
		panel(v, 2, true, []int{12, 8, 4, 2, 1})
		panel(v, 1, true, []int{12, 8, 4, 2, 1})
		return
	}
	panel(v, 2, false, []int{6, 4, 2, 1})
}

// panel writes the micro-kernel for n vectors of columns. masked selects the first columns only. heights are its
// numbers of rows, descending.
func panel(v isa, n int, masked bool, heights []int) {
	name, masks := fmt.Sprintf("panel%d%s", n*v.lanes, v.suffix), panelMasks{}
	if masked {
		name, masks = fmt.Sprintf("panel%dMasked%s", n*v.lanes, v.suffix), panelMasks{K1, K2}
	}
	start(name, "func(t *byte)")
	Doc(fmt.Sprintf("%s multiplies rows by a panel of %d columns, %d rows at a time; t points to a panel.", name, n*v.lanes, heights[0]))
	Load(Param("t"), RDI)
	field := func(offset int) Mem { return Mem{Base: RDI, Disp: offset} }
	if masked {
		MOVQ(field(panelColumns), RCX)
		MOVQ(U32(1), RAX)
		SHLQ(CL, RAX)
		DECQ(RAX)
		for _, k := range masks[:n] {
			KMOVW(EAX, k)
			SHRQ(Imm(16), RAX)
		}
	}
	MOVQ(field(panelA), R8)
	MOVQ(field(panelC), panelOut)
	MOVQ(field(panelAhead), RAX)
	MOVQ(RAX, field(panelAheadAt))
	for _, r := range []struct {
		register GPPhysical
		offset   int
	}{{panelStep, panelAStep}, {panelRightStep, panelBStep}} {
		MOVQ(field(r.offset), r.register)
		SHLQ(Imm(2), r.register)
	}
	loadStrides(panelRow, panelARow, panelRow3)
	loadStrides(panelOutRow, panelCRow, panelOutRow3)
	for i, rows := range heights {
		label := fmt.Sprintf("rows%d", rows)
		next := "done"
		if i+1 < len(heights) {
			next = fmt.Sprintf("rows%d", heights[i+1])
		}
		Label(label)
		CMPQ(field(panelRows), Imm(uint64(rows)))
		JLT(LabelRef(next))
		panelBlock(v, rows, n, masks, label)
		SUBQ(Imm(uint64(rows)), field(panelRows))
		JMP(LabelRef(label))
	}
	Label("done")
	end()
}

// loadStrides loads the distance of rows from a field of the panel, and triples it in row3.
func loadStrides(row GPPhysical, offset int, row3 GPPhysical) {
	MOVQ(Mem{Base: RDI, Disp: offset}, row)
	SHLQ(Imm(2), row)
	LEAQ(Mem{Base: row, Index: row, Scale: 2}, row3)
}

// panelMasks are the masks of the vectors of a panel, or nil without masks.
type panelMasks [2]Register

func (k panelMasks) load(m Mem, j int, r VecPhysical) {
	if k[j] != nil {
		VMOVUPS_Z(m, k[j], r) // a masked load takes an arithmetic slot
	} else {
		VMOVUPS(m, r)
	}
}

func (k panelMasks) add(m Mem, j int, r VecPhysical) {
	if k[j] != nil {
		VADDPS(m, r, k[j], r)
	} else {
		VADDPS(m, r, r)
	}
}

func (k panelMasks) store(r VecPhysical, j int, m Mem) {
	if k[j] != nil {
		VMOVUPS(r, k[j], m)
	} else {
		VMOVUPS(r, m)
	}
}

// panelAt returns row i from the pointers to every fourth row.
func panelAt(pointers []GPPhysical, row, row3 GPPhysical, i int) Mem {
	m := Mem{Base: pointers[i/4]}
	switch i % 4 {
	case 1:
		m.Index, m.Scale = row, 1
	case 2:
		m.Index, m.Scale = row, 2
	case 3:
		m.Index, m.Scale = row3, 1
	}
	return m
}

// panelBlock computes a number of rows of n vectors, and advances R8 and panelOut to the next rows.
func panelBlock(v isa, rows, n int, masks panelMasks, label string) {
	field := func(offset int) Mem { return Mem{Base: RDI, Disp: offset} }
	sum := func(i, j int) VecPhysical { return v.reg(i*n + j) }
	b := func(j int) VecPhysical { return v.reg(rows*n + j) }
	registers := 32
	if v.lanes == 8 {
		registers = 16
	}
	spare := min(4, registers-rows*n-n)
	x := func(i int) VecPhysical { return v.reg(rows*n + n + i%spare) }

	for p := 1; p < (rows+3)/4; p++ {
		LEAQ(Mem{Base: panelPointers[p-1], Index: panelRow, Scale: 4}, panelPointers[p])
	}
	MOVQ(field(panelB), panelRight)
	MOVQ(field(panelSteps), RSI)
	panelPrefetch(rows, n*v.bytes())
	MOVQ(field(panelAheadAt), RAX)
	MOVQ(field(panelLines), panelAheadLines)
	for i := range rows * n {
		v.zero(v.reg(i))
	}

	Label(label + "step")
	for j := range n {
		masks.load(Mem{Base: panelRight, Disp: j * v.bytes()}, j, b(j))
	}
	for i := range rows {
		VBROADCASTSS(panelAt(panelPointers, panelRow, panelRow3, i), x(i))
		for j := range n {
			v.multiply(x(i), b(j), sum(i, j))
		}
	}
	for _, p := range panelPointers[:(rows+3)/4] {
		ADDQ(panelStep, p)
	}
	MOVLQSX(Mem{Base: panelAheadLines, Index: RSI, Scale: 4, Disp: -4}, panelAheadLine)
	PREFETCHT1(Mem{Base: RAX, Index: panelAheadLine, Scale: 1})
	ADDQ(panelRightStep, panelRight)
	DECQ(RSI)
	JNZ(LabelRef(label + "step"))

	loadStrides(panelOutRow, panelCRow, panelOutRow3)
	panelFinish(v, rows, n, masks, sum, b, x, label)
}

// panelPrefetch prefetches the rows of c, which panelFinish reads.
func panelPrefetch(rows, bytes int) {
	MOVQ(panelOut, RAX)
	for i := range rows {
		for at := 0; at < bytes; at += 64 {
			m := panelAt([]GPPhysical{RAX}, panelOutRow, panelOutRow3, i%4)
			m.Disp = at
			PREFETCHT0(m)
		}
		if i%4 == 3 && i+1 < rows {
			LEAQ(Mem{Base: RAX, Index: panelOutRow, Scale: 4}, RAX)
		}
	}
}

// panelFinish adds the old content of c and the bias, applies the ReLU or the leaky ReLU and stores the block.
func panelFinish(v isa, rows, n int, masks panelMasks, sum func(i, j int) VecPhysical, b, x func(i int) VecPhysical, label string) {
	field := func(offset int) Mem { return Mem{Base: RDI, Disp: offset} }
	// back to the first step, and to the rows of the next block
	MOVQ(field(panelSteps), RSI)
	IMULQ(panelStep, RSI)
	SUBQ(RSI, R8)
	MOVQ(U32(uint32(rows)), RSI)
	IMULQ(panelRow, RSI)
	ADDQ(RSI, R8)
	MOVQ(U32(uint32(4*rows)), RSI)
	IMULQ(field(panelAheadRow), RSI)
	ADDQ(RSI, field(panelAheadAt))

	out := []GPPhysical{panelOut, R9, R10}
	for p := 1; p < (rows+3)/4; p++ {
		LEAQ(Mem{Base: out[p-1], Index: panelOutRow, Scale: 4}, out[p])
	}
	at := func(i, j int) Mem {
		m := panelAt(out, panelOutRow, panelOutRow3, i)
		m.Disp = j * v.bytes()
		return m
	}
	MOVQ(field(panelFlags), RAX)
	each := func(f func(i, j int)) {
		for i := range rows {
			for j := range n {
				f(i, j)
			}
		}
	}
	TESTQ(U32(1), RAX)
	JZ(LabelRef(label + "fresh"))
	each(func(i, j int) { masks.add(at(i, j), j, sum(i, j)) })
	Label(label + "fresh")
	TESTQ(U32(2), RAX)
	JZ(LabelRef(label + "unbiased"))
	MOVQ(field(panelBias), RSI)
	for j := range n {
		masks.load(Mem{Base: RSI, Disp: j * v.bytes()}, j, b(j))
	}
	each(func(i, j int) { VADDPS(b(j), sum(i, j), sum(i, j)) })
	Label(label + "unbiased")
	TESTQ(U32(4), RAX)
	JZ(LabelRef(label + "linear"))
	v.zero(b(0))
	each(func(i, j int) { VMAXPS(sum(i, j), b(0), sum(i, j)) }) // this order keeps NaN
	Label(label + "linear")
	TESTQ(U32(8), RAX)
	JZ(LabelRef(label + "store"))
	VMOVUPS(constant(0.2), b(0))
	each(func(i, j int) {
		VMULPS(b(0), sum(i, j), x(0))
		VMAXPS(sum(i, j), x(0), sum(i, j)) // this order keeps NaN
	})
	Label(label + "store")
	each(func(i, j int) { masks.store(sum(i, j), j, at(i, j)) })
	MOVQ(U32(uint32(rows)), RSI)
	IMULQ(panelOutRow, RSI)
	ADDQ(RSI, panelOut)
}
