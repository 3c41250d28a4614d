package kernel

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
