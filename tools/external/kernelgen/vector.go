package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vectors writes the functions over arrays. Every length is a multiple of 16.
func vectors(v isa) {
	for _, f := range []struct {
		name, doc string
		emit      func(v isa, x VecVirtual) VecVirtual
	}{
		{"exp", "dst = e^x", exp},
		{"log", "dst = ln x", log},
		{"tanh", "dst = tanh x", tanh},
		{"sigmoid", "dst = 1/(1+e^-x)", sigmoid},
		{"softplus", "dst = ln(1+e^x)", softplus},
	} {
		function(v, f.name, f.doc, "func(dst, x *float32, n int)", []string{"dst", "x"}, func(at func(string) Mem) {
			x := v.virtual()
			VMOVUPS(at("x"), x)
			VMOVUPS(f.emit(v, x), at("dst"))
		})
	}
	function(v, "reluGrad", "dst = dy where y > 0, else 0", "func(dst, dy, y *float32, n int)", []string{"dst", "dy", "y"}, func(at func(string) Mem) {
		r := v.virtual()
		VMOVUPS(at("dy"), r)
		VMOVUPS(selectPositive(v, at("y"), r, nil), at("dst"))
	})
	function(v, "leakyGrad", "dst = dy where y > 0, else 0.2 dy", "func(dst, dy, y *float32, n int)", []string{"dst", "dy", "y"}, func(at func(string) Mem) {
		r, s := v.virtual(), v.virtual()
		VMOVUPS(at("dy"), r)
		VMULPS(constant(0.2), r, s)
		VMOVUPS(selectPositive(v, at("y"), r, s), at("dst"))
	})
	function(v, "sigmoidGrad", "dst = dy y (1-y)", "func(dst, dy, y *float32, n int)", []string{"dst", "dy", "y"}, func(at func(string) Mem) {
		y, r := v.virtual(), v.virtual()
		VMOVUPS(at("y"), y)
		VMOVUPS(constant(1), r)
		VSUBPS(y, r, r)
		VMULPS(y, r, r)
		VMULPS(at("dy"), r, r)
		VMOVUPS(r, at("dst"))
	})
	function(v, "tanhGrad", "dst = dy (1-y^2)", "func(dst, dy, y *float32, n int)", []string{"dst", "dy", "y"}, func(at func(string) Mem) {
		y, r := v.virtual(), v.virtual()
		VMOVUPS(at("y"), y)
		VMOVUPS(constant(1), r)
		VFNMADD231PS(y, y, r)
		VMULPS(at("dy"), r, r)
		VMOVUPS(r, at("dst"))
	})
	function(v, "add", "dst += x", "func(dst, x *float32, n int)", []string{"dst", "x"}, func(at func(string) Mem) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VADDPS(at("dst"), r, r)
		VMOVUPS(r, at("dst"))
	})
	scaled(v)
	columnSum(v)
	reductions(v)
	losses(v)
	adam(v)
	transpose(v)
}

// function writes a loop over arrays, one vector at a time. at returns the current vector of an array.
func function(v isa, name, doc, signature string, arrays []string, body func(at func(string) Mem)) {
	TEXT(name+v.suffix, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + v.suffix + " computes " + doc + " for n elements, n a multiple of 16.")
	loop(v, arrays, nil, body)
	VZEROUPPER()
	RET()
}

// loop writes a loop over n elements of arrays. before runs once.
func loop(v isa, arrays []string, before func(), body func(at func(string) Mem)) {
	pointers := map[string]Register{}
	for _, a := range arrays {
		pointers[a] = Load(Param(a), GP64())
	}
	n := Load(Param("n"), GP64())
	if before != nil {
		before()
	}
	i := GP64()
	XORQ(i, i)
	CMPQ(n, Imm(0))
	JE(LabelRef("done"))
	Label("loop")
	body(func(a string) Mem { return Mem{Base: pointers[a], Index: i, Scale: 4} })
	ADDQ(Imm(uint64(v.lanes)), i)
	CMPQ(i, n)
	JL(LabelRef("loop"))
	Label("done")
}

// selectPositive returns yes where y > 0 and no (zero if nil) elsewhere.
func selectPositive(v isa, y Op, yes, no VecVirtual) VecVirtual {
	zero, r := v.virtual(), v.virtual()
	v.zero(zero)
	if v.lanes == 16 {
		k := K()
		VCMPPS(Imm(17), y, zero, k) // 0 < y, quiet
		if no == nil {
			VMOVAPS_Z(yes, k, r)
			return r
		}
		VMOVAPS(no, r)
		VMOVAPS(yes, k, r)
		return r
	}
	mask := v.virtual()
	VCMPPS(Imm(17), y, zero, mask)
	if no == nil {
		VANDPS(yes, mask, r)
		return r
	}
	VBLENDVPS(mask, yes, no, r)
	return r
}

// scaled writes dst += a x and dst *= a.
func scaled(v isa) {
	broadcast := func(p string) VecVirtual {
		x, a := XMM(), v.virtual()
		Load(Param(p), x)
		VBROADCASTSS(x, a)
		return a
	}
	TEXT("axpy"+v.suffix, NOSPLIT, "func(dst, x *float32, n int, a float32)")
	Pragma("noescape")
	Doc("axpy" + v.suffix + " computes dst += a x for n elements, n a multiple of 16.")
	var a VecVirtual
	loop(v, []string{"dst", "x"}, func() { a = broadcast("a") }, func(at func(string) Mem) {
		r := v.virtual()
		VMOVUPS(at("dst"), r)
		VFMADD231PS(at("x"), a, r)
		VMOVUPS(r, at("dst"))
	})
	VZEROUPPER()
	RET()

	TEXT("scale"+v.suffix, NOSPLIT, "func(dst, x *float32, n int, a float32)")
	Pragma("noescape")
	Doc("scale" + v.suffix + " computes dst = a x for n elements, n a multiple of 16.")
	loop(v, []string{"dst", "x"}, func() { a = broadcast("a") }, func(at func(string) Mem) {
		r := v.virtual()
		VMULPS(at("x"), a, r)
		VMOVUPS(r, at("dst"))
	})
	VZEROUPPER()
	RET()
}

// columnSum writes the addition of the sums of 16 columns to dst.
func columnSum(v isa) {
	TEXT("columnSum"+v.suffix, NOSPLIT, "func(dst, src *float32, rows, stride int)")
	Pragma("noescape")
	Doc("columnSum" + v.suffix + " adds to dst[0:16] the sums of 16 columns over rows that are stride elements apart.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	rows, stride := Load(Param("rows"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(2), stride)
	var acc []VecVirtual
	for j := 0; j < 16; j += v.lanes {
		r := v.virtual()
		VMOVUPS(Mem{Base: dst, Disp: 4 * j}, r)
		acc = append(acc, r)
	}
	CMPQ(rows, Imm(0))
	JE(LabelRef("done"))
	Label("loop")
	for j, r := range acc {
		VADDPS(Mem{Base: src, Disp: j * v.bytes()}, r, r)
	}
	ADDQ(stride, src)
	DECQ(rows)
	JNZ(LabelRef("loop"))
	Label("done")
	for j, r := range acc {
		VMOVUPS(r, Mem{Base: dst, Disp: j * v.bytes()})
	}
	VZEROUPPER()
	RET()
}

// reductions writes sum, sum of squares and dot product: 16 partial sums into acc, lane by lane.
func reductions(v isa) {
	for _, f := range []struct {
		name, doc string
		arrays    []string
		step      func(at func(string) Mem, acc VecVirtual)
	}{
		{"sum", "x", []string{"x"}, func(at func(string) Mem, acc VecVirtual) { VADDPS(at("x"), acc, acc) }},
		{"sumSquares", "x^2", []string{"x"}, func(at func(string) Mem, acc VecVirtual) {
			r := v.virtual()
			VMOVUPS(at("x"), r)
			VFMADD231PS(r, r, acc)
		}},
		{"dot", "x y", []string{"x", "y"}, func(at func(string) Mem, acc VecVirtual) {
			r := v.virtual()
			VMOVUPS(at("x"), r)
			VFMADD231PS(at("y"), r, acc)
		}},
	} {
		signature := "func(acc, x *float32, n int)"
		if len(f.arrays) == 2 {
			signature = "func(acc, x, y *float32, n int)"
		}
		lanes(v, f.name, "adds "+f.doc+" to the 16 partial sums acc", signature, f.arrays, f.step)
	}
}

// lanes writes a loop with 16 partial sums: element i of the arrays goes to sum i mod 16.
func lanes(v isa, name, doc, signature string, arrays []string, step func(at func(string) Mem, acc VecVirtual)) {
	TEXT(name+v.suffix, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + v.suffix + " " + doc + ", element i to sum i mod 16; n is a multiple of 16.")
	sums := Load(Param("acc"), GP64())
	var acc []VecVirtual
	for j := 0; j < 16; j += v.lanes {
		r := v.virtual()
		VMOVUPS(Mem{Base: sums, Disp: 4 * j}, r)
		acc = append(acc, r)
	}
	pointers := map[string]Register{}
	for _, a := range arrays {
		pointers[a] = Load(Param(a), GP64())
	}
	n := Load(Param("n"), GP64())
	i := GP64()
	XORQ(i, i)
	CMPQ(n, Imm(0))
	JE(LabelRef("done"))
	Label("loop")
	for j, r := range acc {
		step(func(a string) Mem {
			return Mem{Base: pointers[a], Index: i, Scale: 4, Disp: j * v.bytes()}
		}, r)
	}
	ADDQ(Imm(16), i)
	CMPQ(i, n)
	JL(LabelRef("loop"))
	Label("done")
	for j, r := range acc {
		VMOVUPS(r, Mem{Base: sums, Disp: j * v.bytes()})
	}
	VZEROUPPER()
	RET()
}

// losses writes the fused sums of the reconstruction terms.
func losses(v isa) {
	lanes(v, "squaredError", "adds (x - y)^2 to the 16 partial sums acc", "func(acc, x, y *float32, n int)", []string{"x", "y"},
		func(at func(string) Mem, acc VecVirtual) {
			r := v.virtual()
			VMOVUPS(at("x"), r)
			VSUBPS(at("y"), r, r)
			VFMADD231PS(r, r, acc)
		})
	lanes(v, "sigmoidError", "adds (sigmoid(l) - x)^2 to the 16 partial sums acc and stores the sigmoid in s",
		"func(acc, s, l, x *float32, n int)", []string{"s", "l", "x"},
		func(at func(string) Mem, acc VecVirtual) {
			l := v.virtual()
			VMOVUPS(at("l"), l)
			s := sigmoid(v, l)
			VMOVUPS(s, at("s"))
			d := v.virtual()
			VSUBPS(at("x"), s, d)
			VFMADD231PS(d, d, acc)
		})
	lanes(v, "logisticError", "adds softplus(l) - x l to the 16 partial sums acc", "func(acc, l, x *float32, n int)", []string{"l", "x"},
		func(at func(string) Mem, acc VecVirtual) {
			l, kept := v.virtual(), v.virtual()
			VMOVUPS(at("l"), l)
			VMOVAPS(l, kept)
			s := softplus(v, l)
			VFNMADD231PS(at("x"), kept, s)
			VADDPS(s, acc, acc)
		})
	broadcast := func(p string) VecVirtual {
		x, a := XMM(), v.virtual()
		Load(Param(p), x)
		VBROADCASTSS(x, a)
		return a
	}
	var a VecVirtual
	TEXT("sigmoidErrorGrad"+v.suffix, NOSPLIT, "func(dst, s, x *float32, n int, a float32)")
	Pragma("noescape")
	Doc("sigmoidErrorGrad" + v.suffix + " computes dst = a (s - x) s (1 - s) for n elements, n a multiple of 16.")
	loop(v, []string{"dst", "s", "x"}, func() { a = broadcast("a") }, func(at func(string) Mem) {
		s, d, q := v.virtual(), v.virtual(), v.virtual()
		VMOVUPS(at("s"), s)
		VSUBPS(at("x"), s, d)
		VMOVUPS(constant(1), q)
		VSUBPS(s, q, q)
		VMULPS(s, q, q)
		VMULPS(a, d, d)
		VMULPS(q, d, d)
		VMOVUPS(d, at("dst"))
	})
	VZEROUPPER()
	RET()

	TEXT("logisticErrorGrad"+v.suffix, NOSPLIT, "func(dst, l, x *float32, n int, a float32)")
	Pragma("noescape")
	Doc("logisticErrorGrad" + v.suffix + " computes dst = a (sigmoid(l) - x) for n elements, n a multiple of 16.")
	loop(v, []string{"dst", "l", "x"}, func() { a = broadcast("a") }, func(at func(string) Mem) {
		l := v.virtual()
		VMOVUPS(at("l"), l)
		s := sigmoid(v, l)
		VSUBPS(at("x"), s, s)
		VMULPS(a, s, s)
		VMOVUPS(s, at("dst"))
	})
	VZEROUPPER()
	RET()
}

// adam writes the fused update of a parameter and its two moments.
func adam(v isa) {
	TEXT("adam"+v.suffix, NOSPLIT, "func(p, m, v, grad *float32, n int, c *[8]float32)")
	Pragma("noescape")
	Doc("adam" + v.suffix + " updates n parameters, n a multiple of 16; c holds the constants, see Adam.")
	k := make([]VecVirtual, 7)
	loop(v, []string{"p", "m", "v", "grad"}, func() {
		c := Load(Param("c"), GP64())
		for i := range k {
			k[i] = v.virtual()
			VBROADCASTSS(Mem{Base: c, Disp: 4 * i}, k[i])
		}
	}, func(at func(string) Mem) {
		g, m, s, r := v.virtual(), v.virtual(), v.virtual(), v.virtual()
		VMULPS(at("grad"), k[6], g) // clipping
		VMULPS(at("m"), k[0], m)    // beta1 m + (1-beta1) g
		VFMADD231PS(g, k[1], m)
		VMOVUPS(m, at("m"))
		VMULPS(at("v"), k[2], s) // beta2 v + (1-beta2) g^2
		VMULPS(g, g, r)
		VFMADD231PS(r, k[3], s)
		VMOVUPS(s, at("v"))
		VSQRTPS(s, s)
		VADDPS(k[5], s, s)
		VMULPS(m, k[4], r)
		VDIVPS(s, r, r)
		VMOVUPS(at("p"), g)
		VSUBPS(r, g, g)
		VMOVUPS(g, at("p"))
	})
	VZEROUPPER()
	RET()
}
