package kernel

import "github.com/unravel-ml/unravel/internal/parallel"

// operand is a matrix of a product: row i has element k at data[i*row+k*step].
type operand struct {
	data      []float32
	row, step int
}

// matmul is a product c = f(a b + bias) of matrices of m by k and k by n elements, in items of work: panels
// of columns of a block of rows. All the steps of an item are computed by one thread, some depth steps at a
// time, so that sums depend on k only: neither on m and n nor on threads.
type matmul struct {
	m, k, n int // k counts pairs, in mixed precision
	panels  panels
	block   int // rows in an item

	a     operand // of m rows
	b     operand // of n rows: b is given by its columns
	c     []float32
	cRow  int
	bias  []float32 // padded to whole panels
	flags int

	mixed *mixedOperands // nil in single precision

	workers []*matmulWorker
	laid    *[]float32 // b in panels, one after the other, each of rows: nil if items read b where it is or lay it out
	spaced  *[]float32 // a with rows at another distance, or nil

	item, layItem, spaceItem func(worker, i int)
}

// matmulWorker is the state of a thread.
type matmulWorker struct {
	panel   panel
	scratch *[]float32 // nil until an item needs it
}

// Parts of the scratch: a piece of a panel of b, and columns of c that do not fill a panel.
const (
	edgeAt   = 3 * depth / 2 * 32
	edgeRows = 96
)

// Sizes of an item of work: rows whose part of a stays in the second-level cache for all panels of b, and fewer where there
// would be too few items for many threads, but enough to be worth an item. A few rows more are not divided.
const (
	leftSize             = 135000 // elements of a
	fewRows, manyRows    = 144, 264
	manyItems, leastWork = 32, 1 << 17 // multiplications
)

// newMatmul plans a product.
func newMatmul(m, k, n int) *matmul {
	p := &matmul{m: m, k: k, n: n, panels: newPanelsOf(n, panelWidth())}
	work := m * k * p.panels.width
	blocks := 1
	if m > manyRows {
		rows := min(max(leftSize/k, fewRows), manyRows)
		blocks = (m + rows - 1) / rows
	}
	blocks = max(blocks, min(manyItems/p.panels.count, work/leastWork))
	p.block = ((m+blocks-1)/blocks + 11) / 12 * 12
	p.item, p.layItem, p.spaceItem = p.run, p.lay, p.space
	return p
}

// compute multiplies.
func (p *matmul) compute() {
	for len(p.workers) < parallel.Threads() {
		p.workers = append(p.workers, &matmulWorker{})
	}
	if p.mixed != nil {
		p.mixed.pairLeft(p)
	}
	blocks := (p.m + p.block - 1) / p.block
	if blocks > 1 && (p.b.step == 1 || p.mixed != nil) {
		p.laid = takeMemory(p.k * p.panels.padded)
		parallel.ForWorkers(len(p.workers), p.panels.count, p.layItem)
	}
	if p.a.step == 1 && p.a.row%aliased == 0 && p.panels.count > 2 {
		p.spaced = takeMemory(p.m * (p.k + spacing))
		parallel.ForWorkers(len(p.workers), (p.m+rowBlock-1)/rowBlock, p.spaceItem)
		p.a = operand{*p.spaced, p.k + spacing, 1}
	}
	parallel.ForWorkers(len(p.workers), p.panels.count*blocks, p.item)
	if p.laid != nil {
		giveMemory(p.laid)
		p.laid = nil
	}
	if p.spaced != nil {
		giveMemory(p.spaced)
		p.spaced = nil
	}
	p.a.data, p.b.data, p.c = nil, nil, nil
}

// Rows whose distance is a multiple of aliased elements meet in the same few lines of a cache. spacing more are enough to part
// them.
const aliased, spacing = 1024, 16

// space copies a block of rows of a.
func (p *matmul) space(_, i int) {
	for r := i * rowBlock; r < min(p.m, (i+1)*rowBlock); r++ {
		copy((*p.spaced)[r*(p.k+spacing):][:p.k], p.a.data[r*p.a.row:])
	}
}

// lay lays out panel i of b.
func (p *matmul) lay(_, i int) {
	first, width, columns := p.panels.at(i)
	if p.mixed != nil {
		p.mixed.pairRight(p, (*p.laid)[first*p.k:], first, width, columns, 0, p.k)
		return
	}
	transpose((*p.laid)[first*p.k:], p.b.data[first*p.b.row:], width, p.b.row, columns, p.k)
}

// run computes an item of work.
func (p *matmul) run(worker, i int) {
	w := p.workers[worker]
	from := i / p.panels.count * p.block
	rows := min(p.block, p.m-from)
	first, width, columns := p.panels.at(i % p.panels.count)
	t := &w.panel
	t.width, t.columns, t.aRow, t.aStep, t.cRow = width, columns, p.a.row, p.a.step, p.cRow
	if p.flags&addBias != 0 {
		t.bias = p.bias[first:]
	}
	t.pairs = p.mixed != nil
	whole := columns == width || t.masks()
	if p.laid == nil && (p.b.step == 1 || t.pairs) || !whole {
		w.scratch = takeMemory(edgeAt + edgeRows*32)
		defer giveMemory(w.scratch)
	}
	pieces := productPieces(p.k)
	for i := range pieces {
		begin, end := i*p.k/pieces, (i+1)*p.k/pieces
		t.steps, t.flags = end-begin, pieceFlags(p.flags, i, pieces)
		t.a = p.a.data[from*p.a.row+begin*p.a.step:]
		t.c = p.c[from*p.cRow+first:]
		next := p.right(w, first, begin, end)
		if whole {
			t.sweep(rows, next)
		} else {
			w.border(rows, columns)
		}
	}
}

// right sets b of a worker's panel to steps [begin, end): where they are, if these are runs of memory as wide as the
// panel, and otherwise as a copy. It returns what is read after them.
func (p *matmul) right(w *matmulWorker, first, begin, end int) (next []float32) {
	t := &w.panel
	columns, width := t.columns, t.width
	switch {
	case p.laid != nil:
		t.b, t.bStep = (*p.laid)[first*p.k+begin*width:], width
		return t.b[min(len(t.b), (end-begin)*width):]
	case p.mixed != nil:
		t.b, t.bStep = *w.scratch, width
		p.mixed.pairRight(p, t.b, first, width, columns, begin, end)
		return nil
	case p.b.step == 1:
		t.b, t.bStep = *w.scratch, width
		transpose(t.b, p.b.data[first*p.b.row+begin:], width, p.b.row, columns, end-begin)
		return nil
	case columns < width && !panelMasks():
		t.b, t.bStep = *w.scratch, width
		for i := range end - begin {
			copy(t.b[i*width:i*width+columns], p.b.data[first+(begin+i)*p.b.step:])
		}
		return nil
	}
	t.b, t.bStep = p.b.data[first+begin*p.b.step:], p.b.step
	if end < p.k {
		return t.b[(end-begin)*p.b.step:]
	}
	return p.b.data[min(p.n, first+width):]
}

// sweep computes rows, and prefetches next meanwhile: a line of each of its steps with each of the first blocks of
// rows. All at once would keep the operands of the blocks waiting.
func (p *panel) sweep(rows int, next []float32) {
	const block = 12
	for at := 0; at < min(p.width, len(next)) && rows > block; at += 16 {
		p.rows, p.ahead = block, next[at:]
		p.multiply()
		p.a, p.c = p.a[block*p.aRow:], p.c[block*p.cRow:]
		rows -= block
	}
	p.rows, p.ahead = rows, p.b
	p.multiply()
}

// border computes rows of a panel whose last columns are not of c, by way of a copy.
func (w *matmulWorker) border(rows, columns int) {
	t, edge := &w.panel, (*w.scratch)[edgeAt:]
	a, c, cRow := t.a, t.c, t.cRow
	for from := 0; from < rows; from += edgeRows {
		n := min(edgeRows, rows-from)
		t.a, t.c, t.cRow, t.rows, t.ahead = a[from*t.aRow:], edge, 32, n, t.b
		if t.flags&accumulate != 0 {
			for r := range n {
				copy(edge[32*r:32*r+columns], c[(from+r)*cRow:])
			}
		}
		t.multiply()
		for r := range n {
			copy(c[(from+r)*cRow:][:columns], edge[32*r:])
		}
	}
	t.cRow = cRow
}
