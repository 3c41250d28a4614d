package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// isa is a vector instruction set: the suffix of its functions and its width in float32 lanes.
type isa struct {
	suffix string
	lanes  int
}

var (
	avx512  = isa{"AVX512", 16}
	avx2    = isa{"AVX2", 8}
	neonISA = isa{"", 8} // like AVX2: package neon translates it, or half as wide where registers are too few
)

func (v isa) bytes() int { return 4 * v.lanes }

func (v isa) reg(i int) VecPhysical {
	if v.lanes == 16 {
		return []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
			Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31}[i]
	}
	return []VecPhysical{Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7, Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15}[i]
}

// virtual returns a fresh virtual vector register.
func (v isa) virtual() VecVirtual {
	switch v.lanes {
	case 16:
		return ZMM()
	case 8:
		return YMM()
	}
	return XMM()
}

func (v isa) zero(r Op) {
	if v.lanes == 16 {
		VPXORQ(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
}

// multiply adds a product of float32 numbers, or of pairs of bfloat16, to a sum.
func (v isa) multiply(x, y, sum Op) {
	if v == bf16 {
		dotBF16(x, y, sum)
		return
	}
	VFMADD231PS(x, y, sum)
}

// constants holds the float32 constants that a function has in memory, by bit pattern.
var constants = map[uint32]Mem{}

// constant returns a 64-byte read-only block that repeats a float32, usable as a full vector operand.
func constant(x float32) Mem { return constantBits(math.Float32bits(x)) }

func constantBits(bits uint32) Mem {
	if m, ok := constants[bits]; ok {
		return m
	}
	m := GLOBL("c"+suffix+hex(bits), RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(bits))
	}
	constants[bits] = m
	return m
}

// suffix distinguishes the constants of the generated files.
var suffix string

func hex(x uint32) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 8)
	for i := range b {
		b[7-i] = digits[x>>(4*i)&15]
	}
	return string(b)
}

// broadcast64 copies a float64 to all lanes.
func (v isa) broadcast64(from, to Op) {
	if v.lanes == 4 {
		VMOVDDUP(from, to)
	} else {
		VBROADCASTSD(from, to)
	}
}
