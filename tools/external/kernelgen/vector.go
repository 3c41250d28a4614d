package main

import (
	"strings"

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
		function(v, f.name, f.doc, "dst, x", func(at func(string) Mem) {
			x := v.virtual()
			VMOVUPS(at("x"), x)
			VMOVUPS(f.emit(v, x), at("dst"))
		})
	}
	function(v, "reluGrad", "dst = dy where y > 0, else 0", "dst, dy, y", func(at func(string) Mem) {
		r := v.virtual()
		VMOVUPS(at("dy"), r)
		VMOVUPS(selectPositive(v, at("y"), r, nil), at("dst"))
	})
	function(v, "leakyGrad", "dst = dy where y > 0, else 0.2 dy", "dst, dy, y", func(at func(string) Mem) {
		r, s := v.virtual(), v.virtual()
		VMOVUPS(at("dy"), r)
		VMULPS(constant(0.2), r, s)
		VMOVUPS(selectPositive(v, at("y"), r, s), at("dst"))
	})
	function(v, "sigmoidGrad", "dst = dy y (1-y)", "dst, dy, y", func(at func(string) Mem) {
		y, r := v.virtual(), v.virtual()
		VMOVUPS(at("y"), y)
		VMOVUPS(constant(1), r)
		VSUBPS(y, r, r)
		VMULPS(y, r, r)
		VMULPS(at("dy"), r, r)
		VMOVUPS(r, at("dst"))
	})
	function(v, "tanhGrad", "dst = dy (1-y^2)", "dst, dy, y", func(at func(string) Mem) {
		y, r := v.virtual(), v.virtual()
		VMOVUPS(at("y"), y)
		VMOVUPS(constant(1), r)
		VFNMADD231PS(y, y, r)
		VMULPS(at("dy"), r, r)
		VMOVUPS(r, at("dst"))
	})
	function(v, "add", "dst += x", "dst, x", func(at func(string) Mem) {
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

// begin starts a function. Its comment is its name and doc. For AVX, the comment is above the exported function that
// calls it.
func begin(name, signature, doc string, more ...string) {
	start(name, signature)
	if !strings.Contains(name, "AVX") {
		Doc(append([]string{name + " " + doc}, more...)...)
	}
}

func start(name, signature string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
}

// end returns from a function.
func end() {
	VZEROUPPER()
	RET()
}

// argument loads a parameter.
func argument(name string) Register { return Load(Param(name), GP64()) }

// parameter returns the address of a parameter.
func parameter(name string) Mem {
	m, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return m.Addr
}

// pointersTo loads the addresses of arrays such as "x, y".
func pointersTo(arrays string) map[string]Register {
	pointers := map[string]Register{}
	for a := range strings.SplitSeq(arrays, ", ") {
		pointers[a] = argument(a)
	}
	return pointers
}

// function writes a loop over arrays such as "dst, x", one vector at a time. at returns the current vector of an array.
func function(v isa, name, doc, arrays string, body func(at func(string) Mem)) {
	withNumbers(v, name, doc, arrays, "", func() {}, body)
}

// withNumber is [function] with a parameter a, in all lanes.
func withNumber(v isa, name, doc, arrays string, body func(at func(string) Mem, a VecVirtual)) {
	var a VecVirtual
	withNumbers(v, name, doc, arrays, ", a float32", func() { a = v.broadcast("a") }, func(at func(string) Mem) { body(at, a) })
}

// withNumbers is [function] with more parameters, which before loads.
func withNumbers(v isa, name, doc, arrays, numbers string, before func(), body func(at func(string) Mem)) {
	begin(name+v.suffix, "func("+arrays+" *float32, n int"+numbers+")", "computes "+doc+" for n elements, n a multiple of 16.")
	loop(v, arrays, before, body)
	end()
}

// loop writes a loop over n elements of arrays. before runs once.
func loop(v isa, arrays string, before func(), body func(at func(string) Mem)) {
	pointers := pointersTo(arrays)
	n := argument("n")
	before()
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
	withNumber(v, "axpy", "dst += a x", "dst, x", func(at func(string) Mem, a VecVirtual) {
		r := v.virtual()
		VMOVUPS(at("dst"), r)
		VFMADD231PS(at("x"), a, r)
		VMOVUPS(r, at("dst"))
	})
	withNumber(v, "scale", "dst = a x", "dst, x", func(at func(string) Mem, a VecVirtual) {
		r := v.virtual()
		VMULPS(at("x"), a, r)
		VMOVUPS(r, at("dst"))
	})
}

// columnSum writes the addition of the sums of 16 columns to dst.
func columnSum(v isa) {
	begin("columnSum"+v.suffix, "func(dst, src *float32, rows, stride int)",
		"adds to dst[0:16] the sums of 16 columns over rows that are stride elements apart.")
	dst, src := argument("dst"), argument("src")
	rows, stride := argument("rows"), argument("stride")
	SHLQ(Imm(2), stride)
	acc := v.vectors(dst, 16)
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
	end()
}

// reductions writes sum, sum of squares and dot product: 16 partial sums into acc, lane by lane.
func reductions(v isa) {
	lanes(v, "sum", "adds x to the 16 partial sums acc", "x", func(at func(string) Mem, acc VecVirtual) { VADDPS(at("x"), acc, acc) })
	lanes(v, "sumSquares", "adds x^2 to the 16 partial sums acc", "x", func(at func(string) Mem, acc VecVirtual) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VFMADD231PS(r, r, acc)
	})
	lanes(v, "dot", "adds x y to the 16 partial sums acc", "x, y", func(at func(string) Mem, acc VecVirtual) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VFMADD231PS(at("y"), r, acc)
	})
}

// lanes writes a loop with 16 partial sums: element i of the arrays goes to sum i mod 16.
func lanes(v isa, name, doc, arrays string, step func(at func(string) Mem, acc VecVirtual)) {
	begin(name+v.suffix, "func(acc, "+arrays+" *float32, n int)",
		doc+", element i to sum i mod 16; n is a multiple of 16.")
	sums := argument("acc")
	acc := v.vectors(sums, 16)
	pointers := pointersTo(arrays)
	n := argument("n")
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
	end()
}

// losses writes the fused sums of the reconstruction terms.
func losses(v isa) {
	lanes(v, "squaredError", "adds (x - y)^2 to the 16 partial sums acc", "x, y",
		func(at func(string) Mem, acc VecVirtual) {
			r := v.virtual()
			VMOVUPS(at("x"), r)
			VSUBPS(at("y"), r, r)
			VFMADD231PS(r, r, acc)
		})
	lanes(v, "sigmoidError", "adds (sigmoid(l) - x)^2 to the 16 partial sums acc and stores the sigmoid in s", "s, l, x",
		func(at func(string) Mem, acc VecVirtual) {
			l := v.virtual()
			VMOVUPS(at("l"), l)
			s := sigmoid(v, l)
			VMOVUPS(s, at("s"))
			d := v.virtual()
			VSUBPS(at("x"), s, d)
			VFMADD231PS(d, d, acc)
		})
	lanes(v, "logisticError", "adds softplus(l) - x l to the 16 partial sums acc", "l, x",
		func(at func(string) Mem, acc VecVirtual) {
			l, kept := v.virtual(), v.virtual()
			VMOVUPS(at("l"), l)
			VMOVAPS(l, kept)
			s := softplus(v, l)
			VFNMADD231PS(at("x"), kept, s)
			VADDPS(s, acc, acc)
		})
	withNumber(v, "sigmoidErrorGrad", "dst = a (s - x) s (1 - s)", "dst, s, x", func(at func(string) Mem, a VecVirtual) {
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
	withNumber(v, "logisticErrorGrad", "dst = a (sigmoid(l) - x)", "dst, l, x", func(at func(string) Mem, a VecVirtual) {
		l := v.virtual()
		VMOVUPS(at("l"), l)
		s := sigmoid(v, l)
		VSUBPS(at("x"), s, s)
		VMULPS(a, s, s)
		VMOVUPS(s, at("dst"))
	})
}

// adam writes the fused update of a parameter and its two moments.
func adam(v isa) {
	begin("adam"+v.suffix, "func(p, m, v, grad *float32, n int, c *[8]float32)",
		"updates n parameters, n a multiple of 16; c holds the constants, see Adam.")
	k := make([]VecVirtual, 7)
	loop(v, "p, m, v, grad", func() {
		c := argument("c")
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
	end()
}
