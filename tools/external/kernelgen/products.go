package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// products writes the matrix products of transformed tiles. In each part, it multiplies rows at equal distances by a
// panel of 32 columns. One call processes all blocks of rows, because the sums of Winograd's method are short.
func products(v isa) {
	begin("products32"+v.suffix, "func(a, b, c *float32, parts, blocks, steps, aPart, aRow, aStep, bPart, bStep, cPart, cRow, add int, ahead, last *float32)",
		"computes c[p*cPart + r*cRow + n] as the sum of a[p*aPart + r*aRow + k*aStep] b[p*bPart + k*bStep + n] over k < steps, for p < parts, r < 8 blocks, n < 32, and adds what was there if add is not 0. Meanwhile it prefetches the lines from ahead to last, one a step.")
	elements := func(name string) GPVirtual {
		r := GP64()
		MOVQ(parameter(name), r)
		SHLQ(Imm(2), r)
		return r
	}
	aRow, aStep, bStep, cRow := elements("aRow"), elements("aStep"), elements("bStep"), elements("cRow")
	rows, vectors := 8, 2
	if v.lanes < 16 { // 16 registers: a block of 4 rows and 16 columns at a time
		rows = 4
	}
	ahead, last := GP64(), GP64()
	MOVQ(parameter("ahead"), ahead)
	MOVQ(parameter("last"), last)
	Label("part")
	a, c, blocks := GP64(), GP64(), GP64()
	MOVQ(parameter("a"), a)
	MOVQ(parameter("c"), c)
	MOVQ(parameter("blocks"), blocks)
	Label("block")
	for row := 0; row < 8; row += rows {
		for column := 0; column < 32; column += vectors * v.lanes {
			b := GP64()
			MOVQ(parameter("b"), b)
			ADDQ(Imm(uint64(4*column)), b)
			pass := func() {}
			if row == 0 && column == 0 && v.suffix != neonISA.suffix {
				pass = func() {
					PREFETCHT1(Mem{Base: ahead})
					ADDQ(Imm(64), ahead)
					CMPQ(ahead, last)
					CMOVQGT(last, ahead)
				}
			}
			productBlock(v, pass, rows, vectors, fmt.Sprintf("r%dc%d", row, column), Mem{Base: c, Disp: 4 * column}, a, b, aRow, aStep, bStep, cRow, parameter("steps"), parameter("add"))
		}
		LEAQ(Mem{Base: a, Index: aRow, Scale: 4}, a)
		LEAQ(Mem{Base: c, Index: cRow, Scale: 4}, c)
		if rows == 8 {
			LEAQ(Mem{Base: a, Index: aRow, Scale: 4}, a)
			LEAQ(Mem{Base: c, Index: cRow, Scale: 4}, c)
		}
	}
	DECQ(blocks)
	JNZ(LabelRef("block"))
	for _, p := range []string{"a", "b", "c"} {
		ADDQ(elements(p+"Part"), parameter(p))
	}
	DECQ(parameter("parts"))
	JNZ(LabelRef("part"))
	end()
}

// productBlock computes the sums of some rows and vectors of columns, and calls pass in each step. a and c point to the
// first row.
func productBlock(v isa, pass func(), rows, vectors int, label string, c Mem, a, b, aRow, aStep, bStep, cRow Register, steps, add Mem) {
	sums := make([]VecVirtual, rows*vectors)
	for i := range sums {
		sums[i] = v.virtual()
		v.zero(sums[i])
	}
	at, count := []Register{GP64()}, GP64()
	MOVQ(a, at[0])
	if rows == 8 {
		at = append(at, GP64())
		LEAQ(Mem{Base: a, Index: aRow, Scale: 4}, at[1])
	}
	three := GP64()
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, three)
	MOVQ(steps, count)
	Label(label + "step")
	right := make([]VecVirtual, vectors)
	for j := range right {
		right[j] = v.virtual()
		VMOVUPS(Mem{Base: b, Disp: j * v.bytes()}, right[j])
	}
	for i := range rows {
		x := v.virtual()
		VBROADCASTSS(fromRow(at[i/4], aRow, three, i%4), x)
		for j := range right {
			VFMADD231PS(x, right[j], sums[vectors*i+j])
		}
	}
	pass()
	for _, p := range at {
		ADDQ(aStep, p)
	}
	ADDQ(bStep, b)
	DECQ(count)
	JNZ(LabelRef(label + "step"))
	to := GP64()
	CMPQ(add, Imm(0))
	JEQ(LabelRef(label + "fresh"))
	LEAQ(c, to)
	for i := range sums {
		if i > 0 && i%vectors == 0 {
			ADDQ(cRow, to)
		}
		VADDPS(Mem{Base: to, Disp: i % vectors * v.bytes()}, sums[i], sums[i])
	}
	Label(label + "fresh")
	LEAQ(c, to)
	for i := range rows {
		for j := range vectors {
			VMOVUPS(sums[vectors*i+j], Mem{Base: to, Disp: j * v.bytes()})
		}
		if i < rows-1 {
			ADDQ(cRow, to)
		}
	}
}

// fromRow returns the address of row i < 4 from a base.
func fromRow(base, row, three Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: three, Scale: 1}
	}
	return Mem{Base: base, Index: row, Scale: uint8(i)}
}
