package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// channels writes the functions on rows of 16 and 32 channels; see kernel.ChannelSums. Sums of 32 channels take as long
// as sums of 16, because each row waits for the sums of the previous row.
func channels(v isa) {
	for _, n := range []int{16, 32} {
		channelSums(v, n, "channelSquares", "adds to sums over rows of d = x - shift and of d^2", "func(sum, square, x, shift *float32, rows, stride int)", "square", false)
		channelSums(v, n, "channelProducts", "adds to sums over rows of u and of u (x - shift)", "func(sum, product, u, x, shift *float32, rows, stride int)", "product", true)
		channelMap(v, n)
	}
	channelGradient(v)
}

// channelMap writes max(scale (x - shift) + offset, floor) for n channels.
func channelMap(v isa, n int) {
	name := fmt.Sprint("channelMap", n, v.suffix)
	begin(name, "func(dst, x, shift, scale, offset *float32, rows, stride int, floor float32)",
		fmt.Sprintf("computes dst = max(scale (x - shift) + offset, floor) in rows of %d channels, at least one.", n))
	shift, scale, offset := v.channels("shift", n), v.channels("scale", n), v.channels("offset", n)
	floor := v.broadcast("floor")
	v.rows("dst, x", func(at func(string, int) Mem) {
		for j := range shift {
			r := v.virtual()
			VMOVUPS(at("x", j), r)
			VSUBPS(shift[j], r, r)
			VFMADD213PS(offset[j], scale[j], r)
			VMAXPS(r, floor, r) // NaN stays NaN
			VMOVUPS(r, at("dst", j))
		}
	})
	end()
}

// channelGradient writes a u + b (x - shift) + offset for 16 channels.
func channelGradient(v isa) {
	begin("channelGradient"+v.suffix, "func(dst, u, x, shift, a, b, offset *float32, rows, stride int)",
		"computes dst = a u + b (x - shift) + offset in rows of 16 channels, at least one.")
	shift, a, b, offset := v.channels("shift", 16), v.channels("a", 16), v.channels("b", 16), v.channels("offset", 16)
	v.rows("dst, u, x", func(at func(string, int) Mem) {
		for j := range shift {
			r := v.virtual()
			VMOVUPS(at("x", j), r)
			VSUBPS(shift[j], r, r)
			VFMADD213PS(offset[j], b[j], r)
			VFMADD231PS(at("u", j), a[j], r)
			VMOVUPS(r, at("dst", j))
		}
	})
	end()
}

// channelSums writes sums of u, or of d = x - shift, and of its products with d.
func channelSums(v isa, n int, name, doc, signature, product string, other bool) {
	begin(fmt.Sprint(name, n, v.suffix), signature, fmt.Sprintf("%s in rows of %d channels, at least one.", doc, n))
	sum, products, shift := v.channels("sum", n), v.channels(product, n), v.channels("shift", n)
	arrays := "x"
	if other {
		arrays = "x, u"
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
	end()
}

// channels loads the n elements at a parameter's address.
func (v isa) channels(parameter string, n int) []VecVirtual { return v.vectors(argument(parameter), n) }

// vectors loads n elements.
func (v isa) vectors(from Register, n int) (list []VecVirtual) {
	for j := 0; j < n; j += v.lanes {
		r := v.virtual()
		VMOVUPS(Mem{Base: from, Disp: 4 * j}, r)
		list = append(list, r)
	}
	return list
}

// store writes vectors to the address in a parameter.
func (v isa) store(parameter string, list []VecVirtual) {
	to := argument(parameter)
	for j, r := range list {
		VMOVUPS(r, Mem{Base: to, Disp: j * v.bytes()})
	}
}

// rows writes a loop over rows of arrays. at returns vector j of an array's row.
func (v isa) rows(arrays string, body func(at func(array string, j int) Mem)) {
	pointers := pointersTo(arrays)
	rows, stride := argument("rows"), argument("stride")
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
