package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// copyRows writes the copy of a panel to consecutive rows.
func copyRows(v isa) {
	start("copyRows"+v.suffix, "func(dst, src *float32, step, n int)")
	Doc("copyRows" + v.suffix + " copies n runs of two vectors, step elements apart, to runs that follow each other.")
	dst, src := argument("dst"), argument("src")
	step, n := argument("step"), argument("n")
	SHLQ(Imm(2), step)
	Label("row")
	for j := range 2 {
		VMOVUPS(Mem{Base: src, Disp: j * v.bytes()}, v.reg(j))
	}
	for j := range 2 {
		VMOVUPS(v.reg(j), Mem{Base: dst, Disp: j * v.bytes()})
	}
	ADDQ(step, src)
	ADDQ(Imm(uint64(2*v.bytes())), dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	end()
}
