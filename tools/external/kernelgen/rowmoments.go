package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rowMoments writes sums over chosen rows of 16 columns of float64, as differences from the first row; see
// kernel.RowMoments.
func rowMoments(v isa) {
	begin("rowMoments"+v.suffix, "func(sum, square, x *float64, rows *int32, n int)",
		"sums x - x0 and (x - x0)^2 over n rows of 16 columns, x0 the first of them.")
	sum, square, x := argument("sum"), argument("square"), argument("x")
	rows, n := argument("rows"), argument("n")
	const width = 16 * 8
	vectors := width / v.bytes()
	row := GP64()
	at := func(j int) Mem { return Mem{Base: x, Index: row, Scale: 1, Disp: j * v.bytes()} }
	next := func() {
		MOVLQSX(Mem{Base: rows}, row)
		SHLQ(Imm(7), row) // width
	}
	first, s, q := make([]VecVirtual, vectors), make([]VecVirtual, vectors), make([]VecVirtual, vectors)
	next()
	for j := range first {
		first[j], s[j], q[j] = v.virtual(), v.virtual(), v.virtual()
		VMOVUPD(at(j), first[j])
		v.zero(s[j])
		v.zero(q[j])
	}
	JMP(LabelRef("count"))
	Label("row")
	next()
	for j := range first {
		d := v.virtual()
		VMOVUPD(at(j), d)
		VSUBPD(first[j], d, d)
		VADDPD(d, s[j], s[j])
		VFMADD231PD(d, d, q[j])
	}
	Label("count")
	ADDQ(Imm(4), rows)
	DECQ(n)
	JNZ(LabelRef("row"))
	for j := range first {
		VMOVUPD(s[j], Mem{Base: sum, Disp: j * v.bytes()})
		VMOVUPD(q[j], Mem{Base: square, Disp: j * v.bytes()})
	}
	end()
}
