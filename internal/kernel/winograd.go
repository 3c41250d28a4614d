package kernel

import "math"

// The products of a convolution with kernel 4 and stride 2 by Winograd's F(2x2,
// 2x2) (Winograd 1980; Lavin and Gray 2016): the pixels of one phase (row mod 2,
// column mod 2) of the big image see a kernel of 2x2 taps, and a block of 2x2
// outputs of such a kernel takes 9 multiplications in place of 16. In one
// dimension, with inputs d, taps g and outputs y_i = d_i g_0 + d_{i+1} g_1,
//
//	m = ((d0-d1) g0, d1 (g0+g1), (d1-d2) g1),  y = (m0+m1, m1-m2)
//
// In two dimensions the transforms apply to rows and columns. The sums over
// channels become 9 matrix products on the transformed arrays.

// winogradFits reports whether a geometry allows this method, and is large enough to gain from it.
func winogradFits(g *geometry) bool {
	return g.kernelH == 4 && g.kernelW == 4 && g.stride == 2 && g.bigC%16 == 0 && g.smallC%16 == 0 &&
		g.smallH%2 == 0 && g.smallW%2 == 0 && g.bigH == 2*g.smallH && g.bigW == 2*g.smallW && g.padH%2 == 1 && g.padW%2 == 1
}

// winograd is the common part of the three products.
type winograd struct {
	g      *geometry
	tilesY int // blocks of 2x2 small pixels
	tilesX int
}

func newWinograd(g *geometry) winograd {
	return winograd{g: g, tilesY: g.smallH / 2, tilesX: g.smallW / 2}
}

// tiles returns the number of blocks of a chunk of images.
func (w *winograd) tiles(images int) int { return images * w.tilesY * w.tilesX }

// rowTable lists the offsets of n rows of a given length.
func rowTable(n, length int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i * length
	}
	return rows
}

var noFloor = float32(math.Inf(-1))

func floorOf(flags int) float32 {
	if flags&applyReLU != 0 {
		return 0
	}
	return noFloor
}

// winogradGather gathers.
type winogradGather struct {
	winograd
	panels      panels
	weights     []float32 // [9][panel][depth][width]
	zeros       []float32
	rows, cRows []int
}

func newWinogradGather(g *geometry) *winogradGather {
	p := &winogradGather{winograd: newWinograd(g), panels: newPanels(g.smallC), zeros: make([]float32, g.smallC)}
	p.weights = make([]float32, 9*p.depth()*g.smallC)
	n := p.tiles(g.chunk)
	p.rows, p.cRows = rowTable(n, p.depth()), rowTable(n, g.smallC)
	return p
}

// depth returns the length of the sums: the channels of all four phases.
func (p *winogradGather) depth() int { return 4 * p.g.bigC }

func (p *winogradGather) parts() int { return 4 }

// pack transforms the weights of phase i: rows 2a+py and columns 2b+px of the kernel.
func (p *winogradGather) pack(w []float32, i int) {
	g := p.g
	tap := g.bigC * g.smallC
	for n := range p.panels.count {
		first, width, _ := p.panels.at(n)
		src := w[((i/2)*g.kernelW+i%2)*tap+first:]
		dst := p.weights[first*p.depth()+i*g.bigC*width:]
		expand4(dst, src, width, p.depth()*g.smallC, 2*g.kernelW*tap, 2*tap, g.bigC, width, g.smallC)
	}
}

func (p *winogradGather) scratch() (inputs, products int) {
	n := p.tiles(p.g.chunk)
	return 9 * n * p.depth(), 9 * n * p.g.smallC
}

// transform writes the 9 transformed inputs, [9][tiles][4][bigC], of a chunk of padded images.
func (w *winograd) transform(v, big []float32, images int) {
	g := w.g
	depth := 4 * g.bigC
	stride := w.tiles(images) * depth
	for image := range images {
		for i := range w.tilesY {
			dst := v[(image*w.tilesY+i)*w.tilesX*depth:]
			for phase := range 4 {
				src := big[image*g.bigSize+(4*i+phase/2)*g.bigLine+phase%2*g.bigC:]
				expand9(dst[phase*g.bigC:], src, g.bigC, stride, 2*g.bigLine, 2*g.bigC, w.tilesX, depth, 4*g.bigC)
			}
		}
	}
}

func (p *winogradGather) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	n, depth := p.tiles(images), p.depth()
	p.transform(s.inputs, s.big, images)
	t := &s.tile
	t.steps, t.aStep, t.segs, t.blocks = depth, 1, 1, 1
	for uv := range 9 {
		for i := range p.panels.count {
			first, width, columns := p.panels.at(i)
			t.a, t.b, t.c = s.inputs[uv*n*depth:], p.weights[(uv*g.smallC+first)*depth:], s.products[uv*n*g.smallC+first:]
			t.width, t.bStep, t.flags = width, width, 0
			t.sweep(p.rows, p.cRows, n, columns)
		}
	}
	if bias == nil {
		bias = p.zeros
	}
	line := g.smallW * g.smallC
	for row := range images * p.tilesY { // a row of tiles is two rows of pixels
		contract9(out[2*row*line:], s.products[row*p.tilesX*g.smallC:], bias, g.smallC, n*g.smallC, line, g.smallC,
			p.tilesX, 2*g.smallC, g.smallC, floorOf(flags))
	}
}

// winogradSpread spreads. The big pixels of a phase, in pairs, are the outputs.
type winogradSpread struct {
	winograd
	panels      panels
	weights     []float32 // [4 phases][9][panel][smallC][width]
	transposed  []float32 // [4 phases][2][2][smallC][bigC]
	zeros       []float32
	rows, cRows []int
}

func newWinogradSpread(g *geometry) *winogradSpread {
	p := &winogradSpread{winograd: newWinograd(g), panels: newPanels(g.bigC), zeros: make([]float32, g.bigC)}
	p.weights = make([]float32, 4*9*g.smallC*g.bigC)
	p.transposed = make([]float32, 4*4*g.smallC*g.bigC)
	n := p.tiles(g.chunk)
	p.rows, p.cRows = rowTable(n, g.smallC), rowTable(n, g.bigC)
	return p
}

func (p *winogradSpread) parts() int { return 4 }

// pack transposes and transforms the weights of phase i. Row r of the phase is
// small[r-1] w[2+py] + small[r] w[py], so the taps stand in reverse order.
func (p *winogradSpread) pack(w []float32, i int) {
	g := p.g
	tap := g.bigC * g.smallC
	taps := p.transposed[4*i*tap:]
	for a := range 2 {
		for b := range 2 {
			src := w[((2*(1-a)+i/2)*g.kernelW+2*(1-b)+i%2)*tap:]
			transpose(taps[(2*a+b)*tap:], src, g.bigC, g.smallC, g.bigC, g.smallC)
		}
	}
	for n := range p.panels.count {
		first, width, _ := p.panels.at(n)
		expand4(p.weights[9*i*tap+first*g.smallC:], taps[first:], width, tap, 2*tap, tap, g.smallC, width, g.bigC)
	}
}

func (p *winogradSpread) scratch() (inputs, products int) {
	n := p.tiles(p.g.chunk)
	return 9 * n * p.g.smallC, 9 * n * p.g.bigC
}

func (p *winogradSpread) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	n := p.tiles(images)
	if bias == nil {
		bias = p.zeros
	}
	line := g.bigW * g.bigC
	for phase := range 4 {
		py, px := phase/2, phase%2
		y0, x0 := (g.padH-py+1)/2, (g.padW-px+1)/2 // the first row and column of the phase inside the image
		for row := range images * p.tilesY {
			image, i := row/p.tilesY, row%p.tilesY
			src := s.small[image*g.smallSize+(y0+2*i-1+g.smallTop)*g.smallLine+(x0-1+g.smallTop)*g.smallC:]
			expand9(s.inputs[row*p.tilesX*g.smallC:], src, g.smallC, n*g.smallC, g.smallLine, g.smallC, p.tilesX, g.smallC, 2*g.smallC)
		}
		p.multiply(s, phase, n)
		for row := range images * p.tilesY {
			image, i := row/p.tilesY, row%p.tilesY
			y, x := 2*(y0+2*i)+py-g.padH, 2*x0+px-g.padW
			contract9(out[(image*g.bigH+y)*line+x*g.bigC:], s.products[row*p.tilesX*g.bigC:], bias, g.bigC, n*g.bigC, 2*line, 2*g.bigC,
				p.tilesX, 4*g.bigC, g.bigC, floorOf(flags))
		}
	}
}

// multiply computes the 9 products of a phase.
func (p *winogradSpread) multiply(s *convWorker, phase, n int) {
	g := p.g
	t := &s.tile
	t.steps, t.aStep, t.segs, t.blocks = g.smallC, 1, 1, 1
	for uv := range 9 {
		for i := range p.panels.count {
			first, width, columns := p.panels.at(i)
			t.a, t.b = s.inputs[uv*n*g.smallC:], p.weights[((9*phase+uv)*g.bigC+first)*g.smallC:]
			t.c = s.products[uv*n*g.bigC+first:]
			t.width, t.bStep, t.flags = width, width, 0
			t.sweep(p.rows, p.cRows, n, columns)
		}
	}
}

// winogradGradient is the gradient of the weights: here the small image's pixels are the
// taps, and the kernel's taps are the outputs.
type winogradGradient struct {
	winograd
	panels      panels
	rows, cRows []int
	sums        []float32 // [groups][9][4 phases][bigC][smallC]
	zeros       []float32
}

func newWinogradGradient(g *geometry) *winogradGradient {
	p := &winogradGradient{winograd: newWinograd(g), panels: newPanels(g.smallC), zeros: make([]float32, g.smallC)}
	p.rows, p.cRows = rowTable(p.depth(), 1), rowTable(p.depth(), g.smallC)
	return p
}

func (p *winogradGradient) prepare() {
	if p.sums == nil {
		p.sums = make([]float32, p.g.groups*p.size())
	}
}

func (p *winogradGradient) depth() int { return 4 * p.g.bigC }

// size returns the length of the sums of one group.
func (p *winogradGradient) size() int { return 9 * p.depth() * p.g.smallC }

func (p *winogradGradient) scratch() (inputs, products int) {
	n := p.tiles(p.g.chunk)
	return 9 * n * p.depth(), 9 * n * p.g.smallC
}

func (p *winogradGradient) run(s *convWorker, small []float32, _, line, size, images, group int, fresh bool) {
	g := p.g
	n, depth := p.tiles(images), p.depth()
	p.transform(s.inputs, s.big, images)
	for row := range images * p.tilesY {
		image, i := row/p.tilesY, row%p.tilesY
		expand4(s.products[row*p.tilesX*g.smallC:], small[image*size+2*i*line:], g.smallC, n*g.smallC, line, g.smallC, p.tilesX, g.smallC, 2*g.smallC)
	}
	t := &s.tile
	t.steps, t.aStep, t.segs, t.blocks = n, depth, 1, 1
	t.bStep, t.flags = g.smallC, accumulate
	if fresh {
		t.flags = 0
	}
	sums := p.sums[group*p.size():]
	for uv := range 9 {
		for i := range p.panels.count {
			first, width, columns := p.panels.at(i)
			t.width = width
			t.a, t.b, t.c = s.inputs[uv*n*depth:], s.products[uv*n*g.smallC+first:], sums[uv*depth*g.smallC+first:]
			t.sweep(p.rows, p.cRows, depth, columns)
		}
	}
}

// gradientChannels is the number of channels of the big image in a part of total.
const gradientChannels = 8

func (p *winogradGradient) parts() int { return 4 * p.g.bigC / gradientChannels }

// total adds the groups' sums and transforms them to the weights' gradient dw,
// [kernel, kernel, bigC, smallC], for some channels of one phase.
func (p *winogradGradient) total(dw []float32, part int) {
	g := p.g
	first := part * gradientChannels // of all phases' channels
	phase, channel := first/g.bigC, first%g.bigC
	from, n := first*g.smallC, gradientChannels*g.smallC
	stride := p.depth() * g.smallC
	for group := 1; group < g.groups; group++ {
		for uv := range 9 {
			add(p.sums[uv*stride+from:][:n], p.sums[group*p.size()+uv*stride+from:][:n])
		}
	}
	tap := g.bigC * g.smallC
	contract9(dw[(phase/2*g.kernelW+phase%2)*tap+channel*g.smallC:], p.sums[from:], p.zeros, g.smallC, stride, 2*g.kernelW*tap, 2*tap,
		gradientChannels, g.smallC, g.smallC, noFloor)
}
