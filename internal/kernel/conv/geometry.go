package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
)

// geometry describes the big and the small image of a convolution, in either direction. Both directions and the weight
// gradient are products of patches of big images and rows of small images.
type geometry struct {
	batch                    int
	bigH, bigW, bigC         int
	smallH, smallW, smallC   int
	kernelH, kernelW         int // excluding rows that no pixel uses
	stride                   int
	padH, padW               int
	weightsStart, weightsEnd int // range of these rows in the weights

	// The big image with its padding: rows of bigLine elements, consecutive images.
	bigLine, bigSize int
	// The small image with the padding for the phases.
	smallTop, smallLine, smallSize int

	narrow int // side of the blocks in narrow; 0: unused

	chunk                     int // images per chunk
	groups, groupSize, shares int // division of the weight gradient, see planShares

	transposed bool // spreading is the forward pass
}

func newGeometry(s kernel.ConvShape, transposed bool) *geometry {
	g := &geometry{batch: s.Batch, bigH: s.InH, bigW: s.InW, bigC: s.InC, smallH: s.OutH, smallW: s.OutW, smallC: s.OutC,
		kernelW: s.Kernel, stride: s.Stride, padW: s.PadW, transposed: transposed}
	if transposed {
		g.bigH, g.bigW, g.bigC, g.smallH, g.smallW, g.smallC = s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC
	}
	first, last := g.liveRows(s.Kernel, s.PadH)
	g.kernelH, g.padH = last-first+1, s.PadH-first
	row := g.kernelW * g.bigC * g.smallC
	g.weightsStart, g.weightsEnd = first*row, (last+1)*row
	rows := max(g.padH+g.bigH, (g.smallH-1)*g.stride+g.kernelH)
	columns := max(g.padW+g.bigW, (g.smallW-1)*g.stride+g.kernelW)
	g.bigLine = columns * g.bigC
	g.bigSize = rows * g.bigLine

	bottom := 0
	for p := range g.stride {
		tapsY, qy := g.tapsY(p)
		tapsX, qx := g.tapsX(p)
		g.smallTop = max(g.smallTop, tapsY-1-qy, tapsX-1-qx)
		bottom = max(bottom, qy, qx)
	}
	g.narrow = narrowSide(g.stride, g.bigC)
	block := max(1, g.narrow) * g.stride
	if winogradNarrowFits(g) {
		bottom++ // the last block may reach one place further
	}
	extent := func(big, small int) int { return max(small, (big+block-1)/block*max(1, g.narrow)+bottom) }
	g.smallLine = (g.smallTop + extent(g.bigW, g.smallW)) * g.smallC
	g.smallSize = (g.smallTop + extent(g.bigH, g.smallH)) * g.smallLine

	g.chunk = g.chunkImages()
	g.planShares()
	return g
}

const (
	chunkElements = 72 * 1024 // 288 KiB of padded images fit in the L2 cache
	groupTiles    = 32        // number of tiles of a chunk, for Winograd's gradient
	groupImages   = 4         // maximum number of images of such a chunk; more would give threads too few groups
)

func (g *geometry) chunkImages() int {
	if winogradFits(g) {
		tiles := phaseTilesOf(g)
		return min(g.batch, groupImages, (groupTiles*tiles.side*tiles.side+g.smallPixels()-1)/g.smallPixels())
	}
	size := max(1, g.batch/minItems)
	chunk := min(size, max(1, chunkElements/(g.bigSize+g.smallSize)))
	return (size + (size+chunk-1)/chunk - 1) / ((size + chunk - 1) / chunk) // equal parts
}

// The weight gradient is a sum over groups of images. The gradients of all groups have at most sumElements elements,
// unless there would be fewer than minGroups groups. Large weights are also divided, to get minItems or more items
// of parallel work.
const (
	sumElements   = 5 << 20
	minGroups     = 8
	minItems      = 16
	shareElements = 1 << 16 // minimum number of weights in a share
	maxShares     = 4
)

// planShares plans the items of the weight gradient from sizes alone: groups of complete chunks of images, and shares
// of the weights.
func (g *geometry) planShares() {
	weights := g.patch() * g.smallC
	chunks := (g.batch + g.chunk - 1) / g.chunk
	groups := max(minGroups, sumElements/weights)
	g.groupSize = (chunks + groups - 1) / groups * g.chunk
	g.groups = (g.batch + g.groupSize - 1) / g.groupSize
	g.shares = 1
	for g.shares < maxShares && g.groups*g.shares < minItems && weights >= 2*g.shares*shareElements {
		g.shares *= 2
	}
}

// liveRows returns the first and the last kernel row that overlaps a pixel of a big image. Few rows do if the image is
// lower than the kernel, such as a sequence.
func (g *geometry) liveRows(kernel, pad int) (first, last int) {
	first, last = kernel-1, 0
	for y := range g.smallH {
		first = min(first, max(0, pad-y*g.stride))
		last = max(last, min(kernel-1, pad-y*g.stride+g.bigH-1))
	}
	return first, last
}

// tapsY returns the number of kernel rows for phase p of the big image's rows, and the offset q of the first one. Big
// row s*i+p uses small rows i+q, i+q-1, ... with kernel rows (p+pad)%s, (p+pad)%s+s, ...
func (g *geometry) tapsY(p int) (count, q int) { return g.taps(p+g.padH, g.kernelH) }

// tapsX is tapsY for columns.
func (g *geometry) tapsX(p int) (count, q int) { return g.taps(p+g.padW, g.kernelW) }

func (g *geometry) taps(p, kernel int) (count, q int) {
	if tap := p % g.stride; tap < kernel {
		count = (kernel - tap + g.stride - 1) / g.stride
	}
	return count, p / g.stride
}

// span returns the number of rows (or columns) of phase p in an image of the given extent.
func (g *geometry) span(extent, p int) int { return (extent - p + g.stride - 1) / g.stride }

func (g *geometry) bigPixels() int { return g.bigH * g.bigW }

func (g *geometry) smallPixels() int { return g.smallH * g.smallW }

func (g *geometry) patch() int { return g.kernelH * g.kernelW * g.bigC }

// padBig copies an image into a padded image. If y is given, it applies the gradient of the activation.
func (g *geometry) padBig(dst, x, y []float32, a kernel.Activation) {
	g.pad2(dst[g.bigOrigin():], g.bigLine, x, y, g.bigH, g.bigW*g.bigC, a)
}

func (g *geometry) padSmall(dst, x, y []float32, a kernel.Activation) {
	g.pad2(dst[g.smallOrigin():], g.smallLine, x, y, g.smallH, g.smallW*g.smallC, a)
}

// bigOrigin returns the offset of element (0,0,0) of a padded big image.
func (g *geometry) bigOrigin() int { return g.padH*g.bigLine + g.padW*g.bigC }

// smallOrigin returns the offset of element (0,0,0) of a padded small image.
func (g *geometry) smallOrigin() int { return g.smallTop * (g.smallLine + g.smallC) }

func (g *geometry) pad2(dst []float32, line int, x, y []float32, rows, width int, a kernel.Activation) {
	for r := range rows {
		d, s := dst[r*line:r*line+width], x[r*width:(r+1)*width]
		if y == nil {
			copy(d, s)
		} else {
			a.Gradient(d, s, y[r*width:(r+1)*width])
		}
	}
}
