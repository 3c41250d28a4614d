package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mixture writes the functions about densities of mixtures; see kernel.LogDensities.
func mixture(v isa) {
	squares(v, true)
	rows(v, "pairSumExp", "adds e^(x - shift)", "x", ", shift", true, func(at func(string) Mem, acc VecVirtual) {
		VADDPS(shiftedExp(v, at), acc, acc)
	})
	rows(v, "pairScaledExp", "computes x = factor e^(x - shift)", "x", ", shift, factor", false, func(at func(string) Mem, _ VecVirtual) {
		r := shiftedExp(v, at)
		VMULPS(at("factor"), r, r)
		VMOVUPS(r, at("x"))
	})
	sumRows(v)
	moments(v)
	kernels(v)
}

func shiftedExp(v isa, at func(string) Mem) VecVirtual {
	x := v.virtual()
	VMOVUPS(at("x"), x)
	VSUBPS(at("shift"), x, x)
	return exp(v, x)
}

// sumRows writes the row sums of a tile.
func sumRows(v isa) {
	begin("pairSumRows"+v.suffix, "func(sums, x *float32, n int)", "adds to n sums those of the n rows of 64 lanes of x.")
	sums, x, n := argument("sums"), argument("x"), argument("n")
	Label("row")
	acc := v.virtual()
	VMOVUPS(Mem{Base: x}, acc)
	for j := v.bytes(); j < tileBytes; j += v.bytes() {
		VADDPS(Mem{Base: x, Disp: j}, acc, acc)
	}
	addTotal(v, acc, Mem{Base: sums})
	ADDQ(U32(tileBytes), x)
	ADDQ(Imm(4), sums)
	DECQ(n)
	JNZ(LabelRef("row"))
	end()
}

// addTotal adds the sum of a register's lanes to a number.
func addTotal(v isa, r VecVirtual, to Mem) {
	y := r.AsY()
	if v.lanes == 16 {
		upper := YMM()
		VEXTRACTF64X4(Imm(1), r, upper)
		VADDPS(upper, y, y)
	}
	x, half := r.AsX(), XMM()
	if v.lanes > 4 {
		VEXTRACTF128(Imm(1), y, half)
		VADDPS(half, x, x)
	}
	VMOVHLPS(x, x, half)
	VADDPS(half, x, x)
	VMOVSHDUP(x, half)
	VADDSS(half, x, x)
	VADDSS(to, x, x)
	VMOVSS(x, to)
}

// moments writes the terms of a mixture's gradient in one column.
func moments(v isa) {
	begin("pairMoments"+v.suffix, "func(dx, x, mean, precision, first, second, w *float32, n int)",
		"computes, with q = mean - x for n sources and 64 lanes x, dx += sum_k precision w q, first += sum_lanes w q, second += sum_lanes w q^2.")
	dx, x := argument("dx"), argument("x")
	mean, precision := argument("mean"), argument("precision")
	first, second := argument("first"), argument("second")
	w, n := argument("w"), argument("n")
	var to []VecVirtual
	for j := 0; j < tileBytes; j += v.bytes() {
		r := v.virtual()
		VMOVUPS(Mem{Base: dx, Disp: j}, r)
		to = append(to, r)
	}
	i := GP64()
	XORQ(i, i)
	Label("source")
	m, p, s1, s2 := v.virtual(), v.virtual(), v.virtual(), v.virtual()
	VBROADCASTSS(Mem{Base: mean, Index: i, Scale: 4}, m)
	VBROADCASTSS(Mem{Base: precision, Index: i, Scale: 4}, p)
	v.zero(s1)
	v.zero(s2)
	for j, r := range to {
		q, a := v.virtual(), v.virtual()
		VSUBPS(Mem{Base: x, Disp: j * v.bytes()}, m, q)
		VMULPS(Mem{Base: w, Disp: j * v.bytes()}, q, a)
		VFMADD231PS(p, a, r)
		VADDPS(a, s1, s1)
		VFMADD231PS(q, a, s2)
	}
	addTotal(v, s1, Mem{Base: first, Index: i, Scale: 4})
	addTotal(v, s2, Mem{Base: second, Index: i, Scale: 4})
	ADDQ(U32(tileBytes), w)
	INCQ(i)
	CMPQ(i, n)
	JL(LabelRef("source"))
	for j, r := range to {
		VMOVUPS(r, Mem{Base: dx, Disp: j * v.bytes()})
	}
	end()
}

// kernels writes the functions of kernel matrices of all pairs of points.
func kernels(v isa) {
	var a VecVirtual
	withNumbers(v, "pairGaussian", "x = e^(-a x)", "x", ", a float32", func() {
		x, zero := XMM(), v.virtual()
		a = v.virtual()
		Load(Param("a"), x)
		VBROADCASTSS(x, a)
		v.zero(zero)
		VSUBPS(a, zero, a)
	}, func(at func(string) Mem) {
		x := v.virtual()
		VMULPS(at("x"), a, x)
		VMOVUPS(exp(v, x), at("x"))
	})
	folds(v, "pairSum", "adds x", "x", func(at func(string) Mem, acc VecVirtual) { VADDPS(at("x"), acc, acc) })
	folds(v, "pairSumProducts", "adds x y", "x, y", func(at func(string) Mem, acc VecVirtual) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VFMADD231PS(at("y"), r, acc)
	})

	begin("pairCentred"+v.suffix, "func(dst, x, y, lanes, sources *float32, n int, a float32)",
		"computes dst = x (a y - lane - source) for tiles of n sources.")
	dst, x, y := argument("dst"), argument("x"), argument("y")
	lanes, sources, n := argument("lanes"), argument("sources"), argument("n")
	factor := v.broadcast("a")
	Label("source")
	s := v.virtual()
	VBROADCASTSS(Mem{Base: sources}, s)
	for j := 0; j < tileBytes; j += v.bytes() {
		r, t := v.virtual(), v.virtual()
		VADDPS(Mem{Base: lanes, Disp: j}, s, r)
		VMOVUPS(Mem{Base: y, Disp: j}, t)
		VFMSUB213PS(r, factor, t)
		VMULPS(Mem{Base: x, Disp: j}, t, t)
		VMOVUPS(t, Mem{Base: dst, Disp: j})
	}
	for _, p := range []Register{dst, x, y} {
		ADDQ(U32(tileBytes), p)
	}
	ADDQ(Imm(4), sources)
	DECQ(n)
	JNZ(LabelRef("source"))
	end()
}
