package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// tileBytes is the distance of two rows of a tile of pairs: kernel.PairLanes numbers.
const tileBytes = 4 * 64

// pairs writes the functions on tiles of pairs of points; see kernel.Points.
func pairs(v isa) {
	squares(v, false)
	weighted(v)
	premetric(v, "Sum", "min(c0 u, c1 - c2 u)", func(t, to VecVirtual) { VADDPS(t, to, to) })
	premetric(v, "Square", "the square of min(c0 u, c1 - c2 u)", func(t, to VecVirtual) { VFMADD231PS(t, t, to) })
	function(v, "pairRoots", "x = sqrt x", "x", func(at func(string) Mem) {
		r, _ := roots(v, at("x"), false)
		VMOVUPS(r, at("x"))
	})
	function(v, "pairInverseRoots", "x = 1/sqrt x where x > 0, else 0", "x", func(at func(string) Mem) {
		_, r := roots(v, at("x"), true)
		VMOVUPS(r, at("x"))
	})
	folds(v, "pairSumRoots", "adds square roots", "x", func(at func(string) Mem, acc VecVirtual) {
		r, _ := roots(v, at("x"), false)
		VADDPS(r, acc, acc)
	})
	folds(v, "pairMax", "takes maxima", "x", func(at func(string) Mem, acc VecVirtual) {
		VMAXPS(at("x"), acc, acc)
	})
	hinges(v)
}

// squares writes squared distances of groups of 4 sources and a tile's lanes. For a density, it writes a constant of
// the source minus the weighted squares.
func squares(v isa, density bool) {
	if density {
		begin("pairDensities"+v.suffix, "func(dst, x, s *float32, columns, stride, groups, lanes int, h, constant *float32)",
			"computes constant - sum_columns h (x - s)^2 of groups of 4 sources s and points x, lanes a multiple of 64.")
	} else {
		begin("pairSquares"+v.suffix, "func(dst, x, s *float32, columns, stride, groups, lanes int)",
			"computes squared distances of groups of 4 sources s and points x, lanes a multiple of 32.")
	}
	q := squareLoops{
		isa: v, density: density,
		dst: argument("dst"), x: argument("x"), s: argument("s"),
		stride: argument("stride"), lanes: argument("lanes"),
	}
	SHLQ(Imm(2), q.stride)
	Label("lanes")
	if v.lanes == 8 {
		q.emit(2, "wide")
		return
	}
	if !density {
		CMPQ(q.lanes, Imm(64))
		JL(LabelRef("narrow"))
	}
	q.emit(4, "wide")
	if !density {
		Label("narrow")
		q.emit(2, "narrow")
	}
}

// squareLoops holds the registers of squares.
type squareLoops struct {
	isa
	density                  bool
	dst, x, s, stride, lanes Register
}

// emit writes the loops over groups of sources for n vectors of lanes, up to the end of the function.
func (v squareLoops) emit(n int, label string) {
	groups, to, from := GP64(), GP64(), GP64()
	MOVQ(NewParamAddr("groups", 40), groups)
	MOVQ(v.dst, to)
	XORQ(from, from)
	Label(label + "group")
	p, q, weight := GP64(), GP64(), GP64()
	acc := v.start(n, q, from)
	MOVQ(v.x, p)
	LEAQ(Mem{Base: v.s, Index: from, Scale: 1}, q)
	if v.density {
		MOVQ(NewParamAddr("h", 56), weight)
		ADDQ(from, weight)
	}
	v.columns(acc, p, q, weight, label)
	for k := range acc {
		for j, r := range acc[k] {
			VMOVUPS(r, Mem{Base: to, Disp: k*tileBytes + j*v.bytes()})
		}
	}
	ADDQ(U32(4*tileBytes), to)
	ADDQ(Imm(16), from)
	DECQ(groups)
	JNZ(LabelRef(label + "group"))
	ADDQ(U32(n*v.bytes()), v.dst)
	ADDQ(U32(n*v.bytes()), v.x)
	SUBQ(Imm(uint64(n*v.isa.lanes)), v.lanes)
	JG(LabelRef("lanes"))
	end()
}

// start returns the accumulators of 4 sources. They begin at 0, or at the sources' constants.
func (v squareLoops) start(n int, q, from Register) (acc [4][]VecVirtual) {
	if v.density {
		MOVQ(NewParamAddr("constant", 64), q)
	}
	for k := range acc {
		for range n {
			r := v.virtual()
			if v.density {
				VBROADCASTSS(Mem{Base: q, Index: from, Scale: 1, Disp: 4 * k}, r)
			} else {
				v.zero(r)
			}
			acc[k] = append(acc[k], r)
		}
	}
	return acc
}

// columns writes the loop over columns: p walks over points, q and weight over sources.
func (v squareLoops) columns(acc [4][]VecVirtual, p, q, weight Register, label string) {
	c := GP64()
	MOVQ(NewParamAddr("columns", 24), c)
	Label(label + "column")
	var a []VecVirtual
	for j := range acc[0] {
		r := v.virtual()
		VMOVUPS(Mem{Base: p, Disp: j * v.bytes()}, r)
		a = append(a, r)
	}
	for k := range acc {
		b, h := v.virtual(), v.virtual()
		VBROADCASTSS(Mem{Base: q, Disp: 4 * k}, b)
		if v.density {
			VBROADCASTSS(Mem{Base: weight, Disp: 4 * k}, h)
		}
		for j, sum := range acc[k] {
			d := v.virtual()
			VSUBPS(b, a[j], d)
			if v.density {
				VMULPS(d, d, d)
				VFNMADD231PS(h, d, sum)
			} else {
				VFMADD231PS(d, d, sum)
			}
		}
	}
	ADDQ(v.stride, p)
	ADDQ(v.stride, q)
	if v.density {
		ADDQ(v.stride, weight)
	}
	DECQ(c)
	JNZ(LabelRef(label + "column"))
}

// weighted writes the weighted sums of differences, 4 columns at a time.
func weighted(v isa) {
	begin("pairWeighted"+v.suffix, "func(dst, x, s, w *float32, columns, stride, n, lanes int)",
		"adds to dst the sums over n sources s of w (x - s), lanes a multiple of 32.")
	l := weightedLoops{
		isa: v,
		g:   argument("dst"), x: argument("x"), s: argument("s"), w: argument("w"),
		stride: argument("stride"), stride3: GP64(),
		columns: argument("columns"),
	}
	SHLQ(Imm(2), l.stride)
	LEAQ(Mem{Base: l.stride, Index: l.stride, Scale: 2}, l.stride3)
	Label("columns")
	CMPQ(l.columns, Imm(4))
	JL(LabelRef("rest"))
	l.emit(4, "four")
	JMP(LabelRef("columns"))
	Label("rest")
	CMPQ(l.columns, Imm(0))
	JE(LabelRef("done"))
	l.emit(1, "one")
	JMP(LabelRef("rest"))
	Label("done")
	end()
}

// weightedLoops holds the registers of weighted.
type weightedLoops struct {
	isa
	g, x, s, w, stride, stride3, columns Register
}

// at returns vector j of column c, relative to p.
func (v weightedLoops) at(p Register, c, j int) Mem {
	m := Mem{Base: p, Disp: j * v.bytes()}
	switch c {
	case 1, 2:
		m.Index, m.Scale = v.stride, uint8(c)
	case 3:
		m.Index, m.Scale = v.stride3, 1
	}
	return m
}

// emit writes the loops for n columns, two vectors of lanes at a time.
func (v weightedLoops) emit(n int, label string) {
	lane := GP64() // bytes
	XORQ(lane, lane)
	Label(label + "lanes")
	a, to := GP64(), GP64()
	LEAQ(Mem{Base: v.x, Index: lane, Scale: 1}, a)
	LEAQ(Mem{Base: v.g, Index: lane, Scale: 1}, to)
	acc, points := make([][2]VecVirtual, n), make([][2]Op, n)
	for c := range n {
		for j := range 2 {
			acc[c][j] = v.virtual()
			VMOVUPS(v.at(to, c, j), acc[c][j])
			points[c][j] = v.at(a, c, j)
			if v.lanes == 16 {
				r := v.virtual()
				VMOVUPS(points[c][j], r)
				points[c][j] = r
			}
		}
	}
	v.sources(acc, points, lane, label)
	for c := range n {
		for j := range 2 {
			VMOVUPS(acc[c][j], v.at(to, c, j))
		}
	}
	ADDQ(U32(2*v.bytes()), lane)
	end := GP64()
	MOVQ(NewParamAddr("lanes", 56), end)
	SHLQ(Imm(2), end)
	CMPQ(lane, end)
	JL(LabelRef(label + "lanes"))
	for _, p := range []Register{v.g, v.x, v.s} {
		if n == 1 {
			ADDQ(v.stride, p)
		} else {
			LEAQ(Mem{Base: p, Index: v.stride, Scale: 4}, p)
		}
	}
	SUBQ(Imm(uint64(n)), v.columns)
}

// sources writes the loop over sources.
func (v weightedLoops) sources(acc [][2]VecVirtual, points [][2]Op, lane Register, label string) {
	weight, from, k := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: v.w, Index: lane, Scale: 1}, weight)
	MOVQ(v.s, from)
	MOVQ(NewParamAddr("n", 48), k)
	Label(label + "source")
	var factor [2]VecVirtual
	for j := range factor {
		factor[j] = v.virtual()
		VMOVUPS(Mem{Base: weight, Disp: j * v.bytes()}, factor[j])
	}
	for c := range acc {
		b := v.virtual()
		VBROADCASTSS(v.at(from, c, 0), b)
		for j := range factor {
			d := v.virtual()
			VSUBPS(points[c][j], b, d)
			VFNMADD231PS(d, factor[j], acc[c][j])
		}
	}
	ADDQ(U32(tileBytes), weight)
	ADDQ(Imm(4), from)
	DECQ(k)
	JNZ(LabelRef(label + "source"))
}

// premetric writes the addition of a premetric of one column to a tile, with u = |x - s|.
func premetric(v isa, name, doc string, add func(t, to VecVirtual)) {
	begin("pairPremetric"+name+v.suffix, "func(dst, x, s *float32, n int, c *[3]float32)",
		"adds to a tile of n sources s and 64 points x "+doc+", u = |x - s|.")
	dst, x, s := argument("dst"), argument("x"), argument("s")
	n, p := argument("n"), argument("c")
	var c [3]VecVirtual
	for i := range c {
		c[i] = v.virtual()
		VBROADCASTSS(Mem{Base: p, Disp: 4 * i}, c[i])
	}
	Label("source")
	b := v.virtual()
	VBROADCASTSS(Mem{Base: s}, b)
	for j := 0; j < tileBytes; j += v.bytes() {
		u, t, to := v.virtual(), v.virtual(), v.virtual()
		VSUBPS(Mem{Base: x, Disp: j}, b, u)
		v.and(0x7fffffff, u, u)
		VMOVAPS(c[1], t)
		VFNMADD231PS(u, c[2], t)
		VMULPS(u, c[0], u)
		VMINPS(u, t, t)
		VMOVUPS(Mem{Base: dst, Disp: j}, to)
		add(t, to)
		VMOVUPS(to, Mem{Base: dst, Disp: j})
	}
	ADDQ(U32(tileBytes), dst)
	ADDQ(Imm(4), s)
	DECQ(n)
	JNZ(LabelRef("source"))
	end()
}
