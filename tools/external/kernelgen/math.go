package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The polynomials below come from the Cephes library (S. Moshier, single precision: expf, logf, tanhf).

// polynomial evaluates c[0] x^k + ... + c[k] with Horner's method.
func polynomial(v isa, x VecVirtual, c ...float32) VecVirtual {
	r := v.virtual()
	VMOVUPS(constant(c[0]), r)
	for _, a := range c[1:] {
		VFMADD213PS(constant(a), x, r)
	}
	return r
}

func (v isa) round(x, r VecVirtual) {
	if v.lanes == 16 {
		VRNDSCALEPS(Imm(0), x, r)
	} else {
		VROUNDPS(Imm(0), x, r)
	}
}

// and computes r = x & bits, for the absolute value and the sign bit.
func (v isa) and(bits uint32, x, r VecVirtual) {
	if v.lanes == 16 {
		VPANDD(constantBits(bits), x, r)
	} else {
		VANDPS(constantBits(bits), x, r)
	}
}

func (v isa) or(a, b, r VecVirtual) {
	if v.lanes == 16 {
		VPORD(a, b, r)
	} else {
		VORPS(a, b, r)
	}
}

// blendLess returns yes where a < b and no elsewhere.
func (v isa) blendLess(a VecVirtual, b Op, yes, no VecVirtual) VecVirtual {
	r := v.virtual()
	if v.lanes == 16 {
		k := K()
		VCMPPS(Imm(17), b, a, k)
		VMOVAPS(no, r)
		VMOVAPS(yes, k, r)
		return r
	}
	mask := v.virtual()
	VCMPPS(Imm(17), b, a, mask)
	VBLENDVPS(mask, yes, no, r)
	return r
}

// exp overwrites x.
func exp(v isa, x VecVirtual) VecVirtual {
	low, high, n := v.virtual(), v.virtual(), v.virtual()
	VMOVUPS(constant(-104), low)
	VMOVUPS(constant(89), high)
	VMAXPS(x, low, x) // x second: NaN stays
	VMINPS(x, high, x)
	VMULPS(constant(1.44269504088896341), x, n)
	v.round(n, n)
	VFNMADD231PS(constant(0.693359375), n, x)
	VFNMADD231PS(constant(-2.12194440e-4), n, x)
	p := polynomial(v, x, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	square := v.virtual()
	VMULPS(x, x, square)
	VFMADD213PS(x, square, p)
	VADDPS(constant(1), p, p)
	if v.lanes == 16 {
		VSCALEFPS(n, p, p)
		return p
	}
	// compute 2^n as two factors, because n may exceed the range of the exponent
	whole, half := v.virtual(), v.virtual()
	VCVTPS2DQ(n, whole)
	VPSRAD(Imm(1), whole, half)
	VPSUBD(half, whole, whole)
	for _, e := range []VecVirtual{half, whole} {
		VPADDD(constantBits(127), e, e)
		VPSLLD(Imm(23), e, e)
		VMULPS(e, p, p)
	}
	return p
}

// log overwrites x.
func log(v isa, x VecVirtual) VecVirtual {
	m, e := v.virtual(), v.virtual()
	one := v.virtual()
	VMOVUPS(constant(1), one)
	var kept VecVirtual
	if v.lanes == 16 {
		VGETMANTPS(Imm(0b1000), x, m) // [1, 2), NaN for negative numbers
		VGETEXPPS(x, e)
		k := K()
		VCMPPS(Imm(30), constant(math.Sqrt2), m, k) // m > sqrt 2: halve it
		VMULPS(constant(0.5), m, k, m)
		VADDPS(one, e, k, e)
	} else {
		kept = v.virtual()
		VMOVAPS(x, kept)
		// scale subnormal numbers by 2^23
		big, shift, zero, mask := v.virtual(), v.virtual(), v.virtual(), v.virtual()
		VMULPS(constant(8388608), x, big)
		VCMPPS(Imm(17), constant(1.17549435e-38), x, mask)
		VBLENDVPS(mask, big, x, x)
		VXORPS(zero, zero, zero)
		VMOVUPS(constant(23), shift)
		VBLENDVPS(mask, shift, zero, shift)
		VPSUBD(constantBits(0x3f3504f3), x, e)
		VPSRAD(Imm(23), e, e)
		VPSLLD(Imm(23), e, m)
		VPSUBD(m, x, m)
		VCVTDQ2PS(e, e)
		VSUBPS(shift, e, e)
	}
	f, square, y := v.virtual(), v.virtual(), v.virtual()
	VSUBPS(one, m, f)
	VMULPS(f, f, square)
	p := polynomial(v, f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
	VMULPS(f, square, y)
	VMULPS(p, y, y)
	VFMADD231PS(constant(-2.12194440e-4), e, y)
	VFNMADD231PS(constant(0.5), square, y)
	VADDPS(f, y, y)
	VFMADD231PS(constant(0.693359375), e, y)
	if v.lanes == 16 {
		return special512(x, y)
	}
	mask, special := v.virtual(), v.virtual()
	for _, s := range []struct {
		predicate uint64
		limit     float32
		bits      uint32
	}{{0, 0, 0xff800000}, {17, 0, 0x7fc00000}} { // ln 0 = -Inf, ln of a negative number is NaN
		VMOVUPS(constantBits(s.bits), special)
		VCMPPS(Imm(s.predicate), constant(s.limit), kept, mask)
		VBLENDVPS(mask, special, y, y)
	}
	// keep Inf and NaN
	VCMPPS(Imm(6), constant(3.4028234e38), kept, mask) // not <=
	VADDPS(kept, kept, special)
	VBLENDVPS(mask, special, y, y)
	return y
}

// special512 keeps +Inf. Its mantissa is 1 and its exponent infinite, but the low part of ln 2 is negative.
func special512(x, y VecVirtual) VecVirtual {
	k := K()
	VCMPPS(Imm(0), constantBits(0x7f800000), x, k)
	VMOVUPS(constantBits(0x7f800000), k, y)
	k0 := K()
	VCMPPS(Imm(0), constant(0), x, k0)
	VMOVUPS(constantBits(0xff800000), k0, y)
	return y
}

func tanh(v isa, x VecVirtual) VecVirtual {
	size, sign := v.virtual(), v.virtual()
	v.and(0x7fffffff, x, size)
	v.and(0x80000000, x, sign)
	square := v.virtual()
	VMULPS(x, x, square)
	p := polynomial(v, square, -5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)
	VMULPS(square, p, p)
	VFMADD213PS(x, x, p) // x + x z P(z)
	double := v.virtual()
	VADDPS(size, size, double)
	e := exp(v, double)
	VADDPS(constant(1), e, e)
	big := v.virtual()
	VMOVUPS(constant(2), big)
	VDIVPS(e, big, big)
	one := v.virtual()
	VMOVUPS(constant(1), one)
	VSUBPS(big, one, big)
	v.or(sign, big, big)
	limit := v.virtual()
	VMOVUPS(constant(0.625), limit)
	return v.blendLess(size, limit, p, big)
}

func sigmoid(v isa, x VecVirtual) VecVirtual {
	n, r := v.virtual(), v.virtual()
	v.zero(n)
	VSUBPS(x, n, n)
	e := exp(v, n)
	VADDPS(constant(1), e, e)
	VMOVUPS(constant(1), r)
	VDIVPS(e, r, r)
	return r
}

// softplus is max(x, 0) + ln(1+u) with u = e^-|x|; ln(1+u) = ln(w) u/(w-1) at w = 1+u rounded.
func softplus(v isa, x VecVirtual) VecVirtual {
	top, zero, size := v.virtual(), v.virtual(), v.virtual()
	v.zero(zero)
	VMAXPS(x, zero, top)
	if v.lanes == 16 {
		VPORD(constantBits(0x80000000), x, size)
	} else {
		VORPS(constantBits(0x80000000), x, size)
	}
	u := exp(v, size)
	w, d, l := v.virtual(), v.virtual(), v.virtual()
	VADDPS(constant(1), u, w)
	VSUBPS(constant(1), w, d)
	VMOVAPS(w, l)
	l = log(v, l)
	VMULPS(u, l, l)
	VDIVPS(d, l, l)
	tiny := v.virtual()
	VMOVUPS(constant(1e-30), tiny)
	r := v.blendLess(d, tiny, u, l)
	VADDPS(top, r, r)
	return r
}
