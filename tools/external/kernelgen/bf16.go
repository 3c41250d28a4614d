package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// bf16 is AVX-512 with AVX512_BF16. Its tiles multiply pairs of bfloat16 numbers. Neither avo nor Go's assembler
// supports the two instructions. Instructions with the same operands stand in for them, and encodeBF16 replaces the
// stand-ins.
var bf16 = isa{"BF16", 16}

// VPDPWSSD stands in for VDPBF16PS, and VPERMT2W for VCVTNE2PS2BF16.
func dotBF16(x, y, sum Op)        { VPDPWSSD(x, y, sum) }
func convertBF16(low, high, r Op) { VPERMT2W(low, high, r) }

// pairKernels writes the conversions to pairs of bfloat16.
func pairKernels() {
	pairColumnsBF16()
	pairRowsBF16()
}

// pairColumnsBF16 writes the conversion of two rows to pairs of elements of the same column.
func pairColumnsBF16() {
	begin("pairColumnsBF16", "func(dst, low, high *float32, count, columns, dstStep, step int)",
		"computes dst[k*dstStep+i] = (low[k*step+i], high[k*step+i]) in bfloat16 for k < count and i < columns.")
	dst, low, high := argument("dst"), argument("low"), argument("high")
	count, columns := argument("count"), argument("columns")
	dstStep, step := argument("dstStep"), argument("step")
	SHLQ(Imm(2), dstStep)
	SHLQ(Imm(2), step)
	order := GLOBL("orderBF16", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(16+i)<<16|uint32(i)))
	}
	permutation, x, y := ZMM(), ZMM(), ZMM()
	VMOVDQU64(order, permutation)
	tail := tailMask(columns, 15)
	i, at := GP64(), GP64()
	Label("row")
	MOVQ(columns, i)
	XORQ(at, at)
	Label("whole")
	CMPQ(i, Imm(16))
	JL(LabelRef("tail"))
	VMOVUPS(Mem{Base: low, Index: at, Scale: 1}, x)
	VMOVUPS(Mem{Base: high, Index: at, Scale: 1}, y)
	convertBF16(x, y, x)
	VPERMW(x, permutation, x)
	VMOVUPS(x, Mem{Base: dst, Index: at, Scale: 1})
	ADDQ(Imm(64), at)
	SUBQ(Imm(16), i)
	JMP(LabelRef("whole"))
	Label("tail")
	TESTQ(i, i)
	JZ(LabelRef("next"))
	VMOVUPS_Z(Mem{Base: low, Index: at, Scale: 1}, tail, x)
	VMOVUPS_Z(Mem{Base: high, Index: at, Scale: 1}, tail, y)
	convertBF16(x, y, x)
	VPERMW(x, permutation, x)
	VMOVUPS(x, tail, Mem{Base: dst, Index: at, Scale: 1})
	Label("next")
	ADDQ(step, low)
	ADDQ(step, high)
	ADDQ(dstStep, dst)
	DECQ(count)
	JNZ(LabelRef("row"))
	end()
}

// tailMask returns a mask of the columns that remain after the whole vectors of mask+1 columns.
func tailMask(columns Register, mask uint8) Register {
	n, ones := RCX, GP64()
	MOVQ(columns, n)
	ANDQ(Imm(uint64(mask)), n)
	MOVQ(U32(1), ones)
	SHLQ(CL, ones)
	DECQ(ones)
	k := K()
	KMOVD(ones.(GP).As32(), k)
	return k
}

// pairRowsBF16 writes the conversion of adjacent elements of a row to pairs.
func pairRowsBF16() {
	begin("pairRowsBF16", "func(dst, src *float32, count, columns, dstStep, step int)",
		"computes dst[k*dstStep+i] = (src[k*step+2*i], src[k*step+2*i+1]) in bfloat16 for k < count and 2*i < columns;",
		"behind the last of an odd number of columns is a zero.")
	dst, src := argument("dst"), argument("src")
	count, columns := argument("count"), argument("columns")
	dstStep, step := argument("dstStep"), argument("step")
	SHLQ(Imm(2), dstStep)
	SHLQ(Imm(2), step)
	lowTail := tailMask(columns, 31)
	highTail, outTail := K(), K()
	KSHIFTRD(Imm(16), lowTail, highTail)
	pairs := GP64()
	MOVQ(columns, pairs)
	ANDQ(Imm(31), pairs)
	INCQ(pairs)
	SHRQ(Imm(1), pairs)
	MOVQ(pairs, RCX)
	ones := GP64()
	MOVQ(U32(1), ones)
	SHLQ(CL, ones)
	DECQ(ones)
	KMOVD(ones.As32(), outTail)
	x, y := ZMM(), ZMM()
	i, from, to := GP64(), GP64(), GP64()
	Label("row")
	MOVQ(columns, i)
	MOVQ(src, from)
	MOVQ(dst, to)
	Label("whole")
	CMPQ(i, Imm(32))
	JL(LabelRef("tail"))
	VMOVUPS(Mem{Base: from}, x)
	VMOVUPS(Mem{Base: from, Disp: 64}, y)
	convertBF16(x, y, x)
	VMOVUPS(x, Mem{Base: to})
	ADDQ(Imm(128), from)
	ADDQ(Imm(64), to)
	SUBQ(Imm(32), i)
	JMP(LabelRef("whole"))
	Label("tail")
	TESTQ(i, i)
	JZ(LabelRef("next"))
	VMOVUPS_Z(Mem{Base: from}, lowTail, x)
	VMOVUPS_Z(Mem{Base: from, Disp: 64}, highTail, y)
	convertBF16(x, y, x)
	VMOVUPS(x, outTail, Mem{Base: to})
	Label("next")
	ADDQ(step, src)
	ADDQ(dstStep, dst)
	DECQ(count)
	JNZ(LabelRef("row"))
	end()
}

// standIn matches a stand-in for an instruction of AVX512_BF16 on three registers.
var standIn = regexp.MustCompile(`^\t(VPDPWSSD|VPERMT2W) +Z(\d+), Z(\d+), Z(\d+)$`)

// encodeBF16 replaces the stand-ins in a generated file with the encoded instructions of AVX512_BF16.
func encodeBF16(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		m := standIn.FindStringSubmatch(line)
		if m == nil {
			if strings.Contains(line, "VPDPWSSD") || strings.Contains(line, "VPERMT2W") {
				return fmt.Errorf("line %d: a stand-in on other operands: %q", i+1, line)
			}
			continue
		}
		var r [3]int
		for j := range r {
			r[j], _ = strconv.Atoi(m[2+j])
		}
		name, prefix, opcode := "VDPBF16PS", 2, 0x52
		if m[1] == "VPERMT2W" {
			name, prefix, opcode = "VCVTNE2PS2BF16", 3, 0x72
		}
		lines[i] = "\t" + bytesOf(evex(prefix, opcode, r[0], r[1], r[2])) + fmt.Sprintf(" // %s Z%d, Z%d, Z%d", name, r[0], r[1], r[2])
	}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644)
}

// evex encodes an instruction of map 0F38 on 512-bit registers, with operands in Go's order. prefix is 2 for F3 and 3
// for F2.
func evex(prefix, opcode, x, y, result int) []byte {
	inverted := func(register, bit, at int) byte { return byte(^register>>bit&1) << at }
	return []byte{
		0x62,
		inverted(result, 3, 7) | inverted(x, 4, 6) | inverted(x, 3, 5) | inverted(result, 4, 4) | 2,
		byte(^y&15)<<3 | 4 | byte(prefix),
		0x40 | inverted(y, 4, 3),
		byte(opcode),
		0xc0 | byte(result&7)<<3 | byte(x&7),
	}
}

// bytesOf formats 6 bytes for Go's assembler.
func bytesOf(b []byte) string {
	s := make([]string, len(b))
	for i, v := range b {
		s[i] = fmt.Sprintf("BYTE $%#02x", v)
	}
	return strings.Join(s, "; ")
}
