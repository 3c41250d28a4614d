package kernel

// A convolution and a transposed convolution need three products. Gathering turns patches of the big images into pixels
// of the small images: the convolution itself, and the gradient that a transposed convolution passes back. Spreading
// turns small pixels into patches of the big images: the transposed convolution, and the gradient that a convolution
// passes back. The third product is the gradient of the weights. Each product exists in a form for any geometry, and in
// faster forms for some.

// product gathers or spreads a chunk of padded images in a worker's scratch. It gathers big images and spreads small
// images.
type product interface {
	packs() int                 // items of work of pack
	pack(w []float32, part int) // lays out the weights, [kernel, kernel, bigC, smallC]
	// run computes a number of images of out; flags are a tile's.
	run(s *convWorker, bias, out []float32, images, flags int)
	scratch() (inputs, products int) // elements of the worker's arrays of these names
}

// gradient computes the gradient of the weights: patches of the big images times pixels of the small images, summed
// over pixels and images.
type gradient interface {
	// run adds the images of a chunk to a share of the sums of a group, as many as weights, or begins them.
	run(s *convWorker, sums []float32, share int, small smallImages, images int, fresh bool)
	scratch() (inputs, products int)
}

// smallImages lie with pixels of pixel elements, a multiple of 16, rows of line and images of size elements.
type smallImages struct {
	x                 []float32
	pixel, line, size int
}

// newProducts chooses the forms of the products.
func newProducts(g *geometry) (gathering, spreading product, weights gradient) {
	if winogradFits(g) {
		return newWinogradGather(g), newWinogradSpread(g), newWinogradGradient(g)
	}
	if winogradNarrowFits(g) {
		return newGather(g), newWinogradNarrow(g), newWeightGradient(g)
	}
	if narrowTapsFits(g) {
		return newGather(g), newNarrowTaps(g), newWeightGradient(g)
	}
	if g.narrow > 0 {
		return newGather(g), newNarrow(g), newWeightGradient(g)
	}
	return newGather(g), newScatter(g), newWeightGradient(g)
}

// gather gathers in any geometry: patches of the big image, read where
// they lie, times the weights.
type gather struct {
	g       *geometry
	panels  panels
	weights []float32 // panel after panel: [patch][width]
	rows    []int     // start of each patch of a chunk of padded images
	cRows   []int
}

func newGather(g *geometry) *gather {
	p := &gather{g: g, panels: newPanels(g.smallC)}
	p.weights = make([]float32, g.patch()*p.panels.padded)
	for image := range g.chunk {
		for y := range g.smallH {
			for x := range g.smallW {
				p.rows = append(p.rows, image*g.bigSize+y*g.stride*g.bigLine+x*g.stride*g.bigC)
			}
		}
	}
	for i := range p.rows {
		p.cRows = append(p.cRows, i*g.smallC)
	}
	return p
}

func (p *gather) packs() int { return p.panels.count }

func (p *gather) scratch() (inputs, products int) { return 0, 0 }

// pack lays out panel i of the weights w, [patch, smallC].
func (p *gather) pack(w []float32, i int) {
	first, width, columns := p.panels.at(i)
	k, n := p.g.patch(), p.g.smallC
	dst := p.weights[first*k:]
	for r := range k {
		copy(dst[r*width:r*width+columns], w[r*n+first:])
	}
}

func (p *gather) run(s *convWorker, bias, out []float32, images, flags int) {
	g, t := p.g, &s.tile
	segment := g.kernelW * g.bigC
	t.a = s.big
	t.steps, t.aStep, t.segs, t.aSeg, t.blocks = segment, 1, g.kernelH, g.bigLine, 1
	for i := range p.panels.count {
		first, width, columns := p.panels.at(i)
		t.b = p.weights[first*g.patch():]
		t.width, t.bStep, t.bSeg = width, width, segment*width
		t.c, t.flags = out[first:], flags
		if bias != nil {
			t.bias = bias[first:]
		}
		t.sweep(p.rows, p.cRows, images*g.smallPixels(), columns)
	}
}

// scatter spreads in any geometry. The big pixels of one phase (row mod stride, column mod stride) meet the same taps,
// so each phase is a small convolution.
type scatter struct {
	g       *geometry
	panels  panels
	weights []float32
	phases  []phase
}

type phase struct {
	tapsY, tapsX int
	qy, qx       int
	py, px       int
	at           int // offset of its weights: [tapsY, tapsX, smallC][width] panel after panel
	rows, cRows  []int
}

func newScatter(g *geometry) *scatter {
	s := &scatter{g: g, panels: newPanels(g.bigC)}
	size := 0
	for py := range g.stride {
		for px := range g.stride {
			f := phase{py: py, px: px, at: size * s.panels.padded}
			f.tapsY, f.qy = g.tapsY(py)
			f.tapsX, f.qx = g.tapsX(px)
			size += f.tapsY * f.tapsX * g.smallC
			for i := range g.span(g.bigH, py) {
				for j := range g.span(g.bigW, px) {
					f.rows = append(f.rows, (i+f.qy-f.tapsY+1+g.smallTop)*g.smallLine+(j+f.qx-f.tapsX+1+g.smallTop)*g.smallC)
					f.cRows = append(f.cRows, ((g.stride*i+py)*g.bigW+g.stride*j+px)*g.bigC)
				}
			}
			s.phases = append(s.phases, f)
		}
	}
	s.weights = make([]float32, size*s.panels.padded)
	return s
}

func (s *scatter) packs() int { return len(s.phases) }

func (s *scatter) scratch() (inputs, products int) { return 0, 0 }

func (s *scatter) pack(w []float32, i int) {
	g, f := s.g, &s.phases[i]
	depth := f.tapsY * f.tapsX * g.smallC
	for a := range f.tapsY {
		ky := (f.py+g.padH)%g.stride + g.stride*(f.tapsY-1-a)
		for e := range f.tapsX {
			kx := (f.px+g.padW)%g.stride + g.stride*(f.tapsX-1-e)
			tap := w[(ky*g.kernelW+kx)*g.bigC*g.smallC:][:g.bigC*g.smallC]
			for n := range s.panels.count {
				first, width, columns := s.panels.at(n)
				dst := s.weights[f.at+first*depth+(a*f.tapsX+e)*g.smallC*width:]
				transpose(dst, tap[first*g.smallC:], width, g.smallC, columns, g.smallC)
			}
		}
	}
}

func (s *scatter) run(w *convWorker, bias, out []float32, images, flags int) {
	n := s.g.bigPixels() * s.g.bigC
	for i := range images {
		s.image(&w.tile, w.small[i*s.g.smallSize:], s.g.smallC, s.g.smallLine, bias, out[i*n:(i+1)*n], flags)
	}
}

// image computes one image from a small image with pixels channels apart and rows line apart.
func (s *scatter) image(t *tile, small []float32, channels, line int, bias, out []float32, flags int) {
	t.a = small
	for i := range s.phases {
		f := &s.phases[i]
		depth := f.tapsY * f.tapsX * channels
		if depth == 0 {
			s.fill(f, bias, out, flags)
			continue
		}
		segment := f.tapsX * channels
		t.steps, t.aStep, t.segs, t.aSeg, t.blocks = segment, 1, f.tapsY, line, 1
		for n := range s.panels.count {
			first, width, columns := s.panels.at(n)
			t.b = s.weights[f.at+first*depth:]
			t.width, t.bStep, t.bSeg = width, width, segment*width
			t.c, t.flags = out[first:], flags
			if bias != nil {
				t.bias = bias[first:]
			}
			t.sweep(f.rows, f.cRows, len(f.rows), columns)
		}
	}
}

// fill writes the pixels of a phase that no tap meets (a kernel smaller than the stride).
func (s *scatter) fill(f *phase, bias, out []float32, flags int) {
	for _, at := range f.cRows {
		if flags&addBias == 0 {
			clear(out[at : at+s.g.bigC])
			continue
		}
		for c := range s.g.bigC {
			v := bias[c]
			if flags&applyReLU != 0 {
				v = max(v, 0)
			}
			out[at+c] = v
		}
	}
}

// weightGradient is the gradient of the weights in any geometry.
type weightGradient struct {
	g           *geometry
	panels      panels
	rows, cRows []int
}

func newWeightGradient(g *geometry) *weightGradient {
	p := &weightGradient{g: g, panels: newPanels(g.smallC)}
	for ky := range g.kernelH {
		for k := range g.kernelW * g.bigC {
			p.rows = append(p.rows, ky*g.bigLine+k)
			p.cRows = append(p.cRows, len(p.cRows)*g.smallC)
		}
	}
	return p
}

func (p *weightGradient) run(s *convWorker, sums []float32, share int, small smallImages, images int, fresh bool) {
	g, t := p.g, &s.tile
	t.a = s.big
	t.steps, t.aStep = g.smallW, g.stride*g.bigC
	t.segs, t.aSeg = g.smallH, g.stride*g.bigLine
	t.blocks, t.aBlk = images, g.bigSize
	t.bStep, t.bSeg, t.bBlk = small.pixel, small.line, small.size
	p.sum(t, sums, share, small.x, fresh)
}

// sum adds the products of a tile's left operand and small images to a share of a group's sums, or begins it.
func (p *weightGradient) sum(t *tile, sums []float32, share int, small []float32, fresh bool) {
	t.flags = accumulate
	if fresh {
		t.flags = 0
	}
	from, to := share*len(p.rows)/p.g.shares, (share+1)*len(p.rows)/p.g.shares
	for i := range p.panels.count {
		first, width, columns := p.panels.at(i)
		t.width = width
		t.b, t.c = small[first:], sums[first:]
		t.sweep(p.rows[from:to], p.cRows[from:to], to-from, columns)
	}
}

func (p *weightGradient) scratch() (inputs, products int) { return 0, 0 }

// transpose computes dst[j*dstStride+i] = src[i*srcStride+j] for i < rows, j < columns.
func transpose(dst, src []float32, dstStride, srcStride, rows, columns int) {
	i := 0
	if columns > 0 {
		for ; i+16 <= rows && transpose16(dst[i:], src[i*srcStride:], dstStride, srcStride, columns); i += 16 {
		}
	}
	for ; i+8 <= rows; i += 8 {
		j := 0
		for ; j+8 <= columns; j += 8 {
			transpose8x8(dst[j*dstStride+i:], src[i*srcStride+j:], dstStride, srcStride)
		}
		for ; j < columns; j++ {
			for r := i; r < i+8; r++ {
				dst[j*dstStride+r] = src[r*srcStride+j]
			}
		}
	}
	for ; i < rows; i++ {
		for j := range columns {
			dst[j*dstStride+i] = src[i*srcStride+j]
		}
	}
}
