package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// activations writes the activations that layers do not fuse, their gradients, and the functions for pooling and
// dropout. All lengths are multiples of 16.
func activations(v isa) {
	for _, f := range []struct {
		name, doc string
		emit      func(v isa, x VecVirtual) VecVirtual
	}{
		{"relu", "dst = 0 where x < 0, else x", relu},
		{"leaky", "dst = 0.2 x where x < 0, else x", leaky},
		{"elu", "dst = x where x > 0, else e^x - 1", elu},
		{"gelu", "dst = x Phi(x)", gelu},
		{"silu", "dst = x/(1+e^-x)", silu},
	} {
		function(v, f.name, f.doc, "dst, x", func(at func(string) Mem) {
			x := v.virtual()
			VMOVUPS(at("x"), x)
			VMOVUPS(f.emit(v, x), at("dst"))
		})
	}
	function(v, "eluGrad", "dst = dy where y > 0, else dy (y+1)", "dst, dy, y", func(at func(string) Mem) {
		r, s := v.virtual(), v.virtual()
		VMOVUPS(at("dy"), r)
		VMOVUPS(at("y"), s)
		VADDPS(constant(1), s, s)
		VMULPS(r, s, s)
		VMOVUPS(selectPositive(v, at("y"), r, s), at("dst"))
	})
	for _, f := range []struct {
		name, doc string
		emit      func(v isa, x VecVirtual) VecVirtual
	}{
		{"geluGrad", "dst = dy (Phi(x) + x phi(x))", geluSlope},
		{"siluGrad", "dst = dy s (1 + x (1-s)), s = 1/(1+e^-x)", siluSlope},
	} {
		function(v, f.name, f.doc, "dst, dy, x", func(at func(string) Mem) {
			x := v.virtual()
			VMOVUPS(at("x"), x)
			r := f.emit(v, x)
			VMULPS(at("dy"), r, r)
			VMOVUPS(r, at("dst"))
		})
	}
	function(v, "multiply", "dst = x y", "dst, x, y", func(at func(string) Mem) {
		r := v.virtual()
		VMOVUPS(at("x"), r)
		VMULPS(at("y"), r, r)
		VMOVUPS(r, at("dst"))
	})
	var a, b VecVirtual
	withNumbers(v, "mix", "dst = a x + b y", "dst, x, y", ", a, b float32",
		func() { a, b = v.broadcast("a"), v.broadcast("b") }, func(at func(string) Mem) {
			r, s := v.virtual(), v.virtual()
			VMULPS(at("x"), a, r)
			VMULPS(at("y"), b, s) // no FMA, because Go computes the remaining elements of an array without it
			VADDPS(s, r, r)
			VMOVUPS(r, at("dst"))
		})
	function(v, "largest", "dst = max(dst, x), NaN if one of them is", "dst, x", func(at func(string) Mem) {
		a, b := v.virtual(), v.virtual()
		VMOVUPS(at("dst"), a)
		VMOVUPS(at("x"), b)
		c := v.virtual()
		VMAXPS(a, b, c) // the maximum of NaN and a number is the last operand
		VMAXPS(b, a, b)
		v.or(b, c, c)
		VMOVUPS(c, at("dst"))
	})
	function(v, "claim", "dst += left, left = 0 where x = y", "dst, left, x, y", func(at func(string) Mem) {
		x, left, taken := v.virtual(), v.virtual(), v.virtual()
		VMOVUPS(at("x"), x)
		VMOVUPS(at("left"), left)
		if v.lanes == 16 {
			k := K()
			VCMPPS(Imm(0), at("y"), x, k)
			VMOVAPS_Z(left, k, taken)
		} else {
			VCMPPS(Imm(0), at("y"), x, taken)
			VANDPS(left, taken, taken)
		}
		VSUBPS(taken, left, left)
		VADDPS(at("dst"), taken, taken)
		VMOVUPS(taken, at("dst"))
		VMOVUPS(left, at("left"))
	})
}

// broadcast loads a parameter into all lanes.
func (v isa) broadcast(parameter string) VecVirtual {
	x, a := XMM(), v.virtual()
	Load(Param(parameter), x)
	VBROADCASTSS(x, a)
	return a
}

// relu keeps -0 and NaN.
func relu(v isa, x VecVirtual) VecVirtual {
	zero := v.virtual()
	v.zero(zero)
	return v.blendLess(x, zero, zero, x)
}

func leaky(v isa, x VecVirtual) VecVirtual {
	zero, small := v.virtual(), v.virtual()
	v.zero(zero)
	VMULPS(constant(0.2), x, small)
	return v.blendLess(x, zero, small, x)
}

// elu is 2 t/(1-t) at t = tanh(x/2) below zero, which does not cancel.
func elu(v isa, x VecVirtual) VecVirtual {
	half, rest := v.virtual(), v.virtual()
	VMULPS(constant(0.5), x, half)
	t := tanh(v, half)
	VMOVUPS(constant(1), rest)
	VSUBPS(t, rest, rest)
	VADDPS(t, t, t)
	VDIVPS(rest, t, t)
	zero := v.virtual()
	v.zero(zero)
	return v.blendLess(zero, x, x, t)
}

// normalTail returns z = min(|x|, 14.5), e = e^(-z^2/2), and P with Q(z) = e P, where Q(z) is the probability that a
// standard normal variable exceeds z. P is t p(t) at t = 1/(1 + 0.35 z), with a polynomial p fitted to a relative error
// of 3e-8.
func normalTail(v isa, x VecVirtual) (z, e, p VecVirtual) {
	z, t, limit := v.virtual(), v.virtual(), v.virtual()
	v.and(0x7fffffff, x, z)
	VMOVUPS(constant(14.5), limit)
	VMINPS(z, limit, z) // z second: NaN stays
	one := v.virtual()
	VMOVUPS(constant(1), one)
	VMOVAPS(one, t)
	VFMADD231PS(constant(0.35), z, t)
	VDIVPS(t, one, t)
	p = polynomial(v, t, normalTailCoefficients...)
	VMULPS(t, p, p)
	// e^(h + l) = e^h (1 + l): h is -z^2/2 rounded, and l is the rounding error
	half, h, l := v.virtual(), v.virtual(), v.virtual()
	VMULPS(constant(-0.5), z, half)
	VMULPS(z, half, h)
	VMOVAPS(h, l)
	VFMSUB231PS(z, half, l) // z half - h
	e = exp(v, h)
	VFMADD231PS(l, e, e)
	return z, e, p
}

// gelu is max(x, 0) - z Q(z): exact at infinities, and without cancellation below zero.
func gelu(v isa, x VecVirtual) VecVirtual {
	z, e, p := normalTail(v, x)
	zero, y := v.virtual(), v.virtual()
	v.zero(zero)
	VMAXPS(x, zero, y) // x second: NaN stays
	VMULPS(z, p, p)
	VFNMADD231PS(e, p, y)
	return y
}

// geluSlope is 1 + d above zero and -d below, d = z phi(z) - Q(z).
func geluSlope(v isa, x VecVirtual) VecVirtual {
	z, e, p := normalTail(v, x)
	VFMSUB132PS(constant(0.3989422804014327), p, z) // z/sqrt(2 pi) - P
	VMULPS(e, z, z)
	zero, above, below := v.virtual(), v.virtual(), v.virtual()
	v.zero(zero)
	VADDPS(constant(1), z, above)
	VSUBPS(z, zero, below)
	return v.blendLess(x, zero, below, above)
}

// silu bounds x, so that -Inf is never multiplied by a sigmoid of 0.
func silu(v isa, x VecVirtual) VecVirtual {
	bounded := v.virtual()
	VMOVUPS(constant(-104), bounded)
	VMAXPS(x, bounded, bounded) // x second: NaN stays
	s := sigmoid(v, x)
	VMULPS(bounded, s, s)
	return s
}

func siluSlope(v isa, x VecVirtual) VecVirtual {
	bounded, high, rest := v.virtual(), v.virtual(), v.virtual()
	VMOVUPS(constant(-104), bounded)
	VMAXPS(x, bounded, bounded)
	VMOVUPS(constant(104), high)
	VMINPS(bounded, high, bounded)
	s := sigmoid(v, x)
	VMOVUPS(constant(1), rest)
	VSUBPS(s, rest, rest)
	VMULPS(rest, bounded, bounded)
	VADDPS(constant(1), bounded, bounded)
	VMULPS(bounded, s, s)
	return s
}

var normalTailCoefficients = []float32{-0.029146058752554056, 0.14397230458563257, -0.2557154636883247, 0.1591754827303711, -0.02311069830233256,
	0.105508346416135, 0.11983278757784543, 0.13986187970038075, 0.13962140378591284}
