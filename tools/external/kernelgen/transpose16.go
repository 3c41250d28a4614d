package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose16 writes the transposition of 16 rows of any length.
func transpose16(v isa) {
	start("transpose16"+v.suffix, "func(dst, src *float32, dstStride, srcStride, n int)")
	Doc("transpose16" + v.suffix + " computes dst[j*dstStride+i] = src[i*srcStride+j] for i < 16, j < n.")
	Load(Param("dst"), RDI)
	Load(Param("src"), RSI)
	Load(Param("dstStride"), RDX)
	Load(Param("srcStride"), RBX)
	Load(Param("n"), R8)
	SHLQ(Imm(2), RDX)
	SHLQ(Imm(2), RBX)
	LEAQ(Mem{Base: RBX, Index: RBX, Scale: 2}, R9)
	LEAQ(Mem{Base: RDX, Index: RDX, Scale: 2}, R10)

	Label("block")
	CMPQ(R8, Imm(16))
	JLT(LabelRef("rest"))
	transposed16(v, func(m Mem, r VecPhysical) { VMOVUPS(m, r) })
	MOVQ(RDI, R11)
	for j := range 16 {
		VMOVUPS(v.reg(j), panelAt([]GPPhysical{R11}, RDX, R10, j%4))
		if j%4 == 3 {
			LEAQ(Mem{Base: R11, Index: RDX, Scale: 4}, R11)
		}
	}
	MOVQ(R11, RDI)
	ADDQ(Imm(64), RSI)
	SUBQ(Imm(16), R8)
	JMP(LabelRef("block"))

	Label("rest") // the last n < 16 columns
	TESTQ(R8, R8)
	JZ(LabelRef("done"))
	MOVQ(R8, RCX)
	MOVQ(U32(1), RAX)
	SHLQ(CL, RAX)
	DECQ(RAX)
	KMOVW(EAX, K1)
	transposed16(v, func(m Mem, r VecPhysical) { VMOVUPS_Z(m, K1, r) })
	for j := range 15 {
		VMOVUPS(v.reg(j), Mem{Base: RDI})
		ADDQ(RDX, RDI)
		DECQ(R8)
		JZ(LabelRef("done"))
	}
	Label("done")
	end()
}

// transposed16 loads 16 rows of 16 elements and leaves their columns in the first 16 registers.
func transposed16(v isa, load func(m Mem, r VecPhysical)) {
	r := func(i int) VecPhysical { return v.reg(i) }
	t := func(i int) VecPhysical { return v.reg(16 + i) }
	MOVQ(RSI, R11)
	for i := range 16 {
		load(panelAt([]GPPhysical{R11}, RBX, R9, i%4), r(i))
		if i%4 == 3 && i < 15 {
			LEAQ(Mem{Base: R11, Index: RBX, Scale: 4}, R11)
		}
	}
	for i := 0; i < 16; i += 2 {
		VUNPCKLPS(r(i+1), r(i), t(i))
		VUNPCKHPS(r(i+1), r(i), t(i+1))
	}
	// quarter q of r(i+c) holds column 4q+c of rows i to i+3
	for i := 0; i < 16; i += 4 {
		VSHUFPS(Imm(0x44), t(i+2), t(i), r(i))
		VSHUFPS(Imm(0xee), t(i+2), t(i), r(i+1))
		VSHUFPS(Imm(0x44), t(i+3), t(i+1), r(i+2))
		VSHUFPS(Imm(0xee), t(i+3), t(i+1), r(i+3))
	}
	for c := range 4 {
		VSHUFF32X4(Imm(0x88), r(4+c), r(c), t(c))      // quarters 0 and 2 of rows 0 to 7
		VSHUFF32X4(Imm(0xdd), r(4+c), r(c), t(4+c))    // quarters 1 and 3
		VSHUFF32X4(Imm(0x88), r(12+c), r(8+c), t(8+c)) // the same for rows 8 to 15
		VSHUFF32X4(Imm(0xdd), r(12+c), r(8+c), t(12+c))
	}
	for c := range 4 {
		VSHUFF32X4(Imm(0x88), t(8+c), t(c), r(c))
		VSHUFF32X4(Imm(0xdd), t(8+c), t(c), r(8+c))
		VSHUFF32X4(Imm(0x88), t(12+c), t(4+c), r(4+c))
		VSHUFF32X4(Imm(0xdd), t(12+c), t(4+c), r(12+c))
	}
}
