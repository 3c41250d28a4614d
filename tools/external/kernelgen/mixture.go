package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// mixture writes the functions about densities of mixtures; see kernel.LogDensities.
func mixture(v isa) {
	squares(v, true)
	rows(v, "pairSumExp", "adds e^(x - shift)", []string{"x"}, []string{"shift"}, true, func(at func(string) Mem, acc VecVirtual) {
		VADDPS(shiftedExp(v, at), acc, acc)
	})
	rows(v, "pairScaledExp", "computes x = factor e^(x - shift)", []string{"x"}, []string{"shift", "factor"}, false, func(at func(string) Mem, _ VecVirtual) {
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
	TEXT("pairSumRows"+v.suffix, NOSPLIT, "func(sums, x *float32, n int)")
	Pragma("noescape")
	Doc("pairSumRows" + v.suffix + " adds to n sums those of the n rows of 64 lanes of x.")
	sums, x, n := Load(Param("sums"), GP64()), Load(Param("x"), GP64()), Load(Param("n"), GP64())
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
	VZEROUPPER()
	RET()
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
	TEXT("pairMoments"+v.suffix, NOSPLIT, "func(dx, x, mean, precision, first, second, w *float32, n int)")
	Pragma("noescape")
	Doc("pairMoments" + v.suffix + " computes, with q = mean - x for n sources and 64 lanes x, dx += sum_k precision w q, first += sum_lanes w q, second += sum_lanes w q^2.")
	dx, x := Load(Param("dx"), GP64()), Load(Param("x"), GP64())
	mean, precision := Load(Param("mean"), GP64()), Load(Param("precision"), GP64())
	first, second := Load(Param("first"), GP64()), Load(Param("second"), GP64())
	w, n := Load(Param("w"), GP64()), Load(Param("n"), GP64())
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
	VZEROUPPER()
	RET()
}

// kernels writes the functions of kernel matrices of all pairs of points.
func kernels(v isa) {
	TEXT("pairGaussian"+v.suffix, NOSPLIT, "func(x *float32, n int, a float32)")
	Pragma("noescape")
	Doc("pairGaussian" + v.suffix + " computes x = e^(-a x) for n elements, n a multiple of 16.")
	var a VecVirtual
	loop(v, []string{"x"}, func() {
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
	VZEROUPPER()
	RET()

	folds(v, "pairSum", "adds x", []string{"x"}, func(at func(string) Mem, acc VecVirtual) { VADDPS(at("x"), acc, acc) })
	folds(v, "pairSumProducts", "adds x y", []string{"x", "y"}, func(at func(string) Mem, acc VecVirtual) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VFMADD231PS(at("y"), r, acc)
	})

	TEXT("pairCentred"+v.suffix, NOSPLIT, "func(dst, x, y, lanes, sources *float32, n int, a float32)")
	Pragma("noescape")
	Doc("pairCentred" + v.suffix + " computes dst = x (a y - lane - source) for tiles of n sources.")
	dst, x, y := Load(Param("dst"), GP64()), Load(Param("x"), GP64()), Load(Param("y"), GP64())
	lanes, sources, n := Load(Param("lanes"), GP64()), Load(Param("sources"), GP64()), Load(Param("n"), GP64())
	factor, scalar := v.virtual(), XMM()
	Load(Param("a"), scalar)
	VBROADCASTSS(scalar, factor)
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
	VZEROUPPER()
	RET()
}
