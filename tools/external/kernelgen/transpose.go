package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// transpose writes the transposition of one block of 8 by 8.
func transpose(v isa) {
	begin("transpose8x8"+v.suffix, "func(dst, src *float32, dstStride, srcStride int)",
		"computes dst[j*dstStride+i] = src[i*srcStride+j] for i, j < 8.")
	dst, src := argument("dst"), argument("src")
	ds, ss := argument("dstStride"), argument("srcStride")
	SHLQ(Imm(2), ds)
	SHLQ(Imm(2), ss)
	r := []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7}
	t := []VecPhysical{Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}
	for i := range 8 {
		VMOVUPS(Mem{Base: src}, r[i])
		if i < 7 {
			ADDQ(ss, src)
		}
	}
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		VSHUFPS(Imm(0x44), t[i+2], t[i], r[i])
		VSHUFPS(Imm(0xee), t[i+2], t[i], r[i+1])
		VSHUFPS(Imm(0x44), t[i+3], t[i+1], r[i+2])
		VSHUFPS(Imm(0xee), t[i+3], t[i+1], r[i+3])
	}
	for i := range 8 {
		if i < 4 {
			VPERM2F128(Imm(0x20), r[i+4], r[i], t[i])
		} else {
			VPERM2F128(Imm(0x31), r[i], r[i-4], t[i])
		}
	}
	for i := range 8 {
		VMOVUPS(t[i], Mem{Base: dst})
		if i < 7 {
			ADDQ(ds, dst)
		}
	}
	end()
}
