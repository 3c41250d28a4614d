package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// channels writes the functions on rows of 16 channels; see kernel.ChannelSums.
func channels(v isa) {
	channelSums(v, "channelSquares", "adds to sums over rows of d = x - shift and of d^2", "func(sum, square, x, shift *float32, rows, stride int)", "square", false)
	channelSums(v, "channelProducts", "adds to sums over rows of u and of u (x - shift)", "func(sum, product, u, x, shift *float32, rows, stride int)", "product", true)

	TEXT("channelMap"+v.suffix, NOSPLIT, "func(dst, x, shift, scale, offset *float32, rows, stride int, floor float32)")
	Pragma("noescape")
	Doc("channelMap" + v.suffix + " computes dst = max(scale (x - shift) + offset, floor) in rows of 16 channels, at least one.")
	shift, scale, offset := v.channels("shift"), v.channels("scale"), v.channels("offset")
	f, floor := XMM(), v.virtual()
	Load(Param("floor"), f)
	VBROADCASTSS(f, floor)
	v.rows([]string{"dst", "x"}, func(at func(string, int) Mem) {
		for j := range shift {
			r := v.virtual()
			VMOVUPS(at("x", j), r)
			VSUBPS(shift[j], r, r)
			VFMADD213PS(offset[j], scale[j], r)
			VMAXPS(r, floor, r) // NaN stays NaN
			VMOVUPS(r, at("dst", j))
		}
	})
	VZEROUPPER()
	RET()

	TEXT("channelGradient"+v.suffix, NOSPLIT, "func(dst, u, x, shift, a, b, offset *float32, rows, stride int)")
	Pragma("noescape")
	Doc("channelGradient" + v.suffix + " computes dst = a u + b (x - shift) + offset in rows of 16 channels, at least one.")
	shift, a, b, offset := v.channels("shift"), v.channels("a"), v.channels("b"), v.channels("offset")
	v.rows([]string{"dst", "u", "x"}, func(at func(string, int) Mem) {
		for j := range shift {
			r := v.virtual()
			VMOVUPS(at("x", j), r)
			VSUBPS(shift[j], r, r)
			VFMADD213PS(offset[j], b[j], r)
			VFMADD231PS(at("u", j), a[j], r)
			VMOVUPS(r, at("dst", j))
		}
	})
	VZEROUPPER()
	RET()
}

// channelSums writes sums of u, or of d = x - shift, and of its products with d.
func channelSums(v isa, name, doc, signature, product string, other bool) {
	TEXT(name+v.suffix, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + v.suffix + " " + doc + " in rows of 16 channels, at least one.")
	sum, products, shift := v.channels("sum"), v.channels(product), v.channels("shift")
	arrays := []string{"x"}
	if other {
		arrays = append(arrays, "u")
	}
	v.rows(arrays, func(at func(string, int) Mem) {
		for j := range shift {
			d := v.virtual()
			VMOVUPS(at("x", j), d)
			VSUBPS(shift[j], d, d)
			u := d
			if other {
				u = v.virtual()
				VMOVUPS(at("u", j), u)
			}
			VADDPS(u, sum[j], sum[j])
			VFMADD231PS(u, d, products[j])
		}
	})
	v.store("sum", sum)
	v.store(product, products)
	VZEROUPPER()
	RET()
}

// channels loads the 16 elements at a parameter's address.
func (v isa) channels(parameter string) (list []VecVirtual) {
	from := Load(Param(parameter), GP64())
	for j := 0; j < 16; j += v.lanes {
		r := v.virtual()
		VMOVUPS(Mem{Base: from, Disp: 4 * j}, r)
		list = append(list, r)
	}
	return list
}

// store writes vectors to where a parameter points.
func (v isa) store(parameter string, list []VecVirtual) {
	to := Load(Param(parameter), GP64())
	for j, r := range list {
		VMOVUPS(r, Mem{Base: to, Disp: j * v.bytes()})
	}
}

// rows writes a loop over rows of arrays. at gives vector j of an array's row.
func (v isa) rows(arrays []string, body func(at func(array string, j int) Mem)) {
	pointers := map[string]Register{}
	for _, a := range arrays {
		pointers[a] = Load(Param(a), GP64())
	}
	rows, stride := Load(Param("rows"), GP64()), Load(Param("stride"), GP64())
	SHLQ(Imm(2), stride)
	at, end := GP64(), GP64()
	XORQ(at, at)
	MOVQ(rows, end)
	IMULQ(stride, end)
	Label("row")
	body(func(array string, j int) Mem {
		return Mem{Base: pointers[array], Index: at, Scale: 1, Disp: j * v.bytes()}
	})
	ADDQ(stride, at)
	CMPQ(at, end)
	JL(LabelRef("row"))
}
