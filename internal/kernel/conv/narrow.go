package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// narrow spreads to big images with few channels. All pixels of a block of side x side small pixels are columns of one
// panel of 16, because an image with 1 or 3 channels would leave most of a panel empty. Each column also has the taps
// of its neighbours, with weight zero.
type narrow struct {
	g           *geometry
	side        int // small pixels along an edge of a block
	edge        int // big pixels along an edge of a block
	window      int // small pixels along an edge of a block's window
	windowStart int // start of the window, relative to the block
	weights     []float32
	rows        []int
	cRows       []int
}

func (p *narrow) scratch() (inputs, products int) { return 0, 16 * len(p.rows) }

// narrowSide returns the side of the blocks in narrow, or 0 if there are too many channels.
func narrowSide(stride, channels int) int {
	side := 0
	for n := 1; stride*n*stride*n*channels <= 16; n++ {
		side = n
	}
	return side
}

func newNarrow(g *geometry) *narrow {
	p := &narrow{g: g, side: g.narrow, edge: g.narrow * g.stride, windowStart: -g.smallTop}
	last := 0
	for phase := range g.stride {
		_, qy := g.tapsY(phase)
		_, qx := g.tapsX(phase)
		last = max(last, qy, qx)
	}
	p.window = last - p.windowStart + p.side
	p.weights = make([]float32, p.window*p.window*g.smallC*16)
	for i := range (g.bigH + p.edge - 1) / p.edge {
		for j := range (g.bigW + p.edge - 1) / p.edge {
			p.rows = append(p.rows, p.side*(i*g.smallLine+j*g.smallC))
			p.cRows = append(p.cRows, 16*len(p.cRows))
		}
	}
	return p
}

func (p *narrow) packs() int { return p.window }

// pack lays out row y of the window: [window, window, smallC][edge, edge, bigC].
func (p *narrow) pack(w []float32, y int) {
	n := p.window * p.g.smallC * 16
	p.packRow(p.weights[y*n:(y+1)*n], w, y)
}

// packRow lays out row y of the window in row.
func (p *narrow) packRow(row, w []float32, y int) {
	g := p.g
	for x := range p.window {
		dst := row[x*g.smallC*16:][:g.smallC*16]
		clear(dst)
		for dy := range p.edge {
			ky := dy + g.padH - g.stride*(p.windowStart+y)
			for dx := range p.edge {
				kx := dx + g.padW - g.stride*(p.windowStart+x)
				if ky < 0 || ky >= g.kernelH || kx < 0 || kx >= g.kernelW {
					continue
				}
				tap := w[(ky*g.kernelW+kx)*g.bigC*g.smallC:]
				for c := range g.bigC {
					column := (dy*p.edge+dx)*g.bigC + c
					for s := range g.smallC {
						dst[s*16+column] = tap[c*g.smallC+s]
					}
				}
			}
		}
	}
}

func (p *narrow) run(s *convWorker, bias, out []float32, images, flags int) {
	n := p.g.bigPixels() * p.g.bigC
	for i := range images {
		p.image(s, s.small[i*p.g.smallSize:], p.g.smallC, p.g.smallLine, bias, out[i*n:(i+1)*n], flags)
	}
}

// image computes one image from a small image. channels and smallLine are the strides of pixels and rows. It computes
// the blocks first and then copies them to their positions.
func (p *narrow) image(s *convWorker, small []float32, channels, smallLine int, bias, out []float32, flags int) {
	g, t, scratch := p.g, &s.tile, s.products
	segment := p.window * channels
	t.A, t.Steps, t.AStep, t.Segs, t.ASeg, t.Blocks = small, segment, 1, p.window, smallLine, 1
	t.B, t.Width, t.BStep, t.BSeg = p.weights, 16, 16, segment*16
	t.C, t.Flags = scratch, flags
	if bias != nil {
		for i := range 16 {
			t.Columns[i] = bias[i%g.bigC]
		}
		t.Bias = t.Columns[:]
	}
	t.Sweep(p.rows, p.cRows, len(p.rows), 16)
	line := g.bigW * g.bigC
	blocksX := (g.bigW + p.edge - 1) / p.edge
	for i := range p.rows {
		y, x := i/blocksX*p.edge, i%blocksX*p.edge
		n := min(p.edge, g.bigW-x) * g.bigC
		block := scratch[16*i : 16*i+16]
		for dy := range min(p.edge, g.bigH-y) {
			start := dy * p.edge * g.bigC
			copy(out[(y+dy)*line+x*g.bigC:][:n], block[start:start+n])
		}
	}
}

// narrowTaps spreads to big images with one channel, for kernel 4 and stride 2. The 16 taps of a small pixel are the
// columns of a panel. Each big pixel is the sum of four overlapping taps.
type narrowTaps struct {
	g       *geometry
	weights []float32 // [smallC][4, 4]
	zeros   []float32 // taps of a row outside the image
	lines   []int32   // a block of rows, to prefetch
}

func narrowTapsFits(g *geometry) bool {
	return g.kernelH == 4 && g.kernelW == 4 && g.stride == 2 && g.bigC == 1 && g.padH == 1 && g.padW == 1 &&
		g.bigH == 2*g.smallH && g.bigW == 2*g.smallW
}

func newNarrowTaps(g *geometry) *narrowTaps {
	lines := make([]int32, g.smallC)
	for i := range lines {
		lines[i] = int32(64 * i)
	}
	return &narrowTaps{g: g, weights: make([]float32, 16*g.smallC), zeros: make([]float32, 16*g.smallW), lines: lines}
}

func (p *narrowTaps) packs() int { return 1 }

func (p *narrowTaps) pack(w []float32, _ int) {
	simd.Transpose(p.weights, w, 16, p.g.smallC, 16, p.g.smallC)
}

func (p *narrowTaps) scratch() (inputs, products int) { return 0, 16 * p.g.smallPixels() }

func (p *narrowTaps) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	p.spread(s, s.small[g.smallOrigin():], g.smallLine, g.smallSize, bias, out, images, flags)
}

// spread computes images from small images. line is the stride of rows, size the stride of images.
func (p *narrowTaps) spread(s *convWorker, small []float32, line, size int, bias, out []float32, images, flags int) {
	g := p.g
	row, taps := 16*g.smallW, s.products
	m := &s.panel
	*m = simd.Panel{B: p.weights, Lines: p.lines, ARow: g.smallC, AStep: 1, BStep: 16, CRow: 16, Steps: g.smallC,
		Columns: 16, Width: 16}
	rows, pixels := g.smallH, g.smallW
	if line == g.smallW*g.smallC { // the rows are contiguous
		rows, pixels = 1, g.smallPixels()
	}
	shift := float32(0)
	if bias != nil {
		shift = bias[0]
	}
	for i := range images {
		for r := range rows {
			m.Rows = pixels // the micro-kernel may decrease it
			m.A, m.C = small[i*size+r*line:], taps[r*row:]
			m.Ahead, m.AheadRow = small[min(len(small)-1, (i+1)*size+r*line):], g.smallC
			m.Compute()
		}
		dst := out[i*g.bigPixels():]
		for y := range g.smallH {
			above, current, below := p.zeros, taps[y*row:(y+1)*row], p.zeros
			if y > 0 {
				above = taps[(y-1)*row : y*row]
			}
			if y+1 < g.smallH {
				below = taps[(y+1)*row : (y+2)*row]
			}
			addTaps(dst[2*y*g.bigW:(2*y+1)*g.bigW], current[4:], above[12:], shift)
			addTaps(dst[(2*y+1)*g.bigW:(2*y+2)*g.bigW], current[8:], below, shift)
		}
		if flags&simd.ApplyReLU != 0 {
			kernel.ReLUActivation.Apply(dst[:g.bigPixels()])
		}
	}
}

// addTaps computes a row of big pixels from two rows of the kernel, a and b. Each small pixel yields two big pixels.
// They sum its second and third column, the last column of the pixel before and the first column of the pixel behind.
func addTaps(dst, a, b []float32, shift float32) {
	last := float32(0)
	for len(dst) > 2 {
		x, y := a[:17], b[:17]
		dst[0] = shift + (x[1] + y[1]) + last
		dst[1] = shift + (x[2] + y[2]) + (x[16] + y[16])
		last = x[3] + y[3]
		dst, a, b = dst[2:], a[16:], b[16:]
	}
	dst[0] = shift + (a[1] + b[1]) + last
	dst[1] = shift + (a[2] + b[2])
}
