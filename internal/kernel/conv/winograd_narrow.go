package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// winogradNarrow spreads to big images of 2 to 4 channels. As in winogradSpread each phase sees a kernel of 2x2 taps,
// but all four phases share the transformed inputs and are the columns of one panel of 16. Blocks are 2x2 places (row
// pairs, column pairs) of the padded big image, so blocks at the border reach beyond the image.
type winogradNarrow struct {
	g                *geometry
	blocksX, blocksY int       // blocks along the edges
	weights          []float32 // [9][smallC][16]
	zeros            []float32
	rows             []int
	cRows            []int
}

// winogradNarrowFits reports whether the method supports a geometry, and whether it is faster.
func winogradNarrowFits(g *geometry) bool {
	return g.kernelH == 4 && g.kernelW == 4 && g.stride == 2 && g.bigC >= 2 && g.bigC <= 4 && g.smallC%16 == 0 &&
		g.padH == 1 && g.padW == 1 &&
		g.bigH == 2*g.smallH && g.bigW == 2*g.smallW
}

func newWinogradNarrow(g *geometry) *winogradNarrow {
	p := &winogradNarrow{g: g, blocksX: g.smallW/2 + 1, blocksY: g.smallH/2 + 1, weights: make([]float32, 9*g.smallC*16),
		zeros: make([]float32, 16)}
	p.rows, p.cRows = simd.RowTable(p.blocksX*p.blocksY, g.smallC), simd.RowTable(p.blocksX*p.blocksY, 16)
	return p
}

func (p *winogradNarrow) packs() int { return 4 }

func (p *winogradNarrow) scratch() (inputs, products int) {
	n := p.blocksX * p.blocksY
	return 9 * n * p.g.smallC, (9 + 4) * n * 16
}

// pack transforms the weights of phase i. The taps are in reverse order.
func (p *winogradNarrow) pack(w []float32, i int) {
	g := p.g
	tap := g.bigC * g.smallC
	for c := range g.bigC {
		for s := range g.smallC {
			weight := func(a, b int) float32 {
				return w[((2*(1-a)+i/2)*g.kernelW+2*(1-b)+i%2)*tap+c*g.smallC+s]
			}
			rows := [3][2]float32{
				{weight(0, 0), weight(0, 1)},
				{weight(0, 0) + weight(1, 0), weight(0, 1) + weight(1, 1)},
				{weight(1, 0), weight(1, 1)},
			}
			for u, r := range rows {
				for v, x := range [3]float32{r[0], r[0] + r[1], r[1]} {
					p.weights[((3*u+v)*g.smallC+s)*16+i*g.bigC+c] = x
				}
			}
		}
	}
}

func (p *winogradNarrow) run(s *convWorker, bias, out []float32, images, flags int) {
	n := p.g.bigPixels() * p.g.bigC
	for i := range images {
		p.image(s, s.small[i*p.g.smallSize:], bias, out[i*n:(i+1)*n], flags)
	}
}

func (p *winogradNarrow) image(s *convWorker, small, bias, out []float32, flags int) {
	g, t := p.g, &s.tile
	n := p.blocksX * p.blocksY
	for i := range p.blocksY { // place 2i of the padded rows sees small rows 2i-1, 2i and 2i+1
		src := small[(2*i-1+g.smallTop)*g.smallLine+(g.smallTop-1)*g.smallC:]
		inputs9.run(s.inputs[i*p.blocksX*g.smallC:], src, g.smallC, n*g.smallC, g.smallLine, g.smallC, p.blocksX, g.smallC,
			2*g.smallC)
	}
	t.Steps, t.AStep, t.Segs, t.Blocks, t.Width, t.BStep, t.Flags = g.smallC, 1, 1, 1, 16, 16, 0
	for uv := range 9 {
		t.A, t.B, t.C = s.inputs[uv*n*g.smallC:], p.weights[uv*g.smallC*16:], s.products[uv*n*16:]
		s.sweep(p.rows, p.cRows, n, 16)
	}
	columns := p.zeros
	if bias != nil {
		columns = t.Columns[:]
		for i := range 16 {
			columns[i] = bias[i%g.bigC]
		}
	}
	blocks := s.products[9*n*16:]
	outputs9.run(blocks, s.products, columns, 16, n*16, 32, 16, n, 64, 16, floorOf(flags))
	p.writeBlocks(out, blocks)
}

// writeBlocks copies the outputs, [down][across][2][2][4 phases][bigC], to their pixels:
// the two column phases of a place are neighbours.
func (p *winogradNarrow) writeBlocks(out, blocks []float32) {
	g := p.g
	pair, line := 2*g.bigC, g.bigW*g.bigC
	for y := range g.bigH {
		place, py := (y+g.padH)/2, (y+g.padH)%2
		src := blocks[(place/2*p.blocksX*4+place%2*2)*16+py*pair:]
		dst := out[y*line : (y+1)*line]
		copy(dst, src[g.bigC:pair]) // the first place begins one pixel before the image
		for x := g.bigC; x+pair <= line; x += pair {
			k := (x/g.bigC + g.padW) / 2
			offset := (k/2*4 + k%2) * 16
			copy(dst[x:x+pair], src[offset:offset+pair])
		}
		k := g.bigW / 2
		copy(dst[line-g.bigC:], src[(k/2*4+k%2)*16:][:g.bigC])
	}
}
