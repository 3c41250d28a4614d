package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// product3 convolves images with filters, or with filters reversed, as the gradient of the images needs.
type product3 struct {
	tiling
	c          *conv3
	from, to   images
	padH, padW int // zeros before the images
	reversed   bool
	panels     simd.Panels
	weights    []float32 // [36][panel][channels of from][width]
	taps       []float32 // [3, 3, channels of from, pitch of to], if the filters do not lie so
	zeros      []float32

	inputPitch, inputStride, outputStride, weightStride int
	rows, cRows                                         []int

	// Operands of the call in progress.
	x, gate, w, bias, out []float32
	activation            kernel.Activation
	exact                 bool // pixels with all inputs 0 get the bias
	first, count          int  // rows of tiles, if threads share them

	tapItem, packItem, blockItem, transformItem, multiplyItem, resultItem func(worker, i int)
}

func newProduct3(c *conv3, batch int, from, to images, padH, padW int, reversed bool) *product3 {
	p := &product3{c: c, from: from, to: to, padH: padH, padW: padW, reversed: reversed, panels: simd.NewPanels(to.c), zeros: make([]float32, to.pitch)}
	p.inputPitch = rowPitch(from.pitch)
	p.weightStride = apart(from.c * to.pitch)
	p.tiling = newTiling(batch, to.h, to.w, 36*(p.inputPitch+to.pitch), 36*p.weightStride)
	p.inputStride, p.outputStride = apart(p.tiles()*p.inputPitch), apart(p.tiles()*to.pitch)
	p.rows, p.cRows = simd.RowTable(p.tiles(), p.inputPitch), simd.RowTable(p.tiles(), to.pitch)
	p.tapItem, p.packItem, p.blockItem, p.transformItem, p.multiplyItem, p.resultItem = p.tap, p.pack, p.block, p.transformShared, p.multiplyShared, p.resultShared
	return p
}

// run computes the images out from the images x. If gate is given, x passes through the gradient of an activation with
// value gate.
func (p *product3) run(x, gate, w, bias, out []float32, a kernel.Activation) {
	c := &p.c.scratch
	taps := 0
	if p.reversed || p.to.pitch != p.to.c {
		taps = 9 * p.from.c * p.to.pitch
	}
	p.weights = c.take(&p.tiling, p.from.pitch, p.to.pitch, 36*p.inputStride, 36*p.outputStride, 36*p.weightStride+taps)
	p.taps = p.weights[36*p.weightStride:]
	defer c.give()
	p.x, p.gate, p.w, p.bias, p.out, p.activation = x, gate, w, bias, out, a
	if p.exact = bias != nil; !p.exact {
		p.bias = p.zeros
	}
	workers := c.active
	if taps > 0 {
		parallel.ForWorkers(workers, 9*p.packParts(), p.tapItem)
	}
	parallel.ForWorkers(workers, p.panels.Count*p.packParts(), p.packItem)
	if p.shared {
		for p.first = 0; p.first < p.tileRows; p.first += p.high {
			p.count = min(p.high, p.tileRows-p.first)
			parallel.ForWorkers(workers, p.count, p.transformItem)
			parallel.ForWorkers(workers, 36*p.panels.Count, p.multiplyItem)
			parallel.ForWorkers(workers, p.count, p.resultItem)
		}
	} else {
		parallel.ForWorkers(workers, (p.tileRows+p.high-1)/p.high, p.blockItem)
	}
	p.x, p.gate, p.w, p.bias, p.out, p.weights, p.taps = nil, nil, nil, nil, nil, nil, nil
}

// tap lays out some rows of a tap as [channels of from, pitch of to].
func (p *product3) tap(_, i int) {
	tap, first := i/p.packParts(), i%p.packParts()*packRows
	count := min(packRows, p.from.c-first)
	n, m := p.from.c*p.to.c, p.from.c*p.to.pitch
	if p.reversed {
		simd.Transpose(p.taps[(8-tap)*m+first*p.to.pitch:], p.w[tap*n+first:(tap+1)*n], p.to.pitch, p.from.c, p.to.c, count)
		return
	}
	for k := first; k < first+count; k++ {
		copy(p.taps[tap*m+k*p.to.pitch:], p.w[tap*n+k*p.to.c:tap*n+(k+1)*p.to.c])
	}
}

// packRows is the number of a panel's rows in a part of pack.
const packRows = 64

func (p *product3) packParts() int { return (p.from.c + packRows - 1) / packRows }

// pack transforms some rows of a panel of the filters.
func (p *product3) pack(_, i int) {
	first, width, _ := p.panels.At(i / p.packParts())
	k := i % p.packParts() * packRows
	src := p.taps
	if len(src) == 0 {
		src = p.w
	}
	tap := p.from.c * p.to.pitch
	filters36(p.weights[first*p.from.c+k*width:], src[k*p.to.pitch+first:], width, 6*p.weightStride, p.weightStride, 3*tap, tap, min(packRows, p.from.c-k), width, p.to.pitch)
}

// block computes a block of rows of tiles.
func (p *product3) block(worker, i int) {
	w := p.c.scratch.workers[worker]
	first := i * p.high
	count := min(p.high, p.tileRows-first)
	for r := range count {
		p.transform(w, first, r)
	}
	for i := range 36 * p.panels.Count {
		p.multiply(w, i, count*p.across)
	}
	for r := range count {
		p.result(w, first, r)
	}
}

func (p *product3) transformShared(worker, r int) {
	p.transform(p.c.scratch.workers[worker], p.first, r)
}

func (p *product3) multiplyShared(worker, i int) {
	p.multiply(p.c.scratch.workers[worker], i, p.count*p.across)
}

func (p *product3) resultShared(worker, r int) {
	p.result(p.c.scratch.workers[worker], p.first, r)
}

// transform transforms the inputs of row first+r of the tiles, to row r of the scratch.
func (p *product3) transform(w *worker3, first, r int) {
	image, y := p.at(first + r)
	columns := 4*p.across + 2
	n := p.from.size()
	var gate []float32
	if p.gate != nil {
		gate = p.gate[image*n : (image+1)*n]
	}
	p.from.cut(w.strip, p.x[image*n:(image+1)*n], gate, p.c.activation, 4*y-p.padH, -p.padW, 6, columns)
	inputs36(w.inputs[r*p.across*p.inputPitch:], w.strip, p.from.pitch, 6*p.inputStride, p.inputStride,
		columns*p.from.pitch, p.from.pitch, p.across, p.inputPitch, 4*p.from.pitch)
}

// multiply computes a panel of one of the 36 products of n tiles.
func (p *product3) multiply(w *worker3, i, n int) {
	t := &w.tile
	t.Steps, t.AStep, t.Segs, t.Blocks, t.Flags = p.from.c, 1, 1, 1, 0
	part := i / p.panels.Count
	first, width, _ := p.panels.At(i % p.panels.Count)
	t.A, t.B, t.C = w.inputs[part*p.inputStride:], p.weights[part*p.weightStride+first*p.from.c:], w.products[part*p.outputStride+first:]
	t.Width, t.BStep = width, width
	t.Product(p.rows, p.cRows, n, width)
}

// result transforms the products of row first+r of the tiles to pixels.
func (p *product3) result(w *worker3, first, r int) {
	image, y := p.at(first + r)
	line := p.to.w * p.to.c
	high := min(4, p.to.h-4*y)
	out := p.out[image*p.to.size()+4*y*line:][:high*line]
	dst, dstLine := out, line
	whole := high == 4 && 4*p.across == p.to.w && p.to.c == p.to.pitch
	if !whole {
		dst, dstLine = w.pixels, 4*p.across*p.to.pitch
	}
	outputs16(dst, w.products[r*p.across*p.to.pitch:], p.bias, p.to.pitch, dstLine, p.to.pitch, 6*p.outputStride, p.outputStride,
		p.across, 4*p.to.pitch, p.to.pitch, floorOf(p.activation.Epilogue()))
	if !whole {
		for r := range high {
			narrowRow(out[r*line:(r+1)*line], w.pixels[r*dstLine:], p.to.c, p.to.pitch)
		}
	}
	if p.exact {
		from := p.from.size()
		for r := range high {
			p.settle(out[r*line:(r+1)*line], p.x[image*from:(image+1)*from], 4*y+r-p.padH)
		}
	}
	p.activation.Rest(out)
}

// settle sets pixels of a row of results to the bias if all their inputs, three rows from y0 on, are 0. The transforms
// leave rounding errors in these pixels, and a ReLU would let half of them pass.
func (p *product3) settle(out, x []float32, y0 int) {
	c, from := p.to.c, p.from
	floor := floorOf(p.activation.Epilogue())
	empty := 0 // columns in a row up to this one
	for column := -p.padW; column < p.to.w-p.padW+2; column++ {
		empty++
		if column >= 0 && column < from.w {
			for y := max(0, y0); y < min(from.h, y0+3); y++ {
				if at := (y*from.w + column) * from.c; !allZero(x[at : at+from.c]) {
					empty = 0
					break
				}
			}
		}
		if to := column + p.padW - 2; to >= 0 && empty >= 3 {
			for i, b := range p.bias[:c] {
				out[to*c+i] = max(b, floor)
			}
		}
	}
}

func allZero(x []float32) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// narrowRow copies the first c of every pitch elements.
func narrowRow(dst, src []float32, c, pitch int) {
	if c == pitch {
		copy(dst, src)
		return
	}
	for i := 0; i < len(dst); i += c {
		copy(dst[i:i+c], src)
		src = src[pitch:]
	}
}
