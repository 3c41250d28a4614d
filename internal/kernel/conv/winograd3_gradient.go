package conv

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// gradient3 is the filter gradient. Either each group of images has a separate gradient, or all threads share tiles and
// compute the sums of the 36 parts in order. In both cases, the result does not depend on the number of threads.
type gradient3 struct {
	tiling
	c                       *conv3
	big, small              images
	padH, padW              int
	panels                  simd.Panels
	sums                    []float32 // scratch of shared tiles: [36][channels of big, pitch of small]
	taps                    []float32 // scratch: [groups][3, 3, channels of big, pitch of small]
	groups, groupRows       int       // groups of rows of tiles
	bigPitch, smallPitch    int
	bigStride, smallStride  int
	sumStride               int
	rows, cRows             []int
	x, gateX, y, gateY, dw  []float32 // operands of the current call
	firstRow, count         int
	groupItem, totalItem    func(worker, i int)
	transformItem, partItem func(worker, i int)
}

func newGradient3(c *conv3, batch, padH, padW int) *gradient3 {
	p := &gradient3{c: c, big: c.big, small: c.small, padH: padH, padW: padW, panels: simd.NewPanels(c.small.c)}
	p.bigPitch, p.smallPitch = rowPitch(p.big.pitch), rowPitch(p.small.pitch)
	p.sumStride = paddedStride(p.big.c * p.small.pitch)
	p.tiling = newTiling(batch, p.small.h, p.small.w, 36*(p.bigPitch+p.smallPitch), 36*p.sumStride)
	p.bigStride, p.smallStride = paddedStride(p.tiles()*p.bigPitch), paddedStride(p.tiles()*p.smallPitch)
	p.rows, p.cRows = simd.RowTable(p.big.c, 1), simd.RowTable(p.big.c, p.small.pitch)
	p.groups, p.groupRows = 1, p.tileRows
	if !p.shared {
		size := (batch + minItems - 1) / minItems
		if maxGroups := sumElements / p.tapElements(); maxGroups > minItems {
			size = (batch + maxGroups - 1) / maxGroups
		}
		p.groups, p.groupRows = (batch+size-1)/size, size*p.tilesY
	}
	p.groupItem, p.totalItem = p.group, p.total
	p.transformItem = func(worker, r int) { p.transform(c.scratch.workers[worker], p.firstRow, r) }
	p.partItem = func(worker, i int) {
		p.part(c.scratch.workers[worker], p.sums, i, p.count*p.tilesX, p.firstRow == 0)
	}
	return p
}

// tapElements returns the number of taps with the padding of scratch.
func (p *gradient3) tapElements() int { return 9 * p.big.c * p.small.pitch }

// run computes the filter gradient dw from big images x and small images y. With gateX or gateY, it applies the
// gradient of an activation with this value to x or y.
func (p *gradient3) run(x, gateX, y, gateY, dw []float32) {
	c := &p.c.scratch
	perThread, shared := 36*p.sumStride, p.groups*p.tapElements()
	if p.shared {
		perThread, shared = 0, shared+perThread
	}
	p.taps = c.take(&p.tiling, p.big.pitch, p.small.pitch, 36*p.bigStride, 36*p.smallStride+perThread, shared)
	p.sums = p.taps[p.groups*p.tapElements():]
	defer c.give()
	p.x, p.gateX, p.y, p.gateY, p.dw = x, gateX, y, gateY, dw
	workers := c.active
	if p.shared {
		for p.firstRow = 0; p.firstRow < p.tileRows; p.firstRow += p.blockRows {
			p.count = min(p.blockRows, p.tileRows-p.firstRow)
			parallel.ForWorkers(workers, p.count, p.transformItem)
			parallel.ForWorkers(workers, 36*p.panels.Count, p.partItem)
		}
	} else {
		parallel.ForWorkers(workers, p.groups, p.groupItem)
	}
	parallel.ForWorkers(workers, (p.big.c+totalChannels-1)/totalChannels, p.totalItem)
	p.x, p.gateX, p.y, p.gateY, p.dw, p.sums, p.taps = nil, nil, nil, nil, nil, nil, nil
}

func (p *gradient3) group(worker, group int) {
	w := p.c.scratch.workers[worker]
	sums := w.products[36*p.smallStride:]
	end := min(p.tileRows, (group+1)*p.groupRows)
	for firstRow := group * p.groupRows; firstRow < end; firstRow += p.blockRows {
		count := min(p.blockRows, end-firstRow)
		for r := range count {
			p.transform(w, firstRow, r)
		}
		for i := range 36 * p.panels.Count {
			p.part(w, sums, i, count*p.tilesX, firstRow == group*p.groupRows)
		}
	}
	p.toTaps(p.taps[group*p.tapElements():], sums, 0, p.big.c)
}

// toTaps transforms the sums of some channels.
func (p *gradient3) toTaps(dst, sums []float32, firstChannel, count int) {
	offset, tap := firstChannel*p.small.pitch, p.big.c*p.small.pitch
	taps36.run(dst[offset:], sums[offset:], nil, p.small.pitch, p.sumStride, 3*tap, tap, count, p.small.pitch,
		p.small.pitch, noFloor)
}

// transform transforms row firstRow+r of the tiles, to row r of the scratch.
func (p *gradient3) transform(w *worker3, firstRow, r int) {
	image, y := p.locate(firstRow + r)
	imageOf := func(array []float32, n int) []float32 {
		if array == nil {
			return nil
		}
		return array[image*n : (image+1)*n]
	}
	columns := 4*p.tilesX + 2
	p.big.copyPadded(w.strip, imageOf(p.x, p.big.size()), imageOf(p.gateX, p.big.size()), p.c.activation, 4*y-p.padH,
		-p.padW, 6, columns)
	inputs36.run(w.inputs[r*p.tilesX*p.bigPitch:], w.strip, p.big.pitch, p.bigStride,
		columns*p.big.pitch, p.big.pitch, p.tilesX, p.bigPitch, 4*p.big.pitch)
	columns = 4 * p.tilesX
	p.small.copyPadded(w.pixels, imageOf(p.y, p.small.size()), imageOf(p.gateY, p.small.size()), p.c.activation, 4*y, 0, 4,
		columns)
	pixels36.run(w.products[r*p.tilesX*p.smallPitch:], w.pixels, p.small.pitch, p.smallStride,
		columns*p.small.pitch, p.small.pitch, p.tilesX, p.smallPitch, 4*p.small.pitch)
}

// part computes the products of n tiles for a panel of one of the 36 sums, and adds them to the sum. If reset is
// set, the sum starts at 0.
func (p *gradient3) part(w *worker3, sums []float32, i, n int, reset bool) {
	t := &w.tile
	t.Steps, t.AStep, t.Segs, t.Blocks = n, p.bigPitch, 1, 1
	t.BStep, t.Flags = p.smallPitch, simd.Accumulate
	if reset {
		t.Flags = 0
	}
	part := i / p.panels.Count
	offset, width, _ := p.panels.At(i % p.panels.Count)
	t.Width = width
	t.A, t.B = w.inputs[part*p.bigStride:], w.products[part*p.smallStride+offset:]
	t.C = sums[part*p.sumStride+offset:]
	t.Sweep(p.rows, p.cRows, p.big.c, width)
}

// totalChannels is the number of channels of the big images per item of total.
const totalChannels = 8

// total adds the gradients of the groups for some channels, or transforms the sums of shared tiles.
func (p *gradient3) total(_, i int) {
	firstChannel := i * totalChannels
	count := min(totalChannels, p.big.c-firstChannel)
	if p.shared {
		dst := p.taps
		if p.small.pitch == p.small.c {
			dst = p.dw
		}
		if p.toTaps(dst, p.sums, firstChannel, count); p.small.pitch == p.small.c {
			return
		}
	}
	for k := range 9 {
		offset, n := (k*p.big.c+firstChannel)*p.small.pitch, count*p.small.pitch
		sum := p.taps[offset : offset+n]
		for group := 1; group < p.groups; group++ {
			kernel.Add(sum, p.taps[group*p.tapElements()+offset:][:n])
		}
		narrowRow(p.dw[(k*p.big.c+firstChannel)*p.small.c:][:count*p.small.c], sum, p.small.c, p.small.pitch)
	}
}

// biasGradient sums image gradients over pixels, in groups of images.
type biasGradient struct {
	images
	batch, size int // number of images: all, and per group
	activation  kernel.Activation
	sums        []float32   // [groups, channels]
	rows        [][]float32 // by thread: a row of gradients before the activation
	dy, y       []float32
	item        func(worker, i int)
}

// biasElements is the minimum number of elements in a group of images.
const biasElements = 1 << 15

func newBiasGradient(batch int, m images, a kernel.Activation) *biasGradient {
	b := &biasGradient{images: m, batch: batch, size: min(batch, (biasElements+m.size()-1)/m.size()), activation: a}
	b.item = b.group
	return b
}

func (b *biasGradient) groups() int { return (b.batch + b.size - 1) / b.size }

func (b *biasGradient) run(dy, y, db []float32) {
	if b.sums == nil {
		b.sums = make([]float32, b.groups()*b.c)
	}
	for len(b.rows) < parallel.Threads() {
		b.rows = append(b.rows, make([]float32, b.w*b.c))
	}
	b.dy, b.y = dy, y
	parallel.ForWorkers(len(b.rows), b.groups(), b.item)
	copy(db, b.sums[:b.c])
	for group := 1; group < b.groups(); group++ {
		kernel.Add(db, b.sums[group*b.c:(group+1)*b.c])
	}
	b.dy, b.y = nil, nil
}

func (b *biasGradient) group(worker, group int) {
	line := b.w * b.c
	sums := b.sums[group*b.c : (group+1)*b.c]
	for i := group * b.size; i < min(b.batch, (group+1)*b.size); i++ {
		for r := range b.h {
			offset := (i*b.h + r) * line
			row := b.dy[offset : offset+line]
			if b.y != nil {
				row = b.rows[worker]
				b.activation.Gradient(row, b.dy[offset:offset+line], b.y[offset:offset+line])
			}
			sumPixels(sums, row, 1, b.w, line, i == group*b.size && r == 0)
		}
	}
}
