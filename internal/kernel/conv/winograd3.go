package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// A convolution with kernel 3 and stride 1 by Winograd's F(4x4, 3x3) (Winograd 1980; Lavin and Gray 2016). Tiles of 4x4
// outputs take 36 multiplications instead of 144. In one dimension, with inputs d, taps g, outputs y and the points 0,
// a, -a, b, -b and infinity,
//
//	D0 = a²b² d0 - (a²+b²) d2 + d4            G0 = g0/(a²b²)
//	D1, D2 = (d4 - b² d2) ± a (d3 - b² d1)    G1, G2 = (g0 ± a g1 + a² g2) / (2a²(a²-b²))
//	D3, D4 = (d4 - a² d2) ± b (d3 - a² d1)    G3, G4 = (g0 ± b g1 + b² g2) / (2b²(b²-a²))
//	D5 = a²b² d1 - (a²+b²) d3 + d5            G5 = g2
//
//	m = D G,  y_i = [i=0] m0 + a^i (m1 ± m2) + b^i (m3 ± m4) + [i=3] m5, with + for even i
//
// In two dimensions the transforms apply to rows and columns. The sums over channels become 36 matrix products. The
// gradient of the images is the same convolution with the taps reversed. The gradient of the filters is F(3x3, 4x4):
// the 4x4 pixels of the result's gradient are the taps, and the 3x3 taps are the outputs.
//
// a = 5/8 and b = 3/2: squares and their product are exact, and errors are about twice a direct sum's. With the usual 1
// and 2 they are four times as large (Barabasz et al. 2020 search for such points).
const (
	pointA  float32 = 0.625
	pointB  float32 = 1.5
	squareA         = pointA * pointA
	squareB         = pointB * pointB
)

// Direct sums are faster with fewer results for each tile of 4x4.
const tilePixels = 6

// winograd3Fits reports whether a shape allows this method, and is large enough to gain from it. The number of images
// plays no part, because an image must have the same result in any batch. Few images do not make up for the transform
// of the filters.
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
	pitch   int // channels rounded up to 16
}

func newImages(h, w, c int) images { return images{h, w, c, (c + 15) / 16 * 16} }

func (m images) size() int { return m.h * m.w * m.c }

// cut copies rows [y0, y0+rows) and columns [x0, x0+columns) of an image, zeros outside, with pitch elements
// a pixel. If y is given, the values are a gradient that passes through the activation with value y.
func (m images) cut(dst, x, y []float32, a kernel.Activation, y0, x0, rows, columns int) {
	line := columns * m.pitch
	from, to := max(0, x0), min(m.w, x0+columns)
	for r := range rows {
		d := dst[r*line : (r+1)*line]
		if y0+r < 0 || y0+r >= m.h {
			clear(d)
			continue
		}
		at := (y0+r)*m.w*m.c + from*m.c
		n := (to - from) * m.c
		source := x[at : at+n]
		var value []float32
		if y != nil {
			value = y[at : at+n]
		}
		left, right := (from-x0)*m.pitch, (to-x0)*m.pitch
		clear(d[:left])
		clear(d[right:])
		if d = d[left:right]; m.pitch != m.c {
			clear(d)
			for i := 0; i < n; i += m.c {
				through(a, d[:m.c], source[i:i+m.c], value, i)
				d = d[m.pitch:]
			}
			continue
		}
		through(a, d, source, value, 0)
	}
}

// through copies x, or applies the gradient of an activation with value y[at:] if y is given.
func through(a kernel.Activation, dst, x, y []float32, at int) {
	if y == nil || a == kernel.LinearActivation {
		copy(dst, x)
		return
	}
	a.Gradient(dst, x, y[at:at+len(x)])
}

// tiling is a grid of tiles of 4x4 over the results of a convolution, image after image and row after row.
type tiling struct {
	across, down int // tiles of an image
	tileRows     int // tile rows of all images
	high         int // rows of tiles at a time
	shared       bool
}

const (
	sharedWeights  = 1 << 20 // elements of transformed filters; from this size on all threads work on the same tiles
	sharedElements = 1 << 23 // elements of transformed tiles in this case
	ownTiles       = 32      // tiles at a time otherwise
)

// newTiling plans the work on images of h by w results. A transformed tile has elements elements, and the transformed
// filters have weights elements.
func newTiling(batch, h, w, elements, weights int) tiling {
	g := tiling{across: (w + 3) / 4, down: (h + 3) / 4, shared: weights >= sharedWeights}
	g.tileRows = batch * g.down
	tiles := ownTiles
	if g.shared {
		tiles = max(tiles, sharedElements/elements)
	}
	g.high = min(g.tileRows, max(1, tiles/g.across))
	parts := (g.tileRows + g.high - 1) / g.high
	g.high = (g.tileRows + parts - 1) / parts // equal parts
	return g
}

func (g *tiling) tiles() int { return g.high * g.across }

// at returns the image of a row of tiles, and its place within.
func (g *tiling) at(row int) (image, y int) { return row / g.down, row % g.down }

// apart returns a distance of at least n between the 36 parts of a transformed array. The distance is no multiple of a
// large power of two, which would put the parts into the same lines of the cache.
func apart(n int) int { return (n+15)/16*16 + 16 }

// rowPitch is the distance of tiles with a number of channels in a transformed array.
func rowPitch(channels int) int {
	if channels%256 == 0 {
		return channels + 16
	}
	return channels
}

// tileScratch holds transformed tiles of one thread, or of all if they work on the same tiles.
type tileScratch struct{ inputs, products []float32 }

// worker3 is the scratch of one thread.
type worker3 struct {
	tile   simd.Tile
	strip  []float32 // rows of images with zeros around
	pixels []float32 // rows of results
	tileScratch
}

// scratch3 is the scratch of one pass.
type scratch3 struct {
	memory  *[]float32
	workers []*worker3 // the last passes had at most so many threads
	active  int
}

// take allocates a pass's scratch: weights elements for all threads, which it returns, and for every thread strips, and
// transformed tiles unless the threads share them.
func (s *scratch3) take(g *tiling, stripPitch, pixelPitch, inputs, products, weights int) []float32 {
	s.active = parallel.Threads()
	for len(s.workers) < s.active {
		s.workers = append(s.workers, &worker3{})
	}
	strip, pixels := 6*(4*g.across+2)*stripPitch, 16*g.across*pixelPitch
	own := s.active
	if g.shared {
		own = 1
	}
	s.memory = kernel.TakeMemory(s.active*(strip+pixels) + own*(inputs+products) + weights)
	rest := *s.memory
	cut := func(n int) []float32 {
		piece := rest[:n:n]
		rest = rest[n:]
		return piece
	}
	shared := cut(weights)
	var tiles tileScratch
	for i, w := range s.workers[:s.active] {
		w.strip, w.pixels = cut(strip), cut(pixels)
		if i < own {
			tiles = tileScratch{cut(inputs), cut(products)}
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

// conv3 is a convolution or a transposed convolution by these products.
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

func inputs36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 6, inputs3)
}

func filters36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 3, 6, filters3)
}

func pixels36Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 4, 6, pixels3)
}

func taps9Go(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 3, taps3)
}

func outputs16Go(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	tiles3(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, 6, 4, outputs3)
	finishTiles(dst, bias, n, dstRow, dstCol, count, dstStep, floor)
}

// finishTiles adds the bias to tiles of 4x4 and takes the maximum with floor.
func finishTiles(dst, bias []float32, n, dstRow, dstCol, count, dstStep int, floor float32) {
	for tile := range count {
		for i := range 16 {
			at := dst[tile*dstStep+i/4*dstRow+i%4*dstCol:][:n]
			for c := range at {
				if at[c] += bias[c]; at[c] < floor {
					at[c] = floor
				}
			}
		}
	}
}

// tiles3 applies a transform of in to out values to the columns and then to the rows of every tile.
func tiles3(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, in, out int, f func(to, from *[6]float32)) {
	for tile := range count {
		for c := range n {
			var half [6][6]float32
			var from, to [6]float32
			for s := range in {
				for r := range in {
					from[r] = src[tile*srcStep+r*srcRow+s*srcCol+c]
				}
				f(&to, &from)
				for u := range out {
					half[u][s] = to[u]
				}
			}
			for u := range out {
				f(&to, &half[u])
				for v := range out {
					dst[tile*dstStep+u*dstRow+v*dstCol+c] = to[v]
				}
			}
		}
	}
}

func inputs3(y, d *[6]float32) {
	even, odd := d[4]-squareB*d[2], d[3]-squareB*d[1]
	y[1], y[2] = even+pointA*odd, even-pointA*odd
	even, odd = d[4]-squareA*d[2], d[3]-squareA*d[1]
	y[3], y[4] = even+pointB*odd, even-pointB*odd
	y[0] = d[4] - (squareA+squareB)*d[2] + squareA*squareB*d[0]
	y[5] = d[5] - (squareA+squareB)*d[3] + squareA*squareB*d[1]
}

const (
	scaleA = 1 / (2 * squareA * (squareA - squareB))
	scaleB = 1 / (2 * squareB * (squareB - squareA))
)

func filters3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*g[1]
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*g[1]
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[2]
}

func pixels3(y, g *[6]float32) {
	even, odd := scaleA*g[0]+scaleA*squareA*g[2], scaleA*pointA*(g[1]+squareA*g[3])
	y[1], y[2] = even+odd, even-odd
	even, odd = scaleB*g[0]+scaleB*squareB*g[2], scaleB*pointB*(g[1]+squareB*g[3])
	y[3], y[4] = even+odd, even-odd
	y[0], y[5] = g[0]*(1/(squareA*squareB)), g[3]
}

func outputs3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], squareA*a+squareB*b
	a, b = m[1]-m[2], m[3]-m[4]
	y[1], y[3] = pointA*a+pointB*b, m[5]+squareA*pointA*a+squareB*pointB*b
}

func taps3(y, m *[6]float32) {
	a, b := m[1]+m[2], m[3]+m[4]
	y[0], y[2] = a+b+m[0], m[5]+squareA*a+squareB*b
	y[1] = pointA*(m[1]-m[2]) + pointB*(m[3]-m[4])
}
