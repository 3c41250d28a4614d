package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// A convolution and a transposed convolution need three products. Gathering maps patches of the big images to pixels of
// the small images: the forward pass of a convolution, and the input gradient of a transposed convolution. Spreading
// maps pixels of the small images to patches of the big images: the forward pass of a transposed convolution, and the
// input gradient of a convolution. The third product is the weight gradient. Each product has an implementation for any
// geometry, and faster ones for some.

// product gathers or spreads a chunk of padded images in the scratch memory of a worker. Gathering reads big images,
// and spreading reads small images.
type product interface {
	packs() int                 // number of items of pack
	pack(w []float32, part int) // lays out the weights, [kernel, kernel, bigC, smallC]
	// run computes the images in out; flags are the flags of a tile.
	run(s *convWorker, bias, out []float32, images, flags int)
	scratch() (inputs, products int) // sizes of the worker's arrays with these names
}

// gradient computes the weight gradient: patches of the big images times pixels of the small images, summed over pixels
// and images.
type gradient interface {
	// run adds the images of a chunk to a share of a group's sums, which have the size of the weights. reset starts new
	// sums.
	run(s *convWorker, sums []float32, share int, small smallImages, images int, reset bool)
	scratch() (inputs, products int)
}

// smallImages are small images with strides for pixels (pixel, a multiple of 16), rows (line) and images (size).
type smallImages struct {
	x                 []float32
	pixel, line, size int
}

// newProducts chooses the implementations of the products.
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

// gather gathers for any geometry: patches of the big image, read in place, times the weights.
type gather struct {
	g       *geometry
	panels  simd.Panels
	weights []float32 // panel by panel: [patch][width]
	rows    []int     // offset of each patch in a chunk of padded images
	cRows   []int
	line    int // numbers, or pairs of them, in a padded row
}

func newGather(g *geometry) *gather { return newPackedGather(g, 1) }

// newPackedGather returns a gather that multiplies numbers (packing 1) or pairs of numbers (packing 2).
func newPackedGather(g *geometry, packing int) *gather {
	p := &gather{g: g, panels: simd.NewPanels(g.smallC), line: (g.bigLine + packing - 1) / packing}
	p.weights = make([]float32, g.patch()/packing*p.panels.Padded)
	for image := range g.chunk {
		for y := range g.smallH {
			for x := range g.smallW {
				p.rows = append(p.rows, (image*g.bigRows()+y*g.stride)*p.line+x*g.stride*g.bigC/packing)
			}
		}
	}
	p.cRows = simd.RowTable(len(p.rows), g.smallC)
	return p
}

func (p *gather) packs() int { return p.panels.Count }

func (p *gather) scratch() (inputs, products int) { return 0, 0 }

// pack lays out panel i of the weights w, [patch, smallC].
func (p *gather) pack(w []float32, i int) {
	offset, width, columns := p.panels.At(i)
	k, n := p.g.patch(), p.g.smallC
	dst := p.weights[offset*k:]
	for r := range k {
		copy(dst[r*width:r*width+columns], w[r*n+offset:])
	}
}

func (p *gather) run(s *convWorker, bias, out []float32, images, flags int) {
	p.multiply(s, s.big, p.g.kernelW*p.g.bigC, bias, out, images, flags)
}

// multiply multiplies the patches in big, whose rows are segments, by the weights.
func (p *gather) multiply(s *convWorker, big []float32, segment int, bias, out []float32, images, flags int) {
	g, t := p.g, &s.tile
	t.A = big
	t.Steps, t.AStep, t.Segs, t.ASeg, t.Blocks = segment, 1, g.kernelH, p.line, 1
	for i := range p.panels.Count {
		offset, width, columns := p.panels.At(i)
		t.B = p.weights[offset*segment*g.kernelH:]
		t.Width, t.BStep, t.BSeg = width, width, segment*width
		t.C, t.Flags = out[offset:], flags
		if bias != nil {
			t.Bias = bias[offset:]
		}
		s.sweep(p.rows, p.cRows, images*g.smallPixels(), columns)
	}
}

// scatter spreads for any geometry. All big pixels of a phase (row mod stride, column mod stride) use the same taps, so
// each phase is a small convolution.
type scatter struct {
	g       *geometry
	panels  simd.Panels
	weights []float32
	phases  []phase
}

type phase struct {
	tapsY, tapsX int
	qy, qx       int
	py, px       int
	weightOffset int // offset of its weights: [tapsY, tapsX, smallC][width], panel by panel
	rows, cRows  []int
}

func newScatter(g *geometry) *scatter {
	s := &scatter{g: g, panels: simd.NewPanels(g.bigC)}
	size := 0
	for py := range g.stride {
		for px := range g.stride {
			f := phase{py: py, px: px, weightOffset: size * s.panels.Padded}
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
	s.weights = make([]float32, size*s.panels.Padded)
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
			for n := range s.panels.Count {
				offset, width, columns := s.panels.At(n)
				dst := s.weights[f.weightOffset+offset*depth+(a*f.tapsX+e)*g.smallC*width:]
				simd.Transpose(dst, tap[offset*g.smallC:], width, g.smallC, columns, g.smallC)
			}
		}
	}
}

func (s *scatter) run(w *convWorker, bias, out []float32, images, flags int) {
	n := s.g.bigPixels() * s.g.bigC
	for i := range images {
		s.spreadImage(&w.tile, w.small[i*s.g.smallSize:], s.g.smallC, s.g.smallLine, bias, out[i*n:(i+1)*n], flags)
	}
}

// spreadImage computes one image from a small image. channels and line are the strides of pixels and rows.
func (s *scatter) spreadImage(t *simd.Tile, small []float32, channels, line int, bias, out []float32, flags int) {
	t.A = small
	for i := range s.phases {
		f := &s.phases[i]
		depth := f.tapsY * f.tapsX * channels
		if depth == 0 {
			s.fillBias(f, bias, out, flags)
			continue
		}
		segment := f.tapsX * channels
		t.Steps, t.AStep, t.Segs, t.ASeg, t.Blocks = segment, 1, f.tapsY, line, 1
		for n := range s.panels.Count {
			offset, width, columns := s.panels.At(n)
			t.B = s.weights[f.weightOffset+offset*depth:]
			t.Width, t.BStep, t.BSeg = width, width, segment*width
			t.C, t.Flags = out[offset:], flags
			if bias != nil {
				t.Bias = bias[offset:]
			}
			t.Sweep(f.rows, f.cRows, len(f.rows), columns)
		}
	}
}

// fillBias sets the pixels of a phase without taps (a kernel smaller than the stride).
func (s *scatter) fillBias(f *phase, bias, out []float32, flags int) {
	for _, offset := range f.cRows {
		if flags&simd.AddBias == 0 {
			clear(out[offset : offset+s.g.bigC])
			continue
		}
		for c := range s.g.bigC {
			v := bias[c]
			if flags&simd.ApplyReLU != 0 {
				v = max(v, 0)
			}
			out[offset+c] = v
		}
	}
}

// weightGradient is the weight gradient for any geometry.
type weightGradient struct {
	g           *geometry
	panels      simd.Panels
	rows, cRows []int
}

func newWeightGradient(g *geometry) *weightGradient {
	p := &weightGradient{g: g, panels: simd.NewPanels(g.smallC)}
	for ky := range g.kernelH {
		for k := range g.kernelW * g.bigC {
			p.rows = append(p.rows, ky*g.bigLine+k)
			p.cRows = append(p.cRows, len(p.cRows)*g.smallC)
		}
	}
	return p
}

func (p *weightGradient) run(s *convWorker, sums []float32, share int, small smallImages, images int, reset bool) {
	g, t := p.g, &s.tile
	t.A = s.big
	t.Steps, t.AStep = g.smallW, g.stride*g.bigC
	t.Segs, t.ASeg = g.smallH, g.stride*g.bigLine
	t.Blocks, t.ABlk = images, g.bigSize
	t.BStep, t.BSeg, t.BBlk = small.pixel, small.line, small.size
	p.sum(s, sums, share, small.x, reset)
}

// sum adds the products of a tile's left operand and small images to a share of a group's sums, or begins it.
func (p *weightGradient) sum(s *convWorker, sums []float32, share int, small []float32, reset bool) {
	t := &s.tile
	t.Flags = simd.Accumulate
	if reset {
		t.Flags = 0
	}
	start, end := share*len(p.rows)/p.g.shares, (share+1)*len(p.rows)/p.g.shares
	for i := range p.panels.Count {
		offset, width, columns := p.panels.At(i)
		t.Width = width
		t.B, t.C = small[offset:], sums[offset:]
		s.sweep(p.rows[start:end], p.cRows[start:end], end-start, columns)
	}
}

func (p *weightGradient) scratch() (inputs, products int) { return 0, 0 }
