package kernel

import "github.com/unravel-ml/unravel/internal/parallel"

// operand is a matrix of a product: row i has element k at data[i*row+k*step].
type operand struct {
	data      []float32
	row, step int
}

// matmul is a product c = f(a b + bias) of matrices of m by k and k by n elements. An item of work is a panel of
// columns of a block of rows. One thread computes all the steps of an item, some depth steps at a time. Sums therefore
// depend on k only: neither on m and n nor on threads.
type matmul struct {
	m, k, n int // k counts pairs, in mixed precision
	panels  panels
	block   int // rows in an item

	a     operand // with m rows
	b     operand // with n rows: b is given by its columns
	c     []float32
	cRow  int
	bias  []float32 // padded to whole panels
	flags int

	mixed *mixedOperands // nil in single precision

	workers []*matmulWorker
	laid    *[]float32 // b in panels, one after the other, each row by row; nil: items read b in place or copy it
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

// Sizes of an item of work. The item's rows of a stay in the second-level cache for all panels of b. With too few items
// for many threads, an item has fewer rows, but enough to be worth an item. A few rows more are not divided.
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
	if blocks > 1 && (p.b.step == 1 || p.meets() || p.mixed != nil) {
		p.laid = takeMemory(p.k * p.panels.padded)
		parallel.ForWorkers(len(p.workers), p.panels.count, p.layItem)
	}
	if lines, length, step := p.left(); step%aliased == 0 && p.panels.count >= worthSpacing && (p.a.step == 1 || !panelHides()) {
		p.spaced = takeMemory(lines * (length + spacing))
		parallel.ForWorkers(len(p.workers), (lines+rowBlock-1)/rowBlock, p.spaceItem)
		if p.a.data = *p.spaced; p.a.step == 1 {
			p.a.row = length + spacing
		} else {
			p.a.step = length + spacing
		}
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

// Rows at a distance of a multiple of aliased elements share the same few lines of a cache. spacing more elements
// separate them.
const aliased, spacing = 1024, 16

// A panel of b with steps that share cache lines is copied from worthLaying rows on. A block of a with such lines is
// copied from worthSpacing panels on.
const worthLaying, worthSpacing = 36, 3

// left returns the number of runs of memory of a, which are its rows or its columns, their length and the distance between them.
func (p *matmul) left() (lines, length, step int) {
	if p.a.step == 1 {
		return p.m, p.k, p.a.row
	}
	return p.k, p.m, p.a.step
}

// space copies a block of rows or columns of a.
func (p *matmul) space(_, i int) {
	lines, length, step := p.left()
	for r := i * rowBlock; r < min(lines, (i+1)*rowBlock); r++ {
		copy((*p.spaced)[r*(length+spacing):][:length], p.a.data[r*step:])
	}
}

// lay lays out panel i of b.
func (p *matmul) lay(_, i int) {
	first, width, columns := p.panels.at(i)
	if p.mixed != nil {
		p.mixed.pairRight(p, (*p.laid)[first*p.k:], first, width, columns, 0, p.k)
		return
	}
	p.layPiece((*p.laid)[first*p.k:], first, width, columns, 0, p.k)
}

// layPiece lays out the steps [begin, end) of a panel of b.
func (p *matmul) layPiece(dst []float32, first, width, columns, begin, end int) {
	at := p.b.data[first*p.b.row+begin*p.b.step:]
	switch {
	case p.b.step == 1:
		transpose(dst, at, width, p.b.row, columns, end-begin)
	case columns == panelWidth():
		copyRows(dst, at, p.b.step, end-begin)
	default:
		copyRowsGo(dst, at, columns, width, p.b.step, end-begin)
	}
}

// meets reports whether steps of b meet in the same lines of a cache, and that takes time.
func (p *matmul) meets() bool { return p.b.step%aliased == 0 && !panelHides() }

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
	inPlace := whole && p.b.step > 1 && !t.pairs && (rows < worthLaying || !p.meets())
	if p.laid == nil && !inPlace || !whole {
		w.scratch = takeMemory(edgeAt + edgeRows*32)
		defer giveMemory(w.scratch)
	}
	pieces := productPieces(p.k)
	for i := range pieces {
		begin, end := i*p.k/pieces, (i+1)*p.k/pieces
		t.steps, t.flags = end-begin, pieceFlags(p.flags, i, pieces)
		t.a = p.a.data[from*p.a.row+begin*p.a.step:]
		t.c = p.c[from*p.cRow+first:]
		next := p.right(w, inPlace, first, begin, end)
		if whole {
			t.sweep(rows, next)
		} else {
			w.border(rows, columns)
		}
	}
}

// right sets b of a worker's panel to steps [begin, end), in place or in a copy. It returns the elements to be read
// next.
func (p *matmul) right(w *matmulWorker, inPlace bool, first, begin, end int) (next []float32) {
	t := &w.panel
	switch {
	case p.laid != nil:
		t.b, t.bStep = (*p.laid)[first*p.k+begin*t.width:], t.width
		return t.b[min(len(t.b), (end-begin)*t.width):]
	case inPlace:
		t.b, t.bStep = p.b.data[first+begin*p.b.step:], p.b.step
		if end < p.k {
			return t.b[(end-begin)*p.b.step:]
		}
		return p.b.data[min(p.n, first+t.width):]
	}
	t.b, t.bStep = *w.scratch, t.width
	if p.mixed != nil {
		p.mixed.pairRight(p, t.b, first, t.width, t.columns, begin, end)
	} else {
		p.layPiece(t.b, first, t.width, t.columns, begin, end)
	}
	return nil
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

// border computes rows of a panel that reaches beyond the columns of c, by way of a copy.
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
