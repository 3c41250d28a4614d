package kernel

// narrowTaps spreads to big images of one channel, with kernel 4 and stride 2. The 16 taps of a small pixel are the
// columns of a panel. Each big pixel is the sum of the four taps that meet there.
type narrowTaps struct {
	g       *geometry
	weights []float32 // [smallC][4, 4]
	zeros   []float32 // taps of a row beyond the image
	idle    []int32   // a panel's lines: it prefetches nothing
}

// narrowTapsFits reports whether a geometry allows this method.
func narrowTapsFits(g *geometry) bool {
	return g.kernelH == 4 && g.kernelW == 4 && g.stride == 2 && g.bigC == 1 && g.padH == 1 && g.padW == 1 && g.bigH == 2*g.smallH && g.bigW == 2*g.smallW
}

func newNarrowTaps(g *geometry) *narrowTaps {
	return &narrowTaps{g: g, weights: make([]float32, 16*g.smallC), zeros: make([]float32, 16*g.smallW), idle: make([]int32, g.smallC)}
}

func (p *narrowTaps) packs() int { return 1 }

func (p *narrowTaps) pack(w []float32, _ int) {
	transpose(p.weights, w, 16, p.g.smallC, 16, p.g.smallC)
}

func (p *narrowTaps) scratch() (inputs, products int) { return 0, 16 * p.g.smallPixels() }

func (p *narrowTaps) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	p.spread(s, s.small[g.smallOrigin():], g.smallLine, g.smallSize, bias, out, images, flags)
}

// spread computes images from small images. line is the distance of their rows, and size of the images.
func (p *narrowTaps) spread(s *convWorker, small []float32, line, size int, bias, out []float32, images, flags int) {
	g := p.g
	row, taps := 16*g.smallW, s.products
	m := &s.panel
	*m = panel{b: p.weights, ahead: p.weights, lines: p.idle, aRow: g.smallC, aStep: 1, bStep: 16, cRow: 16, steps: g.smallC, columns: 16, width: 16}
	rows, pixels := g.smallH, g.smallW
	if line == g.smallW*g.smallC { // the rows follow each other
		rows, pixels = 1, g.smallPixels()
	}
	shift := float32(0)
	if bias != nil {
		shift = bias[0]
	}
	for i := range images {
		for r := range rows {
			m.rows = pixels // which the micro-kernel may count down
			m.a, m.c = small[i*size+r*line:], taps[r*row:]
			m.compute()
		}
		dst := out[i*g.bigPixels():]
		for y := range g.smallH {
			above, here, below := p.zeros, taps[y*row:(y+1)*row], p.zeros
			if y > 0 {
				above = taps[(y-1)*row : y*row]
			}
			if y+1 < g.smallH {
				below = taps[(y+1)*row : (y+2)*row]
			}
			addTaps(dst[2*y*g.bigW:(2*y+1)*g.bigW], here[4:], above[12:], shift)
			addTaps(dst[(2*y+1)*g.bigW:(2*y+2)*g.bigW], here[8:], below, shift)
		}
		if flags&applyReLU != 0 {
			relu(dst[:g.bigPixels()])
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
