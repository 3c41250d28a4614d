package main

import (
	"maps"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The transforms of F(4x4, 3x3) and F(3x3, 4x4) with the points 0, a, -a, b, -b and infinity; internal/kernel
// has their formulas.
const (
	pointA, pointB = 0.625, 1.5
	squareA        = pointA * pointA
	squareB        = pointB * pointB
)

// term is a coefficient times a value of a transform. The value is an input or, numbered after the inputs, a shared sum
// of the group.
type term struct {
	coefficient float64
	value       int
}

type sum []term

// group computes some results of a one-dimensional transform from shared sums.
type group struct {
	shared []sum
	at     []int // the results' places
	result []sum
}

// tileTransform applies a one-dimensional transform, from in to out values, to columns and rows.
type tileTransform struct {
	name, doc string
	in, out   int
	groups    []group
	bias      bool // adds a bias and takes the maximum with floor
}

func filterScale(p, q float64) float64 { return 1 / (2 * p * (p - q)) }

// winograd3 writes the transforms of tiles.
func winograd3(v isa) {
	const a, b = squareA, squareB
	both := func(p float64) group { // inputs at points p and -p
		q := a + b - p*p
		return group{shared: []sum{{{1, 4}, {-q, 2}}, {{1, 3}, {-q, 1}}}, result: []sum{{{1, 6}, {p, 7}}, {{1, 6}, {-p, 7}}}}
	}
	atA, atB := both(pointA), both(pointB)
	atA.at, atB.at = []int{1, 2}, []int{3, 4}
	ends := group{at: []int{0, 5}, result: []sum{{{1, 4}, {-(a + b), 2}, {a * b, 0}}, {{1, 5}, {-(a + b), 3}, {a * b, 1}}}}
	tileTransform{name: "inputs36", doc: "transforms 6x6 inputs to 36", in: 6, out: 6, groups: []group{ends, atA, atB}}.write(v)

	filter := func(taps int, p, q float64, at ...int) group { // taps at points p and -p
		c := filterScale(p*p, q*q)
		even := sum{{c, 0}, {c * p * p, 2}}
		if taps == 3 {
			return group{shared: []sum{even}, at: at, result: []sum{{{1, 3}, {c * p, 1}}, {{1, 3}, {-c * p, 1}}}}
		}
		return group{shared: []sum{even, {{1, 1}, {p * p, 3}}}, at: at, result: []sum{{{1, 4}, {c * p, 5}}, {{1, 4}, {-c * p, 5}}}}
	}
	filters := func(name, doc string, taps int) {
		tileTransform{name: name, doc: doc, in: taps, out: 6, groups: []group{
			{at: []int{0, 5}, result: []sum{{{1 / (a * b), 0}}, {{1, taps - 1}}}},
			filter(taps, pointA, pointB, 1, 2), filter(taps, pointB, pointA, 3, 4)}}.write(v)
	}
	filters("filters36", "transforms 3x3 taps to 36", 3)
	filters("pixels36", "transforms 4x4 pixels to 36", 4)

	sums, differences := []sum{{{1, 1}, {1, 2}}, {{1, 3}, {1, 4}}}, []sum{{{1, 1}, {-1, 2}}, {{1, 3}, {-1, 4}}}
	first := sum{{1, 6}, {1, 7}, {1, 0}}
	tileTransform{name: "outputs16", doc: "transforms 36 products to 4x4 outputs, adds the bias and takes the maximum with floor", in: 6, out: 4, bias: true, groups: []group{
		{shared: sums, at: []int{0, 2}, result: []sum{first, {{a, 6}, {b, 7}}}},
		{shared: differences, at: []int{1, 3}, result: []sum{{{pointA, 6}, {pointB, 7}}, {{1, 5}, {a * pointA, 6}, {b * pointB, 7}}}}}}.write(v)
	tileTransform{name: "taps9", doc: "transforms 36 products to 3x3 taps", in: 6, out: 3, groups: []group{
		{shared: sums, at: []int{0, 2}, result: []sum{first, {{1, 5}, {a, 6}, {b, 7}}}},
		{shared: differences, at: []int{1}, result: []sum{{{pointA, 6}, {pointB, 7}}}}}}.write(v)
}

// constantsOf returns the coefficients other than 1. It keeps a sign only at the beginning of a sum.
func (t tileTransform) constantsOf() []float64 {
	all := map[float64]bool{}
	for _, g := range t.groups {
		for _, s := range append(slices.Clone(g.shared), g.result...) {
			for i, x := range s {
				c := x.coefficient
				if i > 0 {
					c = math.Abs(c)
				}
				if c != 1 {
					all[c] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// combiner writes sums of products of constants.
type combiner struct {
	v         isa
	constants map[float64]Op // in registers, or in memory if the architecture has few registers
}

func (t tileTransform) combiner(v isa) combiner {
	c := combiner{v, map[float64]Op{}}
	for _, x := range t.constantsOf() {
		m := constant(float32(x))
		if v.lanes < 16 {
			c.constants[x] = m
			continue
		}
		r := v.virtual()
		VMOVUPS(m, r)
		c.constants[x] = r
	}
	return c
}

// load returns a read-only register with a value.
func (c combiner) load(x Op) VecVirtual {
	if r, ok := x.(VecVirtual); ok {
		return r
	}
	r := c.v.virtual()
	VMOVUPS(x, r)
	return r
}

// add adds a term to a sum.
func (c combiner) add(k float64, x Op, to VecVirtual) {
	switch factor := c.constants[math.Abs(k)]; {
	case k == 1:
		VADDPS(x, to, to)
	case k == -1:
		VSUBPS(x, to, to)
	case c.v.lanes < 16 && k < 0:
		VFNMADD231PS(factor, c.load(x), to)
	case c.v.lanes < 16:
		VFMADD231PS(factor, c.load(x), to)
	case k < 0:
		VFNMADD231PS(x, factor, to)
	default:
		VFMADD231PS(x, factor, to)
	}
}

// sum returns a new register with a sum.
func (c combiner) sum(s sum, value func(i int) Op) VecVirtual {
	r := c.v.virtual()
	rest := s[1:]
	switch {
	case s[0].coefficient != 1:
		VMULPS(c.constants[s[0].coefficient], c.load(value(s[0].value)), r)
	case len(s) > 1 && s[1].coefficient == 1:
		x := c.load(value(s[0].value))
		VADDPS(value(s[1].value), x, r)
		rest = s[2:]
	case len(s) > 1 && s[1].coefficient == -1:
		x := c.load(value(s[0].value))
		VSUBPS(value(s[1].value), x, r)
		rest = s[2:]
	default:
		VMOVUPS(value(s[0].value), r)
	}
	for _, x := range rest {
		c.add(x.coefficient, value(x.value), r)
	}
	return r
}

// group computes the results of a group and calls result for each at once.
func (c combiner) group(g group, inputs int, input func(i int) Op, result func(at int, r VecVirtual)) {
	var shared []VecVirtual
	value := func(i int) Op {
		if i >= inputs {
			return shared[i-inputs]
		}
		return input(i)
	}
	for _, s := range g.shared {
		shared = append(shared, c.sum(s, value))
	}
	for i, s := range g.result {
		result(g.at[i], c.sum(s, value))
	}
}

// multiples holds a distance and its multiples for addresses.
type multiples struct{ one, three, five Register }

func multiplesOf(one Register) multiples {
	s := multiples{one, GP64(), GP64()}
	LEAQ(Mem{Base: one, Index: one, Scale: 2}, s.three)
	LEAQ(Mem{Base: one, Index: one, Scale: 4}, s.five)
	return s
}

// from returns the address at i times the distance from a base.
func (s multiples) from(base Register, i int) Mem {
	switch i {
	case 0:
		return Mem{Base: base}
	case 3:
		return Mem{Base: base, Index: s.three, Scale: 1}
	case 5:
		return Mem{Base: base, Index: s.five, Scale: 1}
	}
	return Mem{Base: base, Index: s.one, Scale: uint8(i)}
}

// write writes the function. For each tile and vector of channels it computes one group of rows of the result at a
// time, and stores each row at once.
func (t tileTransform) write(v isa) {
	signature := "func(dst, src *float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int)"
	if t.bias {
		signature = "func(dst, src, bias *float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32)"
	}
	begin(t.name+v.suffix, signature, t.doc+", for n channels of count tiles.")
	c := t.combiner(v)
	dstRow, dstCol := argument("dstRow"), argument("dstCol")
	srcRow, srcCol := argument("srcRow"), argument("srcCol")
	for _, r := range []Register{dstRow, dstCol, srcRow, srcCol} {
		SHLQ(Imm(2), r)
	}
	rows, columns := multiplesOf(srcRow), multiplesOf(dstCol)
	i := GP64()
	Label("tile")
	XORQ(i, i)
	Label("channel")
	to := GP64()
	MOVQ(parameter("dst"), to)
	LEAQ(Mem{Base: to, Index: i, Scale: 4}, to)
	row := 0
	for _, g := range t.groups {
		at := GP64()
		MOVQ(parameter("src"), at)
		LEAQ(Mem{Base: at, Index: i, Scale: 4}, at)
		half := map[int][]Op{} // by row of the result: its columns
		for s := range t.in {
			c.group(g, t.in, func(r int) Op { return rows.from(at, r) }, func(u int, r VecVirtual) { half[u] = append(half[u], r) })
			if s < t.in-1 {
				ADDQ(srcCol, at)
			}
		}
		for _, u := range g.at {
			for ; row < u; row++ {
				ADDQ(dstRow, to)
			}
			for ; row > u; row-- {
				SUBQ(dstRow, to)
			}
			for _, h := range t.groups {
				c.group(h, t.in, func(s int) Op { return half[u][s] }, func(w int, r VecVirtual) {
					if t.bias {
						t.finish(v, r, i)
					}
					VMOVUPS(r, columns.from(to, w))
				})
			}
		}
	}
	ADDQ(Imm(uint64(v.lanes)), i)
	CMPQ(i, parameter("n"))
	JL(LabelRef("channel"))
	for _, p := range []string{"dst", "src"} {
		step := GP64()
		MOVQ(parameter(p+"Step"), step)
		SHLQ(Imm(2), step)
		ADDQ(step, parameter(p))
	}
	DECQ(parameter("count"))
	JNZ(LabelRef("tile"))
	end()
}

// finish adds the bias to a result and takes the maximum with floor.
func (t tileTransform) finish(v isa, r VecVirtual, i Register) {
	bias, floor := GP64(), v.virtual()
	MOVQ(parameter("bias"), bias)
	VADDPS(Mem{Base: bias, Index: i, Scale: 4}, r, r)
	VBROADCASTSS(parameter("floor"), floor)
	VMAXPS(r, floor, r) // this order keeps NaN
}
