package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// tileBytes64 is the distance of two rows of a tile of pairs in float64.
const tileBytes64 = 8 * 64

// pairs64 writes the functions on tiles of pairs in float64, for metrics.
func pairs64(v isa) {
	squares64(v)
	premetric64(v)
	folds64(v, "pairSumRoots64", "adds square roots", "x", func(at func(string) Mem, acc VecVirtual, _ string) {
		r := v.virtual()
		VSQRTPD(at("x"), r)
		VADDPD(r, acc, acc)
	})
	folds64(v, "pairMax64", "takes maxima", "x", func(at func(string) Mem, acc VecVirtual, _ string) {
		VMAXPD(at("x"), acc, acc)
	})
	folds64(v, "pairSumShrinks64", "adds max(sqrt y - sqrt z, 0)", "z, y", func(at func(string) Mem, acc VecVirtual, next string) {
		shrink64(v, at, next)
		VADDPD(shrunk, acc, acc)
	})
	folds64(v, "pairMaxShrinks64", "takes maxima of sqrt y - sqrt z", "z, y", func(at func(string) Mem, acc VecVirtual, next string) {
		shrink64(v, at, next)
		VMAXPD(shrunk, acc, acc)
	})
}

// shrunk is the result of the last call of shrink64.
var shrunk VecVirtual

// shrink64 computes max(sqrt y - sqrt z, 0), and jumps to next if it is 0 in all lanes, because roots are expensive.
func shrink64(v isa, at func(string) Mem, next string) {
	y, z := v.virtual(), v.virtual()
	VMOVUPD(at("y"), y)
	VMOVUPD(at("z"), z)
	if v.lanes == 16 {
		k := K()
		VCMPPD(Imm(30), z, y, k) // y > z
		KORTESTW(k, k)
	} else {
		more, bits := v.virtual(), GP32()
		VCMPPD(Imm(30), z, y, more)
		VMOVMSKPD(more, bits)
		TESTL(bits, bits)
	}
	JZ(LabelRef(next))
	zero := v.virtual()
	VSQRTPD(y, y)
	VSQRTPD(z, z)
	VSUBPD(z, y, y)
	v.zero(zero)
	VMAXPD(zero, y, y)
	shrunk = y
}

// squares64 writes squared distances of groups of 4 sources and a tile's lanes.
func squares64(v isa) {
	begin("pairSquares64"+v.suffix, "func(dst, x, s *float64, columns, stride, groups, lanes int)",
		"computes squared distances of groups of 4 sources s and points x, lanes a multiple of 32.")
	vectors := 4
	if v.lanes == 8 {
		vectors = 2 // there are 16 registers
	}
	dst, x, s := argument("dst"), argument("x"), argument("s")
	stride, lanes := argument("stride"), argument("lanes")
	SHLQ(Imm(3), stride)
	Label("lanes")
	groups, to, from := GP64(), GP64(), GP64()
	MOVQ(NewParamAddr("groups", 40), groups)
	MOVQ(dst, to)
	MOVQ(s, from)
	Label("group")
	var acc [4][]VecVirtual
	for k := range acc {
		for range vectors {
			r := v.virtual()
			v.zero(r)
			acc[k] = append(acc[k], r)
		}
	}
	p, q, c := GP64(), GP64(), GP64()
	MOVQ(x, p)
	MOVQ(from, q)
	MOVQ(NewParamAddr("columns", 24), c)
	Label("column")
	var a []VecVirtual
	for j := range vectors {
		r := v.virtual()
		VMOVUPD(Mem{Base: p, Disp: j * v.bytes()}, r)
		a = append(a, r)
	}
	for k := range acc {
		b := v.virtual()
		v.broadcast64(Mem{Base: q, Disp: 8 * k}, b)
		for j, sum := range acc[k] {
			d := v.virtual()
			VSUBPD(b, a[j], d)
			VFMADD231PD(d, d, sum)
		}
	}
	ADDQ(stride, p)
	ADDQ(stride, q)
	DECQ(c)
	JNZ(LabelRef("column"))
	for k := range acc {
		for j, r := range acc[k] {
			VMOVUPD(r, Mem{Base: to, Disp: k*tileBytes64 + j*v.bytes()})
		}
	}
	ADDQ(U32(4*tileBytes64), to)
	ADDQ(Imm(32), from)
	DECQ(groups)
	JNZ(LabelRef("group"))
	ADDQ(U32(vectors*v.bytes()), dst)
	ADDQ(U32(vectors*v.bytes()), x)
	SUBQ(Imm(uint64(vectors*v.lanes/2)), lanes)
	JG(LabelRef("lanes"))
	end()
}

// premetric64 writes the addition of the square of a premetric of one column to a tile, with u = |x - s|.
func premetric64(v isa) {
	begin("pairPremetricSquare64"+v.suffix, "func(dst, x, s *float64, n int, c *[3]float64)",
		"adds to a tile of n sources s and 64 points x the square of min(c0 u, c1 - c2 u), u = |x - s|.")
	dst, x, s := argument("dst"), argument("x"), argument("s")
	n, p := argument("n"), argument("c")
	var c [3]VecVirtual
	for i := range c {
		c[i] = v.virtual()
		v.broadcast64(Mem{Base: p, Disp: 8 * i}, c[i])
	}
	zero := v.virtual()
	v.zero(zero)
	Label("source")
	b := v.virtual()
	v.broadcast64(Mem{Base: s}, b)
	for j := 0; j < tileBytes64; j += v.bytes() {
		u, m, t := v.virtual(), v.virtual(), v.virtual()
		VSUBPD(Mem{Base: x, Disp: j}, b, u)
		VSUBPD(u, zero, m)
		VMAXPD(u, m, u) // |u|
		VMOVAPD(c[1], t)
		VFNMADD231PD(u, c[2], t)
		VMULPD(u, c[0], u)
		VMINPD(u, t, t)
		to := v.virtual()
		VMOVUPD(Mem{Base: dst, Disp: j}, to)
		VFMADD231PD(t, t, to)
		VMOVUPD(to, Mem{Base: dst, Disp: j})
	}
	ADDQ(U32(tileBytes64), dst)
	ADDQ(Imm(8), s)
	DECQ(n)
	JNZ(LabelRef("source"))
	end()
}

// folds64 writes a loop over the n rows of tiles with an accumulator for each lane. A step may jump to next, the label
// at its end.
func folds64(v isa, name, doc string, arrays string, step func(at func(string) Mem, acc VecVirtual, next string)) {
	begin(name+v.suffix, "func(lanes, "+arrays+" *float64, n int)", doc+" of n rows of 64 lanes, lane by lane.")
	for first := 0; first < tileBytes64; first += 4 * v.bytes() { // 4 vectors at a time
		label := "loop" + hex(uint32(first))
		pointers := pointersTo(arrays)
		n, lanes := argument("n"), argument("lanes")
		var acc [4]VecVirtual
		for j := range acc {
			acc[j] = v.virtual()
			VMOVUPD(Mem{Base: lanes, Disp: first + j*v.bytes()}, acc[j])
		}
		Label(label)
		for j, r := range acc {
			next := label + "next" + hex(uint32(j))
			step(func(a string) Mem { return Mem{Base: pointers[a], Disp: first + j*v.bytes()} }, r, next)
			Label(next)
		}
		for a := range strings.SplitSeq(arrays, ", ") {
			ADDQ(U32(tileBytes64), pointers[a])
		}
		DECQ(n)
		JNZ(LabelRef(label))
		for j, r := range acc {
			VMOVUPD(r, Mem{Base: lanes, Disp: first + j*v.bytes()})
		}
	}
	end()
}
