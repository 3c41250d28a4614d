package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// newMixedProducts chooses the implementations of the products in mixed precision. They are direct: rounding Winograd's
// sums and differences of inputs and weights to bfloat16 costs too much accuracy.
func newMixedProducts(g *geometry) (gathering, spreading product, weights gradient) {
	switch {
	case winogradFits(g) && phaseTilesOf(g).side == 4: // 25 products instead of 64, in single precision, are as fast
		gathering = newWinogradGather(g)
	case g.stride*g.bigC%2 == 0 && g.kernelW*g.bigC%2 == 0:
		gathering = newMixedGather(g)
	default:
		gathering = newGather(g)
	}
	switch odd := g.smallC%2 == 1; {
	case winogradNarrowFits(g): // 9 products instead of 16, in single precision, are faster
		spreading = newWinogradNarrow(g)
	case g.narrow > 0 && odd:
		spreading = newNarrow(g)
	case g.narrow > 0:
		spreading = newMixedNarrow(g)
	case odd:
		spreading = newScatter(g)
	default:
		spreading = newMixedScatter(g)
	}
	return gathering, spreading, newMixedGradient(g)
}

// mixedGather is gather on pairs along the rows of the big images.
type mixedGather struct{ gather }

func newMixedGather(g *geometry) *mixedGather { return &mixedGather{*newPackedGather(g, 2)} }

// bigRows returns the number of rows of a padded big image.
func (g *geometry) bigRows() int { return g.bigSize / g.bigLine }

func (p *mixedGather) scratch() (inputs, products int) { return p.g.chunk * p.g.bigRows() * p.line, 0 }

func (p *mixedGather) pack(w []float32, i int) {
	offset, width, columns := p.panels.At(i)
	k, n := p.g.patch()/2, p.g.smallC
	simd.PairColumns(p.weights[offset*k:], w[offset:], w[n+offset:], k, columns, width, 2*n)
}

func (p *mixedGather) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	simd.PairRows(s.inputs, s.big, images*g.bigRows(), g.bigLine, p.line, g.bigLine)
	s.tile.Pairs = true
	p.multiply(s, s.inputs, g.kernelW*g.bigC/2, bias, out, images, flags)
	s.tile.Pairs = false
}

// mixedScatter is scatter on pairs of channels of the small images.
type mixedScatter struct{ scatter }

func newMixedScatter(g *geometry) *mixedScatter {
	p := &mixedScatter{*newScatter(g)}
	p.weights = p.weights[:len(p.weights)/2]
	for i := range p.phases {
		f := &p.phases[i]
		f.weightOffset /= 2
		for j := range f.rows {
			f.rows[j] /= 2
		}
	}
	return p
}

func (s *mixedScatter) scratch() (inputs, products int) { return s.g.chunk * s.g.smallSize / 2, 0 }

func (s *mixedScatter) pack(w []float32, i int) {
	g, f := s.g, &s.phases[i]
	half := g.smallC / 2
	depth := f.tapsY * f.tapsX * half
	m := kernel.TakeMemory(g.bigC * half)
	defer kernel.GiveMemory(m)
	pairs := *m
	for a := range f.tapsY {
		ky := (f.py+g.padH)%g.stride + g.stride*(f.tapsY-1-a)
		for e := range f.tapsX {
			kx := (f.px+g.padW)%g.stride + g.stride*(f.tapsX-1-e)
			simd.PairRows(pairs, w[(ky*g.kernelW+kx)*g.bigC*g.smallC:], g.bigC, g.smallC, half, g.smallC)
			for n := range s.panels.Count {
				offset, width, columns := s.panels.At(n)
				dst := s.weights[f.weightOffset+offset*depth+(a*f.tapsX+e)*half*width:]
				simd.Transpose(dst, pairs[offset*half:], width, half, columns, half)
			}
		}
	}
}

func (s *mixedScatter) run(w *convWorker, bias, out []float32, images, flags int) {
	g, t := s.g, &w.tile
	simd.PairRows(w.inputs, w.small, 1, images*g.smallSize, 0, 0)
	t.Pairs = true
	n := g.bigPixels() * g.bigC
	for i := range images {
		s.spreadImage(t, w.inputs[i*g.smallSize/2:], g.smallC/2, g.smallLine/2, bias, out[i*n:(i+1)*n], flags)
	}
	t.Pairs = false
}

// mixedNarrow is narrow on pairs of channels of the small images.
type mixedNarrow struct{ narrow }

func newMixedNarrow(g *geometry) *mixedNarrow {
	p := &mixedNarrow{*newNarrow(g)}
	p.weights = p.weights[:len(p.weights)/2]
	for i := range p.rows {
		p.rows[i] /= 2
	}
	return p
}

func (p *mixedNarrow) scratch() (inputs, products int) {
	_, products = p.narrow.scratch()
	return p.g.chunk * p.g.smallSize / 2, products
}

func (p *mixedNarrow) pack(w []float32, y int) {
	g := p.g
	n := p.window * g.smallC * 16
	m := kernel.TakeMemory(n)
	defer kernel.GiveMemory(m)
	p.packRow(*m, w, y)
	simd.PairColumns(p.weights[y*n/2:], *m, (*m)[16:], p.window*g.smallC/2, 16, 16, 32)
}

func (p *mixedNarrow) run(s *convWorker, bias, out []float32, images, flags int) {
	g := p.g
	simd.PairRows(s.inputs, s.small, 1, images*g.smallSize, 0, 0)
	s.tile.Pairs = true
	n := g.bigPixels() * g.bigC
	for i := range images {
		p.image(s, s.inputs[i*g.smallSize/2:], g.smallC/2, g.smallLine/2, bias, out[i*n:(i+1)*n], flags)
	}
	s.tile.Pairs = false
}

// mixedGradient is weightGradient on vertical pairs of pixels of the small images.
type mixedGradient struct {
	weightGradient
	pairRows int // rows of pairs of a big image: row r holds its rows r and r + stride
	zeros    []float32
}

func newMixedGradient(g *geometry) *mixedGradient {
	p := &mixedGradient{weightGradient: *newWeightGradient(g), zeros: make([]float32, g.bigLine)}
	p.pairRows = (p.halfH()-1)*2*g.stride + g.kernelH
	if n := g.smallW * simd.NewPanels(g.smallC).Padded; n > len(p.zeros) {
		p.zeros = make([]float32, n)
	}
	return p
}

// halfH returns the number of pairs in a column of a small image.
func (p *mixedGradient) halfH() int { return (p.g.smallH + 1) / 2 }

func (p *mixedGradient) scratch() (inputs, products int) {
	g := p.g
	return g.chunk * (p.pairRows*g.bigLine + p.halfH()*g.smallW*simd.NewPanels(g.smallC).Padded), 0
}

func (p *mixedGradient) run(s *convWorker, sums []float32, share int, small smallImages, images int, reset bool) {
	g, t := p.g, &s.tile
	pixel, line := small.pixel, small.line
	bigSize, smallSize := p.pairRows*g.bigLine, p.halfH()*g.smallW*pixel
	bigPairs, smallPairs := s.inputs[:images*bigSize], s.inputs[images*bigSize:]
	pairedRows := max(0, min(p.pairRows, g.bigRows()-g.stride)) // rows with a row below
	for i := range images {
		src, dst := s.big[i*g.bigSize:(i+1)*g.bigSize], bigPairs[i*bigSize:]
		simd.PairColumns(dst, src, src[min(g.stride*g.bigLine, len(src)):], pairedRows, g.bigLine, g.bigLine, g.bigLine)
		for r := pairedRows; r < p.pairRows; r++ {
			simd.PairColumns(dst[r*g.bigLine:], src[r*g.bigLine:], p.zeros, 1, g.bigLine, 0, 0)
		}
		src, dst = small.x[i*small.size:], smallPairs[i*smallSize:]
		row := g.smallW * pixel
		simd.PairColumns(dst, src, src[min(line, len(src)):], g.smallH/2, row, row, 2*line)
		if g.smallH%2 == 1 {
			simd.PairColumns(dst[g.smallH/2*row:], src[(g.smallH-1)*line:], p.zeros, 1, row, 0, 0)
		}
	}
	t.A, t.Pairs = bigPairs, true
	t.Steps, t.AStep = g.smallW, g.stride*g.bigC
	t.Segs, t.ASeg = p.halfH(), 2*g.stride*g.bigLine
	t.Blocks, t.ABlk = images, bigSize
	t.BStep, t.BSeg, t.BBlk = pixel, g.smallW*pixel, smallSize
	p.sum(s, sums, share, smallPairs, reset)
	t.Pairs = false
}
