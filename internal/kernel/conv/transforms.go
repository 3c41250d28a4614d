package conv

import (
	"math"
	"unsafe"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The transforms of Winograd's methods (Winograd 1980; Lavin and Gray 2016). F(n x n, r x r) computes n x n outputs of
// a kernel with r x r taps from tiles of inputs. The products multiply transformed inputs and transformed taps, and the
// outputs are sums of products. A transform of tiles applies a one-dimensional transform to the columns and then to the
// rows. Products have a stride of stride elements. The other values are at tile*Step + row*Row + column*Col + channel.

// expansion transforms tiles of in x in values to out x out factors of products.
type expansion struct {
	in, out int
	line    func(dst, src *[6]float32)
	vector  expand
}

// expand is an assembly function for an expansion, or for a contraction without bias.
type expand func(dst, src *float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int)

// run transforms n channels, a multiple of 16, of count tiles.
func (t *expansion) run(dst, src []float32, n, stride, srcRow, srcCol, count, dstStep, srcStep int) {
	if simd.Vectors() {
		t.vector(&dst[0], &src[0], n, t.out*stride, stride, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	tilesGo(dst, src, n, t.out*stride, stride, srcRow, srcCol, count, dstStep, srcStep, t.in, t.out, t.line)
}

// contraction transforms in x in products to tiles of out x out sums.
type contraction struct {
	in, out int
	line    func(dst, src *[6]float32)
	vector  contract
}

// contract is an assembly function for a contraction.
type contract func(dst, src, bias *float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int,
	floor float32)

// run transforms n channels, a multiple of 16, of count tiles. It adds the bias of each channel and takes the maximum
// with floor, except for taps, which are gradients.
func (t *contraction) run(dst, src, bias []float32, n, stride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
	if simd.Vectors() {
		t.vector(&dst[0], &src[0], unsafe.SliceData(bias), n, dstRow, dstCol, t.in*stride, stride, count, dstStep, srcStep,
			floor)
		return
	}
	tilesGo(dst, src, n, dstRow, dstCol, t.in*stride, stride, count, dstStep, srcStep, t.in, t.out, t.line)
	if bias == nil {
		return
	}
	for tile := range count {
		for i := range t.out * t.out {
			pixel := dst[tile*dstStep+i/t.out*dstRow+i%t.out*dstCol:][:n]
			for c := range pixel {
				if pixel[c] += bias[c]; pixel[c] < floor {
					pixel[c] = floor
				}
			}
		}
	}
}

// tilesGo applies a transform of in to out values to the columns and then to the rows of every tile.
func tilesGo(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, in, out int,
	line func(outputs, inputs *[6]float32)) {
	for tile := range count {
		for c := range n {
			var columns [6][6]float32
			var inputs, outputs [6]float32
			for s := range in {
				for r := range in {
					inputs[r] = src[tile*srcStep+r*srcRow+s*srcCol+c]
				}
				line(&outputs, &inputs)
				for u := range out {
					columns[u][s] = outputs[u]
				}
			}
			for u := range out {
				line(&outputs, &columns[u])
				for v := range out {
					dst[tile*dstStep+u*dstRow+v*dstCol+c] = outputs[v]
				}
			}
		}
	}
}

// noFloor is less than or equal to all numbers.
var noFloor = float32(math.Inf(-1))

// floorOf returns the minimum result of an activation, given the flags of a tile.
func floorOf(flags int) float32 {
	if flags&simd.ApplyReLU != 0 {
		return 0
	}
	return noFloor
}

// phaseTiles are the transforms of F(side x side, 2x2) and F(2x2, side x side).
type phaseTiles struct {
	side                    int          // side of the outputs; the side of the inputs is one more
	parts                   int          // number of products
	inputs, filters, pixels *expansion   // of inputs, 2x2 taps, and side x side pixels that are taps
	outputs, taps           *contraction // to side x side outputs and 2x2 taps
}

var (
	phaseTiles2 = phaseTiles{2, 9, &inputs9, &filters9, &filters9, &outputs9, &outputs9}
	phaseTiles4 = phaseTiles{4, 25, &inputs25, &filters25, &pixels25, &outputs25, &taps25}
)

// F(2x2, 2x2) computes 2x2 outputs of a kernel of 2x2 taps with 9 multiplications instead of 16. In one dimension, with
// inputs d, taps g and outputs y_i = d_i g_0 + d_{i+1} g_1,
//
//	m = ((d0-d1) g0, d1 (g0+g1), (d1-d2) g1),  y = (m0+m1, m1-m2)
var (
	inputs9 = expansion{3, 3, func(y, d *[6]float32) { y[0], y[1], y[2] = d[0]-d[1], d[1], d[1]-d[2] },
		func(dst, src *float32, n, _, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
			simd.Expand9(dst, src, n, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		}}
	filters9 = expansion{2, 3, func(y, g *[6]float32) { y[0], y[1], y[2] = g[0], g[0]+g[1], g[1] },
		func(dst, src *float32, n, _, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
			simd.Expand4(dst, src, n, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		}}
	outputs9 = contraction{3, 2, func(y, m *[6]float32) { y[0], y[1] = m[0]+m[1], m[1]-m[2] },
		func(dst, src, bias *float32, n, dstRow, dstCol, _, srcCol, count, dstStep, srcStep int, floor float32) {
			simd.Contract9(dst, src, bias, n, srcCol, dstRow, dstCol, count, dstStep, srcStep, floor)
		}}
)

// F(4x4, 2x2) computes 4x4 outputs of a kernel of 2x2 taps with 25 multiplications
// instead of 64. In one dimension, with inputs d, taps g, outputs y and the points 0, a, -a, b and infinity,
//
//	D0 = d3 - b d2 - a² (d1 - b d0)             G0 = g0/(a²b)
//	D1, D2 = (d3 - b d2) ± a (d2 - b d1)        G1, G2 = ±(g0 ± a g1)/(2a²(a ∓ b))
//	D3 = d3 - a² d1                             G3 = (g0 + b g1)/(b(b²-a²))
//	D4 = d4 - b d3 - a² (d2 - b d1)             G4 = g1
//
//	m = D G,  y_i = [i=0] m0 + a^i (m1 ± m2) + b^i m3 + [i=3] m4, with + for even i
//
// The gradient of the taps is F(2x2, 4x4): the 4x4 pixels of the result's gradient are the taps. a = 5/4 and b = 1/2
// have exact powers and the least error of such numbers. A forward sum has 2.5 times the error of a direct sum, a
// gradient 1.2 times.
const (
	phaseA, phaseB float32 = 1.25, 0.5
	phaseSquare            = phaseA * phaseA
)

var (
	inputs25  = expansion{5, 5, inputs4, simd.Inputs25}
	filters25 = expansion{2, 5, filters4, simd.Filters25}
	pixels25  = expansion{4, 5, pixels4, simd.Pixels25}
	outputs25 = contraction{5, 4, outputs4, simd.Outputs25}
	taps25    = contraction{5, 2, taps4, withoutBias(simd.Taps25)}
)

func inputs4(y, d *[6]float32) {
	y[0] = d[3] - phaseB*d[2] - phaseSquare*d[1] + phaseSquare*phaseB*d[0]
	y[4] = d[4] - phaseB*d[3] - phaseSquare*d[2] + phaseSquare*phaseB*d[1]
	even, odd := d[3]-phaseB*d[2], d[2]-phaseB*d[1]
	y[1], y[2] = even+phaseA*odd, even-phaseA*odd
	y[3] = d[3] - phaseSquare*d[1]
}

const (
	scaleZero  = 1 / (phaseSquare * phaseB)
	scalePlus  = 1 / (2 * phaseSquare * (phaseA - phaseB))
	scaleMinus = -1 / (2 * phaseSquare * (phaseA + phaseB))
	scaleHalf  = 1 / (phaseB * (phaseB*phaseB - phaseSquare))
)

func filters4(y, g *[6]float32) {
	y[0], y[4] = scaleZero*g[0], g[1]
	y[1], y[2] = scalePlus*g[0]+scalePlus*phaseA*g[1], scaleMinus*g[0]-scaleMinus*phaseA*g[1]
	y[3] = scaleHalf*g[0] + scaleHalf*phaseB*g[1]
}

func pixels4(y, g *[6]float32) {
	even, odd := g[0]+phaseSquare*g[2], g[1]+phaseSquare*g[3]
	y[0], y[4] = scaleZero*g[0], g[3]
	y[1], y[2] = scalePlus*even+scalePlus*phaseA*odd, scaleMinus*even-scaleMinus*phaseA*odd
	y[3] = scaleHalf*g[0] + scaleHalf*phaseB*g[1] + scaleHalf*phaseB*phaseB*g[2] + scaleHalf*phaseB*phaseB*phaseB*g[3]
}

func outputs4(y, m *[6]float32) {
	sum, difference := m[1]+m[2], m[1]-m[2]
	y[0], y[2] = sum+m[0]+m[3], phaseSquare*sum+phaseB*phaseB*m[3]
	y[1], y[3] = phaseA*difference+phaseB*m[3], m[4]+phaseSquare*phaseA*difference+phaseB*phaseB*phaseB*m[3]
}

func taps4(y, m *[6]float32) {
	y[0] = m[1] + m[2] + m[0] + m[3]
	y[1] = m[4] + phaseA*(m[1]-m[2]) + phaseB*m[3]
}

// F(4x4, 3x3) computes 4x4 outputs of a kernel of 3x3 taps with 36 multiplications instead of 144. In one dimension,
// with inputs d, taps g, outputs y and the points 0, a, -a, b, -b and infinity,
//
//	D0 = a²b² d0 - (a²+b²) d2 + d4            G0 = g0/(a²b²)
//	D1, D2 = (d4 - b² d2) ± a (d3 - b² d1)    G1, G2 = (g0 ± a g1 + a² g2) / (2a²(a²-b²))
//	D3, D4 = (d4 - a² d2) ± b (d3 - a² d1)    G3, G4 = (g0 ± b g1 + b² g2) / (2b²(b²-a²))
//	D5 = a²b² d1 - (a²+b²) d3 + d5            G5 = g2
//
//	m = D G,  y_i = [i=0] m0 + a^i (m1 ± m2) + b^i (m3 ± m4) + [i=3] m5, with + for even i
//
// a = 5/8 and b = 3/2: squares and their product are exact, and errors are about twice a direct sum's. With the usual 1
// and 2 they are four times as large (Barabasz et al. 2020 search for such points).
const (
	pointA  float32 = 0.625
	pointB  float32 = 1.5
	squareA         = pointA * pointA
	squareB         = pointB * pointB
)

var (
	inputs36  = expansion{6, 6, inputs3, simd.Inputs36}
	filters36 = expansion{3, 6, filters3, simd.Filters36}
	pixels36  = expansion{4, 6, pixels3, simd.Pixels36}
	outputs36 = contraction{6, 4, outputs3, simd.Outputs16}
	taps36    = contraction{6, 3, taps3, withoutBias(simd.Taps9)}
)

func inputs3(y, d *[6]float32) {
	even, odd := d[4]-squareB*d[2], d[3]-squareB*d[1]
	y[1], y[2] = even+pointA*odd, even-pointA*odd
	even, odd = d[4]-squareA*d[2], d[3]-squareA*d[1]
	y[3], y[4] = even+pointB*odd, even-pointB*odd
	y[0] = d[4] - (squareA+squareB)*d[2] + squareA*squareB*d[0]
	y[5] = d[5] - (squareA+squareB)*d[3] + squareA*squareB*d[1]
}

const (
	scaleA = 1 / (2 * squareA * (squareA - squareB))
	scaleB = 1 / (2 * squareB * (squareB - squareA))
)

func filters3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*g[1]
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*g[1]
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[2]
}

func pixels3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*(g[1]+squareA*g[3])
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*(g[1]+squareB*g[3])
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[3]
}

func outputs3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], squareA*a+squareB*b
	a, b = m[1]-m[2], m[3]-m[4]
	y[1], y[3] = pointA*a+pointB*b, m[5]+squareA*pointA*a+squareB*pointB*b
}

func taps3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], m[5]+squareA*a+squareB*b
	y[1] = pointA*(m[1]-m[2]) + pointB*(m[3]-m[4])
}

// withoutBias adapts an expand function to contract; it ignores bias and floor.
func withoutBias(f expand) contract {
	return func(dst, src, _ *float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, _ float32) {
		f(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	}
}
