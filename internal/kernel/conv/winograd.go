package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// The products of a convolution with kernel 4 and stride 2 by Winograd's method (Winograd 1980; Lavin and Gray 2016).
// The pixels of one phase (row mod 2, column mod 2) of the big image are the input of a kernel with 2x2 taps. With
// F(2x2, 2x2), a block of 2x2 outputs takes 9 multiplications instead of 16. With F(4x4, 2x2), a block of 4x4 outputs
// takes 25 instead of 64. See inputs9 and inputs25 for the transforms.

// winogradFits reports whether the method supports a geometry, and whether it is faster.
func winogradFits(g *geometry) bool {
	return g.kernelH == 4 && g.kernelW == 4 && g.stride == 2 && g.bigC%16 == 0 && g.smallC%16 == 0 &&
		g.smallH%2 == 0 && g.smallW%2 == 0 && g.bigH == 2*g.smallH && g.bigW == 2*g.smallW && g.padH%2 == 1 && g.padW%2 == 1
}

// winograd has the common fields of the three products.
type winograd struct {
	*phaseTiles
	g         *geometry
	tilesY    int // rows of tiles of an image
	tilesX    int
	blockRows int // rows of tiles per block
}

// newWinograd plans blocks with about the given number of tiles.
func newWinograd(g *geometry, form *phaseTiles, tiles int) winograd {
	w := winograd{phaseTiles: form, g: g}
	w.tilesY, w.tilesX = g.smallH/w.side, g.smallW/w.side
	w.blockRows = min(g.chunk*w.tilesY, max(1, tiles/w.tilesX))
	return w
}

func (w *winograd) tiles() int { return w.blockRows * w.tilesX }

// forBlocks calls f for blocks of the rows of tiles of a chunk of images.
func (w *winograd) forBlocks(images int, f func(firstRow, count int)) {
	for firstRow := 0; firstRow < images*w.tilesY; firstRow += w.blockRows {
		f(firstRow, min(w.blockRows, images*w.tilesY-firstRow))
	}
}

// locate returns the image of a row of tiles, and the row in the image.
func (w *winograd) locate(row int) (image, y int) { return row / w.tilesY, row % w.tilesY }

// bigTiles transforms a phase of rows of tiles of padded big images to [parts][tiles][...]. depth is the number of
// elements per tile.
func (w *winograd) bigTiles(dst, big []float32, phase, firstRow, count, stride, depth int) {
	g := w.g
	for r := range count {
		image, i := w.locate(firstRow + r)
		src := big[image*g.bigSize+(2*w.side*i+phase/2)*g.bigLine+phase%2*g.bigC:]
		w.inputs.run(dst[r*w.tilesX*depth:], src, g.bigC, stride, 2*g.bigLine, 2*g.bigC, w.tilesX, depth, 2*w.side*g.bigC)
	}
}

// packChannels is the number of channels of a phase per item of pack.
const packChannels = 16

// gatherTiles is the number of tiles per block. The tiles of all phases and the weights fit in the L2 cache.
const gatherTiles = 16

// winogradGather is the gathering product.
type winogradGather struct {
	winograd
	panels      simd.Panels
	weights     []float32 // [panel][parts][depth][width]
	zeros       []float32
	rows, cRows []int
}

func newWinogradGather(g *geometry) *winogradGather {
	p := &winogradGather{winograd: newWinograd(g, productTiles(g, !g.transposed), gatherTiles),
		panels: simd.NewPanels(g.smallC), zeros: make([]float32, g.smallC)}
	p.weights = make([]float32, p.panels.Count*p.parts*p.weightStride(32))
	p.rows, p.cRows = simd.RowTable(p.tiles(), p.depth()), simd.RowTable(p.tiles(), g.smallC)
	return p
}

// depth returns the number of terms in the sums: the channels of all four phases.
func (p *winogradGather) depth() int { return 4 * p.g.bigC }

// weightStride is the stride of the parts of a panel.
func (p *winogradGather) weightStride(width int) int { return paddedStride(p.depth() * width) }

func (p *winogradGather) packs() int { return 4 * p.g.bigC / packChannels }

// pack transforms the weights of some channels of a phase: rows 2a+py and columns 2b+px of the kernel.
func (p *winogradGather) pack(w []float32, i int) {
	g := p.g
	tap := g.bigC * g.smallC
	phase, k := i%4, i/4*packChannels
	for n := range p.panels.Count {
		offset, width, _ := p.panels.At(n)
		src := w[((phase/2)*g.kernelW+phase%2)*tap+k*g.smallC+offset:]
		dst := p.weights[n*p.parts*p.weightStride(32)+(phase*g.bigC+k)*width:]
		p.filters.run(dst, src, width, p.weightStride(width), 2*g.kernelW*tap, 2*tap, packChannels, width, g.smallC)
	}
}

func (p *winogradGather) scratch() (inputs, products int) {
	return p.parts * paddedStride(p.tiles()*p.depth()), p.parts * paddedStride(p.tiles()*p.g.smallC)
}

func (p *winogradGather) run(s *convWorker, bias, out []float32, images, flags int) {
	if bias == nil {
		bias = p.zeros
	}
	p.forBlocks(images, func(firstRow, count int) { p.block(s, bias, out, firstRow, count, flags) })
}

// block computes the pixels of some rows of tiles.
func (p *winogradGather) block(s *convWorker, bias, out []float32, firstRow, count, flags int) {
	g := p.g
	n, depth := count*p.tilesX, p.depth()
	inputs, products := paddedStride(n*depth), paddedStride(n*g.smallC)
	for phase := range 4 {
		p.bigTiles(s.inputs[phase*g.bigC:], s.big, phase, firstRow, count, inputs, depth)
	}
	for i := range p.panels.Count {
		offset, width, _ := p.panels.At(i)
		m := partProducts{a: s.inputs, b: p.weights[i*p.parts*p.weightStride(32):], c: s.products[offset:], count: p.parts,
			rows: n, steps: depth, width: width,
			aPart: inputs, aRow: depth, aStep: 1, bPart: p.weightStride(width), bStep: width, cPart: products, cRow: g.smallC}
		m.multiply(s, p.rows, p.cRows)
	}
	line := g.smallW * g.smallC
	for r := range count {
		p.outputs.run(out[p.side*(firstRow+r)*line:], s.products[r*p.tilesX*g.smallC:], bias, g.smallC, products, line,
			g.smallC, p.tilesX, p.side*g.smallC, g.smallC, floorOf(flags))
	}
}

// spreadTiles is the number of tiles of one phase per block.
const spreadTiles = 32

// winogradSpread is the spreading product. The big pixels of a phase are the outputs.
type winogradSpread struct {
	winograd
	panels      simd.Panels
	weights     []float32 // [4 phases][panel][parts][smallC][width]
	transposed  []float32 // [4 phases][2][2][smallC][bigC]
	zeros       []float32
	rows, cRows []int
}

func newWinogradSpread(g *geometry) *winogradSpread {
	p := &winogradSpread{winograd: newWinograd(g, productTiles(g, g.transposed), spreadTiles),
		panels: simd.NewPanels(g.bigC), zeros: make([]float32, g.bigC)}
	p.weights = make([]float32, 4*p.panels.Count*p.parts*p.weightStride(32))
	p.transposed = make([]float32, 4*4*g.smallC*g.bigC)
	p.rows, p.cRows = simd.RowTable(p.tiles(), g.smallC), simd.RowTable(p.tiles(), g.bigC)
	return p
}

// weightStride is the stride of the parts of a panel.
func (p *winogradSpread) weightStride(width int) int { return paddedStride(p.g.smallC * width) }

func (p *winogradSpread) panel(phase, i int) []float32 {
	return p.weights[(phase*p.panels.Count+i)*p.parts*p.weightStride(32):]
}

func (p *winogradSpread) packs() int { return 4 * p.g.smallC / packChannels }

// pack transforms the weights of some channels of a phase. Row r of the phase is small[r-1] w[2+py] + small[r] w[py],
// so the taps are in reverse order.
func (p *winogradSpread) pack(w []float32, i int) {
	g := p.g
	tap := g.bigC * g.smallC
	phase, k := i%4, i/4*packChannels
	taps := p.transposed[4*phase*tap+k*g.bigC:]
	for a := range 2 {
		for b := range 2 {
			src := w[((2*(1-a)+phase/2)*g.kernelW+2*(1-b)+phase%2)*tap+k:]
			simd.Transpose(taps[(2*a+b)*tap:], src, g.bigC, g.smallC, g.bigC, packChannels)
		}
	}
	for n := range p.panels.Count {
		offset, width, _ := p.panels.At(n)
		p.filters.run(p.panel(phase, n)[k*width:], taps[offset:], width, p.weightStride(width), 2*tap, tap, packChannels,
			width, g.bigC)
	}
}

func (p *winogradSpread) scratch() (inputs, products int) {
	return p.parts * paddedStride(p.tiles()*p.g.smallC), p.parts * paddedStride(p.tiles()*p.g.bigC)
}

func (p *winogradSpread) run(s *convWorker, bias, out []float32, images, flags int) {
	if bias == nil {
		bias = p.zeros
	}
	p.forBlocks(images, func(firstRow, count int) {
		for phase := range 4 {
			p.block(s, bias, out, phase, firstRow, count, flags)
		}
	})
}

// block computes the pixels of a phase in some rows of tiles.
func (p *winogradSpread) block(s *convWorker, bias, out []float32, phase, firstRow, count, flags int) {
	g := p.g
	n, line := count*p.tilesX, g.bigW*g.bigC
	inputs, products := paddedStride(n*g.smallC), paddedStride(n*g.bigC)
	py, px := phase/2, phase%2
	y0, x0 := (g.padH-py+1)/2, (g.padW-px+1)/2 // the first row and column of the phase inside the image
	for r := range count {
		image, i := p.locate(firstRow + r)
		src := s.small[image*g.smallSize+(y0+p.side*i-1+g.smallTop)*g.smallLine+(x0-1+g.smallTop)*g.smallC:]
		p.inputs.run(s.inputs[r*p.tilesX*g.smallC:], src, g.smallC, inputs, g.smallLine, g.smallC, p.tilesX, g.smallC,
			p.side*g.smallC)
	}
	for i := range p.panels.Count {
		offset, width, _ := p.panels.At(i)
		m := partProducts{a: s.inputs, b: p.panel(phase, i), c: s.products[offset:], count: p.parts, rows: n, steps: g.smallC,
			width: width,
			aPart: inputs, aRow: g.smallC, aStep: 1, bPart: p.weightStride(width), bStep: width, cPart: products, cRow: g.bigC}
		m.multiply(s, p.rows, p.cRows)
	}
	for r := range count {
		image, i := p.locate(firstRow + r)
		y, x := 2*(y0+p.side*i)+py-g.padH, 2*x0+px-g.padW
		p.outputs.run(out[(image*g.bigH+y)*line+x*g.bigC:], s.products[r*p.tilesX*g.bigC:], bias, g.bigC, products, 2*line,
			2*g.bigC, p.tilesX, 2*p.side*g.bigC, g.bigC, floorOf(flags))
	}
}

// Tiles of 4x4 are faster for images with at least phasePixels small pixels: the products of a group of images then
// have enough rows. The filters must have at most phaseWeights transformed elements, because every group reads them
// from the shared cache.
const (
	phasePixels  = 64
	phaseWeights = 1 << 19
)

// productTiles returns the transforms of a product. The forward transforms are F(2x2, 2x2), which only add and
// subtract: a pixel is exactly 0 if all its inputs are 0. With 4x4 tiles, rounding errors would make half of such
// pixels positive, and a ReLU would pass them.
func productTiles(g *geometry, forward bool) *phaseTiles {
	if forward {
		return &phaseTiles2
	}
	return phaseTilesOf(g)
}

// phaseTilesOf returns the transforms that are fastest for a geometry.
func phaseTilesOf(g *geometry) *phaseTiles {
	if t := &phaseTiles4; g.smallH%4 == 0 && g.smallW%4 == 0 && g.smallPixels() >= phasePixels &&
		t.parts*4*g.bigC*g.smallC <= phaseWeights {
		return t
	}
	return &phaseTiles2
}

// gradientTiles is the number of tiles of a phase per block.
const gradientTiles = 64

// winogradGradient is the weight gradient: the pixels of the small image are the taps, and the taps of the kernel are
// the outputs.
type winogradGradient struct {
	winograd
	panels      simd.Panels
	rows, cRows []int
	zeros       []float32
}

func newWinogradGradient(g *geometry) *winogradGradient {
	p := &winogradGradient{winograd: newWinograd(g, phaseTilesOf(g), gradientTiles), panels: simd.NewPanels(g.smallC),
		zeros: make([]float32, g.smallC)}
	p.rows, p.cRows = simd.RowTable(g.bigC, 1), simd.RowTable(g.bigC, g.smallC)
	return p
}

// size returns the number of weights.
func (p *winogradGradient) size() int { return 16 * p.g.bigC * p.g.smallC }

// tileCount returns the number of tiles in a chunk.
func (p *winogradGradient) tileCount(images int) int { return images * p.tilesY * p.tilesX }

func (p *winogradGradient) scratch() (inputs, products int) {
	return p.parts * paddedStride(p.tiles()*p.g.bigC),
		p.parts*(paddedStride(p.tileCount(p.g.chunk)*p.g.smallC)+paddedStride(p.g.bigC*p.g.smallC)) + p.size()
}

func (p *winogradGradient) run(s *convWorker, totals []float32, share int, small smallImages, images int, reset bool) {
	g := p.g
	stride, tap := paddedStride(p.tileCount(images)*g.smallC), g.bigC*g.smallC
	pixels, sums := s.products[:p.parts*stride], s.products[p.parts*stride:]
	dw := totals
	if !reset {
		dw = s.products[len(s.products)-p.size():]
	}
	for row := range images * p.tilesY {
		image, i := p.locate(row)
		p.pixels.run(pixels[row*p.tilesX*g.smallC:], small.x[image*small.size+p.side*i*small.line:], g.smallC, stride,
			small.line, g.smallC, p.tilesX, g.smallC, p.side*g.smallC)
	}
	for phase := share * 4 / g.shares; phase < (share+1)*4/g.shares; phase++ {
		p.forBlocks(images, func(firstRow, count int) { p.block(s, pixels, sums, phase, firstRow, count, stride) })
		offset := (phase/2*g.kernelW + phase%2) * tap
		p.taps.run(dw[offset:], sums, p.zeros, g.smallC, paddedStride(tap), 2*g.kernelW*tap, 2*tap, g.bigC, g.smallC,
			g.smallC, noFloor)
		if reset {
			continue
		}
		for k := range 4 {
			tapOffset := offset + (2*(k/2)*g.kernelW+2*(k%2))*tap
			kernel.Add(totals[tapOffset:tapOffset+tap], dw[tapOffset:tapOffset+tap])
		}
	}
}

// block adds the products of some rows of tiles to the sums of a phase, or begins them; the stride of the parts of
// pixels is stride.
func (p *winogradGradient) block(s *convWorker, pixels, sums []float32, phase, firstRow, count, stride int) {
	g := p.g
	n := count * p.tilesX
	inputs := paddedStride(n * g.bigC)
	p.bigTiles(s.inputs, s.big, phase, firstRow, count, inputs, g.bigC)
	for i := range p.panels.Count {
		offset, width, _ := p.panels.At(i)
		m := partProducts{a: s.inputs, b: pixels[firstRow*p.tilesX*g.smallC+offset:], c: sums[offset:], count: p.parts,
			rows: g.bigC, steps: n, width: width,
			aPart: inputs, aRow: 1, aStep: g.bigC, bPart: stride, bStep: g.smallC, cPart: paddedStride(g.bigC * g.smallC),
			cRow: g.smallC, add: firstRow > 0}
		m.multiply(s, p.rows, p.cRows)
	}
}
