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
	start, end := max(0, x0), min(m.w, x0+columns)
	for r := range rows {
		d := dst[r*line : (r+1)*line]
		if y0+r < 0 || y0+r >= m.h {
			clear(d)
			continue
		}
		offset := (y0+r)*m.w*m.c + start*m.c
		n := (end - start) * m.c
		source := x[offset : offset+n]
		var value []float32
		if y != nil {
			value = y[offset : offset+n]
		}
		left, right := (start-x0)*m.pitch, (end-x0)*m.pitch
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
	tilesX, tilesY int // tiles in an image
	tileRows       int // rows of tiles in all images
	blockRows      int // rows of tiles per block
	shared         bool
}

const (
	sharedWeights  = 1 << 20 // elements of transformed filters; from this size on all threads work on the same tiles
	sharedElements = 1 << 23 // maximum number of elements of transformed tiles in this case
	threadTiles    = 32      // tiles per block otherwise
)

// newTiling plans the work on images with h by w results. elements is the size of a transformed tile, and weights is
// the size of the transformed filters.
func newTiling(batch, h, w, elements, weights int) tiling {
	g := tiling{tilesX: (w + 3) / 4, tilesY: (h + 3) / 4, shared: weights >= sharedWeights}
	g.tileRows = batch * g.tilesY
	tiles := threadTiles
	if g.shared {
		tiles = max(tiles, sharedElements/elements)
	}
	g.blockRows = min(g.tileRows, max(1, tiles/g.tilesX))
	parts := (g.tileRows + g.blockRows - 1) / g.blockRows
	g.blockRows = (g.tileRows + parts - 1) / parts // equal parts
	return g
}

func (g *tiling) tiles() int { return g.blockRows * g.tilesX }

// locate returns the image of a row of tiles, and the row in the image.
func (g *tiling) locate(row int) (image, y int) { return row / g.tilesY, row % g.tilesY }

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
	workers []*worker3 // one for each thread of the largest pass
	active  int        // threads of the current pass
}

// take allocates the scratch memory of a pass. It returns shared memory with weights elements. Every thread gets
// strips. Transformed tiles are shared or separate for each thread.
func (s *scratch3) take(g *tiling, stripPitch, pixelPitch, inputs, products, weights int) []float32 {
	s.active = parallel.Threads()
	for len(s.workers) < s.active {
		s.workers = append(s.workers, &worker3{})
	}
	strip, pixels := 6*(4*g.tilesX+2)*stripPitch, 16*g.tilesX*pixelPitch
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
	c := &conv3{activation: a, transposed: transposed}
	c.big, c.small = newImages(s.InH, s.InW, s.InC), newImages(s.OutH, s.OutW, s.OutC)
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

// product3 convolves images with filters, or with reversed filters for the image gradient.
type product3 struct {
	tiling
	c             *conv3
	input, output images
	padH, padW    int // zeros before the images
	reversed      bool
	panels        simd.Panels
	weights       []float32 // [36][panel][channels of input][width]
	taps          []float32 // [3, 3, channels of input, pitch of output]; empty: w has this layout
	zeros         []float32

	inputPitch, inputStride, outputStride, weightStride int
	rows, cRows                                         []int

	// Operands of the current call.
	x, gate, w, bias, out []float32
	activation            kernel.Activation
	exact                 bool // set pixels to the bias if all inputs are 0
	firstRow, count       int  // rows of tiles, if threads share tiles

	tapItem, packItem, blockItem, transformItem, multiplyItem, resultItem func(worker, i int)
}

func newProduct3(c *conv3, batch int, input, output images, padH, padW int, reversed bool) *product3 {
	p := &product3{c: c, input: input, output: output, padH: padH, padW: padW, reversed: reversed,
		panels: simd.NewPanels(output.c), zeros: make([]float32, output.pitch)}
	p.inputPitch = rowPitch(input.pitch)
	p.weightStride = paddedStride(input.c * output.pitch)
	p.tiling = newTiling(batch, output.h, output.w, 36*(p.inputPitch+output.pitch), 36*p.weightStride)
	p.inputStride, p.outputStride = paddedStride(p.tiles()*p.inputPitch), paddedStride(p.tiles()*output.pitch)
	p.rows, p.cRows = simd.RowTable(p.tiles(), p.inputPitch), simd.RowTable(p.tiles(), output.pitch)
	p.tapItem, p.packItem, p.blockItem = p.tap, p.pack, p.block
	p.transformItem = func(worker, r int) { p.transform(c.scratch.workers[worker], p.firstRow, r) }
	p.multiplyItem = func(worker, i int) { p.multiply(c.scratch.workers[worker], i, p.count*p.tilesX) }
	p.resultItem = func(worker, r int) { p.result(c.scratch.workers[worker], p.firstRow, r) }
	return p
}

// run computes the images out from the images x. If gate is given, it applies the gradient of an activation with value
// gate to x.
func (p *product3) run(x, gate, w, bias, out []float32, a kernel.Activation) {
	c := &p.c.scratch
	taps := 0
	if p.reversed || p.output.pitch != p.output.c {
		taps = 9 * p.input.c * p.output.pitch
	}
	weights := 36*p.weightStride + taps
	p.weights = c.take(&p.tiling, p.input.pitch, p.output.pitch, 36*p.inputStride, 36*p.outputStride, weights)
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
		for p.firstRow = 0; p.firstRow < p.tileRows; p.firstRow += p.blockRows {
			p.count = min(p.blockRows, p.tileRows-p.firstRow)
			parallel.ForWorkers(workers, p.count, p.transformItem)
			parallel.ForWorkers(workers, 36*p.panels.Count, p.multiplyItem)
			parallel.ForWorkers(workers, p.count, p.resultItem)
		}
	} else {
		parallel.ForWorkers(workers, (p.tileRows+p.blockRows-1)/p.blockRows, p.blockItem)
	}
	p.x, p.gate, p.w, p.bias, p.out, p.weights, p.taps = nil, nil, nil, nil, nil, nil, nil
}

// tap lays out some rows of a tap as [channels of input, pitch of output].
func (p *product3) tap(_, i int) {
	tap, start := i/p.packParts(), i%p.packParts()*packRows
	count := min(packRows, p.input.c-start)
	n, m := p.input.c*p.output.c, p.input.c*p.output.pitch
	if p.reversed {
		simd.Transpose(p.taps[(8-tap)*m+start*p.output.pitch:], p.w[tap*n+start:(tap+1)*n], p.output.pitch, p.input.c,
			p.output.c, count)
		return
	}
	for k := start; k < start+count; k++ {
		copy(p.taps[tap*m+k*p.output.pitch:], p.w[tap*n+k*p.output.c:tap*n+(k+1)*p.output.c])
	}
}

// packRows is the number of rows of a panel per item of pack.
const packRows = 64

func (p *product3) packParts() int { return (p.input.c + packRows - 1) / packRows }

// pack transforms some rows of a panel of the filters.
func (p *product3) pack(_, i int) {
	offset, width, _ := p.panels.At(i / p.packParts())
	k := i % p.packParts() * packRows
	src := p.taps
	if len(src) == 0 {
		src = p.w
	}
	tap := p.input.c * p.output.pitch
	filters36.run(p.weights[offset*p.input.c+k*width:], src[k*p.output.pitch+offset:], width, p.weightStride, 3*tap, tap,
		min(packRows, p.input.c-k), width, p.output.pitch)
}

func (p *product3) block(worker, i int) {
	w := p.c.scratch.workers[worker]
	firstRow := i * p.blockRows
	count := min(p.blockRows, p.tileRows-firstRow)
	for r := range count {
		p.transform(w, firstRow, r)
	}
	for i := range 36 * p.panels.Count {
		p.multiply(w, i, count*p.tilesX)
	}
	for r := range count {
		p.result(w, firstRow, r)
	}
}

// transform transforms the inputs of row firstRow+r of the tiles, to row r of the scratch.
func (p *product3) transform(w *worker3, firstRow, r int) {
	image, y := p.locate(firstRow + r)
	columns := 4*p.tilesX + 2
	n := p.input.size()
	var gate []float32
	if p.gate != nil {
		gate = p.gate[image*n : (image+1)*n]
	}
	p.input.copyPadded(w.strip, p.x[image*n:(image+1)*n], gate, p.c.activation, 4*y-p.padH, -p.padW, 6, columns)
	inputs36.run(w.inputs[r*p.tilesX*p.inputPitch:], w.strip, p.input.pitch, p.inputStride,
		columns*p.input.pitch, p.input.pitch, p.tilesX, p.inputPitch, 4*p.input.pitch)
}

// multiply computes a panel of one of the 36 products of n tiles.
func (p *product3) multiply(w *worker3, i, n int) {
	t := &w.tile
	t.Steps, t.AStep, t.Segs, t.Blocks, t.Flags = p.input.c, 1, 1, 1, 0
	part := i / p.panels.Count
	offset, width, _ := p.panels.At(i % p.panels.Count)
	t.A, t.B, t.C = w.inputs[part*p.inputStride:], p.weights[part*p.weightStride+offset*p.input.c:],
		w.products[part*p.outputStride+offset:]
	t.Width, t.BStep = width, width
	t.Product(p.rows, p.cRows, n, width)
}

// result transforms the products of row firstRow+r of the tiles to pixels.
func (p *product3) result(w *worker3, firstRow, r int) {
	image, y := p.locate(firstRow + r)
	line := p.output.w * p.output.c
	height := min(4, p.output.h-4*y)
	out := p.out[image*p.output.size()+4*y*line:][:height*line]
	dst, dstLine := out, line
	direct := height == 4 && 4*p.tilesX == p.output.w && p.output.c == p.output.pitch
	if !direct {
		dst, dstLine = w.pixels, 4*p.tilesX*p.output.pitch
	}
	outputs36.run(dst, w.products[r*p.tilesX*p.output.pitch:], p.bias, p.output.pitch, p.outputStride,
		dstLine, p.output.pitch, p.tilesX, 4*p.output.pitch, p.output.pitch, floorOf(p.activation.Epilogue()))
	if !direct {
		for r := range height {
			narrowRow(out[r*line:(r+1)*line], w.pixels[r*dstLine:], p.output.c, p.output.pitch)
		}
	}
	if p.exact {
		inputSize := p.input.size()
		for r := range height {
			p.restoreZeros(out[r*line:(r+1)*line], p.x[image*inputSize:(image+1)*inputSize], 4*y+r-p.padH)
		}
	}
	p.activation.Rest(out)
}

// restoreZeros sets pixels in a row of results to the bias if all their inputs, three rows from y0 on, are 0. The
// transforms leave rounding errors in these pixels, and a ReLU would pass half of them.
func (p *product3) restoreZeros(out, x []float32, y0 int) {
	c, input := p.output.c, p.input
	floor := floorOf(p.activation.Epilogue())
	empty := 0 // columns in a row up to this one
	for column := -p.padW; column < p.output.w-p.padW+2; column++ {
		empty++
		if column >= 0 && column < input.w {
			for y := max(0, y0); y < min(input.h, y0+3); y++ {
				if offset := (y*input.w + column) * input.c; !allZero(x[offset : offset+input.c]) {
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
