package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// A convolution with kernel 3 and stride 1 by F(4x4, 3x3); see inputs36. The sums over channels become 36 matrix
// products. The image gradient is the same convolution with reversed taps. The filter gradient is F(3x3, 4x4): the 4x4
// pixels of the result's gradient are the taps, and the 3x3 taps are the outputs.

// With fewer results per 4x4 tile, direct sums are faster.
const tilePixels = 6

// winograd3Fits reports whether the method supports a shape, and whether it is faster. The decision ignores the number
// of images, because the result of an image must not depend on its batch. With few images, the transform of the filters
// takes too long.
func winograd3Fits(s kernel.ConvShape) bool {
	worth := func(h, w int) bool {
		tiles := ((h + 3) / 4) * ((w + 3) / 4)
		return h*w >= tilePixels*tiles
	}
	return s.Kernel == 3 && s.Stride == 1 && s.InC >= 16 && s.OutC >= 16 && worth(s.InH, s.InW) && worth(s.OutH, s.OutW)
}

// images describes the images of one side of a convolution.
type images struct {
	h, w, c int
	pitch   int // channels rounded up to a multiple of 16
}

func newImages(h, w, c int) images { return images{h, w, c, (c + 15) / 16 * 16} }

func (m images) size() int { return m.h * m.w * m.c }

// copyPadded copies rows [y0, y0+rows) and columns [x0, x0+columns) of an image, zeros outside, with pitch elements
// a pixel. If y is given, the values are a gradient that passes through the activation with value y.
func (m images) copyPadded(dst, x, y []float32, a kernel.Activation, y0, x0, rows, columns int) {
	line := columns * m.pitch
	from, to := max(0, x0), min(m.w, x0+columns)
	for r := range rows {
		d := dst[r*line : (r+1)*line]
		if y0+r < 0 || y0+r >= m.h {
			clear(d)
			continue
		}
		offset := (y0+r)*m.w*m.c + from*m.c
		n := (to - from) * m.c
		source := x[offset : offset+n]
		var value []float32
		if y != nil {
			value = y[offset : offset+n]
		}
		left, right := (from-x0)*m.pitch, (to-x0)*m.pitch
		clear(d[:left])
		clear(d[right:])
		if d = d[left:right]; m.pitch != m.c {
			clear(d)
			for i := 0; i < n; i += m.c {
				copyOrGradient(a, d[:m.c], source[i:i+m.c], value, i)
				d = d[m.pitch:]
			}
			continue
		}
		copyOrGradient(a, d, source, value, 0)
	}
}

// copyOrGradient copies x. If y is given, it applies the gradient of an activation with value y[offset:].
func copyOrGradient(a kernel.Activation, dst, x, y []float32, offset int) {
	if y == nil || a == kernel.LinearActivation {
		copy(dst, x)
		return
	}
	a.Gradient(dst, x, y[offset:offset+len(x)])
}

// tiling is a grid of 4x4 tiles over the results of a convolution, by image and row.
type tiling struct {
	across, down int // tiles in an image
	tileRows     int // rows of tiles in all images
	blockRows    int // rows of tiles per block
	shared       bool
}

const (
	sharedWeights  = 1 << 20 // elements of transformed filters; from this size on all threads work on the same tiles
	sharedElements = 1 << 23 // maximum number of elements of transformed tiles in this case
	threadTiles    = 32      // tiles per block otherwise
)

// newTiling plans the work on images with h by w results. elements is the size of a transformed tile, and weights is
// the size of the transformed filters.
func newTiling(batch, h, w, elements, weights int) tiling {
	g := tiling{across: (w + 3) / 4, down: (h + 3) / 4, shared: weights >= sharedWeights}
	g.tileRows = batch * g.down
	tiles := threadTiles
	if g.shared {
		tiles = max(tiles, sharedElements/elements)
	}
	g.blockRows = min(g.tileRows, max(1, tiles/g.across))
	parts := (g.tileRows + g.blockRows - 1) / g.blockRows
	g.blockRows = (g.tileRows + parts - 1) / parts // equal parts
	return g
}

func (g *tiling) tiles() int { return g.blockRows * g.across }

// locate returns the image of a row of tiles, and the row in the image.
func (g *tiling) locate(row int) (image, y int) { return row / g.down, row % g.down }

// paddedStride returns a stride >= n for the 36 parts of a transformed array. It is not a multiple of a large power of
// two, because the parts would then share cache sets.
func paddedStride(n int) int { return (n+15)/16*16 + 16 }

// rowPitch is the stride of tiles in a transformed array with the given number of channels.
func rowPitch(channels int) int {
	if channels%256 == 0 {
		return channels + 16
	}
	return channels
}

// tileScratch has transformed tiles of one thread, or of all threads if they share tiles.
type tileScratch struct{ inputs, products []float32 }

type worker3 struct {
	tile   simd.Tile
	strip  []float32 // rows of padded images
	pixels []float32 // rows of results
	tileScratch
}

type scratch3 struct {
	memory  *[]float32
	workers []*worker3 // the last passes had at most so many threads
	active  int
}

// take allocates the scratch memory of a pass. It returns shared memory with weights elements. Every thread gets
// strips. Transformed tiles are shared or separate for each thread.
func (s *scratch3) take(g *tiling, stripPitch, pixelPitch, inputs, products, weights int) []float32 {
	s.active = parallel.Threads()
	for len(s.workers) < s.active {
		s.workers = append(s.workers, &worker3{})
	}
	strip, pixels := 6*(4*g.across+2)*stripPitch, 16*g.across*pixelPitch
	copies := s.active
	if g.shared {
		copies = 1
	}
	s.memory = kernel.TakeMemory(s.active*(strip+pixels) + copies*(inputs+products) + weights)
	free := *s.memory
	carve := func(n int) []float32 {
		piece := free[:n:n]
		free = free[n:]
		return piece
	}
	shared := carve(weights)
	var tiles tileScratch
	for i, w := range s.workers[:s.active] {
		w.strip, w.pixels = carve(strip), carve(pixels)
		if i < copies {
			tiles = tileScratch{carve(inputs), carve(products)}
		}
		w.tileScratch = tiles
	}
	return shared
}

func (s *scratch3) give() {
	for _, w := range s.workers {
		*w = worker3{} // keeps no memory that another layer may use
	}
	kernel.GiveMemory(s.memory)
	s.memory = nil
}

// conv3 is a convolution or a transposed convolution with these products.
type conv3 struct {
	activation     kernel.Activation
	transposed     bool
	big, small     images
	gather, spread *product3
	gradient       *gradient3
	bias           *biasGradient
	columns        []float32 // the bias, padded
	scratch        scratch3
}

func newConv3(s kernel.ConvShape, a kernel.Activation, transposed bool) *conv3 {
	c := &conv3{activation: a, transposed: transposed, big: newImages(s.InH, s.InW, s.InC), small: newImages(s.OutH, s.OutW, s.OutC)}
	if transposed {
		c.big, c.small = c.small, c.big
	}
	c.gather = newProduct3(c, s.Batch, c.big, c.small, s.PadH, s.PadW, false)
	c.spread = newProduct3(c, s.Batch, c.small, c.big, 2-s.PadH, 2-s.PadW, true)
	c.gradient = newGradient3(c, s.Batch, s.PadH, s.PadW)
	c.bias = newBiasGradient(s.Batch, newImages(s.OutH, s.OutW, s.OutC), a)
	c.columns = make([]float32, max(c.big.pitch, c.small.pitch))
	return c
}

func (c *conv3) forward(x, w, bias, y []float32) {
	copy(c.columns, bias)
	p := c.gather
	if c.transposed {
		p = c.spread
	}
	p.run(x, nil, w, c.columns, y, c.activation)
}

func (c *conv3) backward(x, w, y, dy, dx, dw, db []float32) {
	if c.activation == kernel.LinearActivation {
		y = nil
	}
	p := c.spread
	bigX, bigY, small, smallY := x, []float32(nil), dy, y
	if c.transposed {
		p = c.gather
		bigX, bigY, small, smallY = dy, y, x, nil
	}
	if dx != nil {
		p.run(dy, y, w, nil, dx, kernel.LinearActivation)
	}
	if dw != nil {
		c.gradient.run(bigX, bigY, small, smallY, dw)
	}
	if db != nil {
		c.bias.run(dy, y, db)
	}
}

// The transforms of F(4x4, 3x3) in Go. They work on n channels of count tiles: values are
// read and written at tile*Step + row*Row + column*Col + channel.

// product3 convolves images with filters, or with reversed filters for the image gradient.
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

	// Operands of the current call.
	x, gate, w, bias, out []float32
	activation            kernel.Activation
	exact                 bool // set pixels to the bias if all inputs are 0
	first, count          int  // rows of tiles, if threads share tiles

	tapItem, packItem, blockItem, transformItem, multiplyItem, resultItem func(worker, i int)
}

func newProduct3(c *conv3, batch int, from, to images, padH, padW int, reversed bool) *product3 {
	p := &product3{c: c, from: from, to: to, padH: padH, padW: padW, reversed: reversed, panels: simd.NewPanels(to.c), zeros: make([]float32, to.pitch)}
	p.inputPitch = rowPitch(from.pitch)
	p.weightStride = paddedStride(from.c * to.pitch)
	p.tiling = newTiling(batch, to.h, to.w, 36*(p.inputPitch+to.pitch), 36*p.weightStride)
	p.inputStride, p.outputStride = paddedStride(p.tiles()*p.inputPitch), paddedStride(p.tiles()*to.pitch)
	p.rows, p.cRows = simd.RowTable(p.tiles(), p.inputPitch), simd.RowTable(p.tiles(), to.pitch)
	p.tapItem, p.packItem, p.blockItem = p.tap, p.pack, p.block
	p.transformItem = func(worker, r int) { p.transform(c.scratch.workers[worker], p.first, r) }
	p.multiplyItem = func(worker, i int) { p.multiply(c.scratch.workers[worker], i, p.count*p.across) }
	p.resultItem = func(worker, r int) { p.result(c.scratch.workers[worker], p.first, r) }
	return p
}

// run computes the images out from the images x. If gate is given, it applies the gradient of an activation with value
// gate to x.
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
		for p.first = 0; p.first < p.tileRows; p.first += p.blockRows {
			p.count = min(p.blockRows, p.tileRows-p.first)
			parallel.ForWorkers(workers, p.count, p.transformItem)
			parallel.ForWorkers(workers, 36*p.panels.Count, p.multiplyItem)
			parallel.ForWorkers(workers, p.count, p.resultItem)
		}
	} else {
		parallel.ForWorkers(workers, (p.tileRows+p.blockRows-1)/p.blockRows, p.blockItem)
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

// packRows is the number of rows of a panel per item of pack.
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
	filters36.run(p.weights[first*p.from.c+k*width:], src[k*p.to.pitch+first:], width, p.weightStride, 3*tap, tap, min(packRows, p.from.c-k), width, p.to.pitch)
}

func (p *product3) block(worker, i int) {
	w := p.c.scratch.workers[worker]
	first := i * p.blockRows
	count := min(p.blockRows, p.tileRows-first)
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

// transform transforms the inputs of row first+r of the tiles, to row r of the scratch.
func (p *product3) transform(w *worker3, first, r int) {
	image, y := p.locate(first + r)
	columns := 4*p.across + 2
	n := p.from.size()
	var gate []float32
	if p.gate != nil {
		gate = p.gate[image*n : (image+1)*n]
	}
	p.from.copyPadded(w.strip, p.x[image*n:(image+1)*n], gate, p.c.activation, 4*y-p.padH, -p.padW, 6, columns)
	inputs36.run(w.inputs[r*p.across*p.inputPitch:], w.strip, p.from.pitch, p.inputStride,
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
	image, y := p.locate(first + r)
	line := p.to.w * p.to.c
	height := min(4, p.to.h-4*y)
	out := p.out[image*p.to.size()+4*y*line:][:height*line]
	dst, dstLine := out, line
	direct := height == 4 && 4*p.across == p.to.w && p.to.c == p.to.pitch
	if !direct {
		dst, dstLine = w.pixels, 4*p.across*p.to.pitch
	}
	outputs36.run(dst, w.products[r*p.across*p.to.pitch:], p.bias, p.to.pitch, p.outputStride, dstLine, p.to.pitch,
		p.across, 4*p.to.pitch, p.to.pitch, floorOf(p.activation.Epilogue()))
	if !direct {
		for r := range height {
			narrowRow(out[r*line:(r+1)*line], w.pixels[r*dstLine:], p.to.c, p.to.pitch)
		}
	}
	if p.exact {
		from := p.from.size()
		for r := range height {
			p.restoreZeros(out[r*line:(r+1)*line], p.x[image*from:(image+1)*from], 4*y+r-p.padH)
		}
	}
	p.activation.Rest(out)
}

// restoreZeros sets pixels in a row of results to the bias if all their inputs, three rows from y0 on, are 0. The
// transforms leave rounding errors in these pixels, and a ReLU would pass half of them.
func (p *product3) restoreZeros(out, x []float32, y0 int) {
	c, from := p.to.c, p.from
	floor := floorOf(p.activation.Epilogue())
	empty := 0 // columns in a row up to this one
	for column := -p.padW; column < p.to.w-p.padW+2; column++ {
		empty++
		if column >= 0 && column < from.w {
			for y := max(0, y0); y < min(from.h, y0+3); y++ {
				if offset := (y*from.w + column) * from.c; !allZero(x[offset : offset+from.c]) {
					empty = 0
					break
				}
			}
		}
		if pixel := column + p.padW - 2; pixel >= 0 && empty >= 3 {
			for i, b := range p.bias[:c] {
				out[pixel*c+i] = max(b, floor)
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
