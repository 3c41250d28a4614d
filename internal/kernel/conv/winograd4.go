package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// F(4x4, 2x2) (Winograd 1980; Lavin and Gray 2016) computes 4x4 outputs of a kernel of 2x2 taps with 25 multiplications
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

// phaseTiles are the transforms of Winograd's F(side x side, 2x2) and F(2x2, side x side). The transforms of products
// lie dstStride or srcStride apart. All transforms work on n channels, a multiple of 16, of count tiles.
type phaseTiles struct {
	side  int // side of the outputs; inputs have one more
	parts int // products
	// inputs transforms (side+1)x(side+1) inputs, filters 2x2 taps, pixels side x side pixels that are taps.
	inputs, filters, pixels func(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int)
	// outputs transforms products to side x side outputs, taps to 2x2.
	outputs, taps func(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32)
}

var phaseTiles2 = phaseTiles{side: 2, parts: 9, inputs: expand9, filters: expand4, pixels: expand4, outputs: contract9, taps: contract9}

var phaseTiles4 = phaseTiles{side: 4, parts: 25,
	inputs: func(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
		inputs25(dst, src, n, 5*dstStride, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	},
	filters: func(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
		filters25(dst, src, n, 5*dstStride, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	},
	pixels: func(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
		pixels25(dst, src, n, 5*dstStride, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	},
	outputs: func(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
		outputs25(dst, src, bias, n, dstRow, dstCol, 5*srcStride, srcStride, count, dstStep, srcStep, floor)
	},
	taps: func(dst, src, _ []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, _ float32) {
		taps25(dst, src, n, dstRow, dstCol, 5*srcStride, srcStride, count, dstStep, srcStep)
	}}

// 4x4 tiles suit images with at least phasePixels small pixels: then the products of a group of images have enough
// rows. They suit filters with at most phaseWeights transformed elements, because every group reads these from the
// cache that all threads share.
const (
	phasePixels  = 64
	phaseWeights = 1 << 19
)

// productTiles returns the transforms of a product. The forward transforms are F(2x2, 2x2), which only adds and
// subtracts: a pixel is 0 if all its inputs are 0. The rounding of 4x4 tiles would push half of such pixels over the
// threshold of a ReLU.
func productTiles(g *geometry, forward bool) *phaseTiles {
	if forward {
		return &phaseTiles2
	}
	return phaseTilesOf(g)
}

// phaseTilesOf returns the transforms that are fastest for a geometry.
func phaseTilesOf(g *geometry) *phaseTiles {
	if t := &phaseTiles4; g.smallH%4 == 0 && g.smallW%4 == 0 && g.smallPixels() >= phasePixels && t.parts*4*g.bigC*g.smallC <= phaseWeights {
		return t
	}
	return &phaseTiles2
}

func inputs25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if !simd.Vectors() {
		inputs25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	simd.Inputs25(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func filters25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if !simd.Vectors() {
		filters25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	simd.Filters25(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func pixels25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if !simd.Vectors() {
		pixels25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	simd.Pixels25(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func taps25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if !simd.Vectors() {
		taps25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	simd.Taps25(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func outputs25(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	if !simd.Vectors() {
		outputs25Go(dst, src, bias, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
		return
	}
	simd.Outputs25(&dst[0], &src[0], &bias[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
}

// The transforms of F(4x4, 2x2) and F(2x2, 4x4) in Go as in winograd3.go.

func inputs25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 5, inputs4)
}

func filters25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 2, 5, filters4)
}

func pixels25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 4, 5, pixels4)
}

func taps25Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 2, taps4)
}

func outputs25Go(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 5, 4, outputs4)
	finishTiles(dst, bias, n, dstRow, dstCol, count, dstStep, floor)
}

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
