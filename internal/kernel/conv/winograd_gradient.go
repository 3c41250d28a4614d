package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// gradientTiles is the number of tiles of a phase at a time.
const gradientTiles = 64

// winogradGradient is the gradient of the weights: here the small image's pixels are the
// taps, and the kernel's taps are the outputs.
type winogradGradient struct {
	winograd
	panels      simd.Panels
	rows, cRows []int
	zeros       []float32
}

func newWinogradGradient(g *geometry) *winogradGradient {
	p := &winogradGradient{winograd: newWinograd(g, phaseTilesOf(g), gradientTiles), panels: simd.NewPanels(g.smallC), zeros: make([]float32, g.smallC)}
	p.rows, p.cRows = simd.RowTable(g.bigC, 1), simd.RowTable(g.bigC, g.smallC)
	return p
}

// size returns the number of weights.
func (p *winogradGradient) size() int { return 16 * p.g.bigC * p.g.smallC }

// all returns the number of tiles of a chunk.
func (p *winogradGradient) all(images int) int { return images * p.tilesY * p.tilesX }

func (p *winogradGradient) scratch() (inputs, products int) {
	return p.parts * apart(p.tiles()*p.g.bigC), p.parts*(apart(p.all(p.g.chunk)*p.g.smallC)+apart(p.g.bigC*p.g.smallC)) + p.size()
}

func (p *winogradGradient) run(s *convWorker, totals []float32, share int, small smallImages, images int, fresh bool) {
	g := p.g
	stride, tap := apart(p.all(images)*g.smallC), g.bigC*g.smallC
	pixels, sums := s.products[:p.parts*stride], s.products[p.parts*stride:]
	dw := totals
	if !fresh {
		dw = s.products[len(s.products)-p.size():]
	}
	for row := range images * p.tilesY {
		image, i := p.at(row)
		p.pixels(pixels[row*p.tilesX*g.smallC:], small.x[image*small.size+p.side*i*small.line:], g.smallC, stride, small.line, g.smallC, p.tilesX, g.smallC, p.side*g.smallC)
	}
	for phase := share * 4 / g.shares; phase < (share+1)*4/g.shares; phase++ {
		p.each(images, func(first, count int) { p.block(s, pixels, sums, phase, first, count, stride) })
		at := (phase/2*g.kernelW + phase%2) * tap
		p.taps(dw[at:], sums, p.zeros, g.smallC, apart(tap), 2*g.kernelW*tap, 2*tap, g.bigC, g.smallC, g.smallC, noFloor)
		if fresh {
			continue
		}
		for k := range 4 {
			from := at + (2*(k/2)*g.kernelW+2*(k%2))*tap
			kernel.Add(totals[from:from+tap], dw[from:from+tap])
		}
	}
}

// block adds the products of some rows of tiles to the sums of a phase, or begins them; the parts of pixels lie stride apart.
func (p *winogradGradient) block(s *convWorker, pixels, sums []float32, phase, first, count, stride int) {
	g := p.g
	n := count * p.tilesX
	inputs := apart(n * g.bigC)
	p.bigTiles(s.inputs, s.big, phase, first, count, inputs, g.bigC)
	for i := range p.panels.Count {
		from, width, _ := p.panels.At(i)
		m := partProducts{a: s.inputs, b: pixels[first*p.tilesX*g.smallC+from:], c: sums[from:], count: p.parts, rows: g.bigC, steps: n, width: width,
			aPart: inputs, aRow: 1, aStep: g.bigC, bPart: stride, bStep: g.smallC, cPart: apart(g.bigC * g.smallC), cRow: g.smallC, add: first > 0}
		m.multiply(s, p.rows, p.cRows)
	}
}
