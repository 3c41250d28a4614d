package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// winograd writes the transforms of F(2x2, 2x2): each works on n channels, a
// multiple of 16, of count tiles.
func winograd(v isa) {
	grid(v, "expand9", "transforms 3x3 inputs d: B'dB with rows (d0-d1, d1, d1-d2)",
		func(src func(r, s int) Mem, dst func(i int) Mem) {
			d := loadGrid(v, 3, src)
			for s := range 3 {
				VSUBPS(d[1][s], d[0][s], d[0][s])
				VSUBPS(d[2][s], d[1][s], d[2][s])
			}
			for u := range 3 {
				VSUBPS(d[u][1], d[u][0], d[u][0])
				VSUBPS(d[u][2], d[u][1], d[u][2])
				for w := range 3 {
					VMOVUPS(d[u][w], dst(3*u+w))
				}
			}
		})
	grid(v, "expand4", "transforms 2x2 filters g: GgG' with rows (g0, g0+g1, g1)",
		func(src func(r, s int) Mem, dst func(i int) Mem) {
			g := loadGrid(v, 2, src)
			middle := []VecVirtual{v.virtual(), v.virtual()}
			for s := range 2 {
				VADDPS(g[1][s], g[0][s], middle[s])
			}
			for u, row := range [][]VecVirtual{g[0], middle, g[1]} {
				sum := v.virtual()
				VADDPS(row[1], row[0], sum)
				VMOVUPS(row[0], dst(3*u))
				VMOVUPS(sum, dst(3*u+1))
				VMOVUPS(row[1], dst(3*u+2))
			}
		})
	contract(v)
}

// loadGrid loads an n by n grid.
func loadGrid(v isa, n int, src func(r, s int) Mem) [][]VecVirtual {
	d := make([][]VecVirtual, n)
	for r := range d {
		for s := range n {
			x := v.virtual()
			VMOVUPS(src(r, s), x)
			d[r] = append(d[r], x)
		}
	}
	return d
}

// grid writes a function that reads a grid of src for each tile and writes 9 values.
func grid(v isa, name, doc string, body func(src func(r, s int) Mem, dst func(i int) Mem)) {
	begin(name+v.suffix, "func(dst, src *float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int)",
		doc+", for n channels of count tiles.")
	dst, src := argument("dst"), argument("src")
	stride := argument("dstStride")
	row, col := argument("srcRow"), argument("srcCol")
	for _, r := range []Register{stride, row, col} {
		SHLQ(Imm(2), r)
	}
	Label("tile")
	p, q := GP64(), GP64()
	MOVQ(src, p)
	MOVQ(dst, q)
	i := GP64()
	MOVQ(NewParamAddr("n", 16), i)
	Label("channel")
	at, to := GP64(), GP64()
	MOVQ(p, at)
	MOVQ(q, to)
	r := 0
	body(func(y, s int) Mem {
		for ; r < y; r++ {
			ADDQ(row, at)
		}
		switch s {
		case 0:
			return Mem{Base: at}
		case 1:
			return Mem{Base: at, Index: col, Scale: 1}
		}
		return Mem{Base: at, Index: col, Scale: 2}
	}, func(k int) Mem {
		m := Mem{Base: to}
		if k > 0 {
			ADDQ(stride, to)
		}
		return m
	})
	ADDQ(Imm(uint64(v.bytes())), p)
	ADDQ(Imm(uint64(v.bytes())), q)
	SUBQ(Imm(uint64(v.lanes)), i)
	JG(LabelRef("channel"))
	step := GP64()
	MOVQ(NewParamAddr("dstStep", 56), step)
	LEAQ(Mem{Base: dst, Index: step, Scale: 4}, dst)
	MOVQ(NewParamAddr("srcStep", 64), step)
	LEAQ(Mem{Base: src, Index: step, Scale: 4}, src)
	DECQ(NewParamAddr("count", 48))
	JNZ(LabelRef("tile"))
	end()
}

// contract writes the transform of 9 products to 2x2 outputs, plus bias, with a minimum of floor.
func contract(v isa) {
	begin("contract9"+v.suffix, "func(dst, src, bias *float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32)",
		"transforms 3x3 products m to 2x2 outputs: A'mA with rows (m0+m1, m1-m2), adds the bias and takes the maximum with floor, for n channels of count tiles.")
	dst, src := argument("dst"), argument("src")
	bias := argument("bias")
	stride := argument("srcStride")
	row, col := argument("dstRow"), argument("dstCol")
	for _, r := range []Register{stride, row, col} {
		SHLQ(Imm(2), r)
	}
	floor := v.broadcast("floor")
	Label("tile")
	i := GP64()
	XORQ(i, i)
	Label("channel")
	at := GP64()
	LEAQ(Mem{Base: src, Index: i, Scale: 4}, at)
	var sums [2][3]VecVirtual
	m := func() VecVirtual {
		r := v.virtual()
		VMOVUPS(Mem{Base: at}, r)
		ADDQ(stride, at)
		return r
	}
	for s := range 3 {
		sums[0][s] = m()
	}
	for s := range 3 {
		r := m()
		sums[1][s] = r
		VADDPS(r, sums[0][s], sums[0][s])
	}
	for s := range 3 {
		VSUBPS(m(), sums[1][s], sums[1][s])
	}
	b := v.virtual()
	VMOVUPS(Mem{Base: bias, Index: i, Scale: 4}, b)
	to := GP64()
	LEAQ(Mem{Base: dst, Index: i, Scale: 4}, to)
	for a := range 2 {
		VADDPS(sums[a][1], sums[a][0], sums[a][0])
		VSUBPS(sums[a][2], sums[a][1], sums[a][1])
		for c := range 2 {
			VADDPS(b, sums[a][c], sums[a][c])
			VMAXPS(sums[a][c], floor, sums[a][c]) // this order keeps NaN
		}
		VMOVUPS(sums[a][0], Mem{Base: to})
		VMOVUPS(sums[a][1], Mem{Base: to, Index: col, Scale: 1})
		if a == 0 {
			ADDQ(row, to)
		}
	}
	ADDQ(Imm(uint64(v.lanes)), i)
	CMPQ(i, NewParamAddr("n", 24))
	JL(LabelRef("channel"))
	step := GP64()
	MOVQ(NewParamAddr("dstStep", 64), step)
	LEAQ(Mem{Base: dst, Index: step, Scale: 4}, dst)
	MOVQ(NewParamAddr("srcStep", 72), step)
	LEAQ(Mem{Base: src, Index: step, Scale: 4}, src)
	DECQ(NewParamAddr("count", 56))
	JNZ(LabelRef("tile"))
	end()
}
