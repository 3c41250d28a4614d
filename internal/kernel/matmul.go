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
	item    func(worker, i int)
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

// Bounds of the multiplications in an item of work: many for their own sake, few for many threads.
const (
	leastWork = 1 << 17
	mostWork  = 1 << 22
	manyItems = 128
)

// newMatmul plans a product. b is laid out for each block of rows, if gathered.
func newMatmul(m, k, n int, gathered bool) *matmul {
	p := &matmul{m: m, k: k, n: n, panels: newPanelsOf(n, panelWidth())}
	work := min(max(m*k*n/manyItems, leastWork), mostWork)
	if gathered {
		work *= 4
	}
	blocks := max(1, m*k*p.panels.width/work)
	p.block = ((m+blocks-1)/blocks + 11) / 12 * 12
	p.item = p.run
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
	parallel.ForWorkers(len(p.workers), p.panels.count*blocks, p.item)
	p.a.data, p.b.data, p.c = nil, nil, nil
}

// run computes an item of work.
func (p *matmul) run(worker, i int) {
	w := p.workers[worker]
	from := i / p.panels.count * p.block
	rows := min(p.block, p.m-from)
	first, width, columns := p.panels.at(i % p.panels.count)
	t := &w.panel
	t.width, t.aRow, t.aStep, t.cRow = width, p.a.row, p.a.step, p.cRow
	if p.flags&addBias != 0 {
		t.bias = p.bias[first:]
	}
	t.pairs = p.mixed != nil
	whole := columns == width || t.masks()
	if p.b.step == 1 || !whole || t.pairs {
		w.scratch = takeMemory(edgeAt + edgeRows*32)
		defer giveMemory(w.scratch)
	}
	pieces := productPieces(p.k)
	for i := range pieces {
		begin, end := i*p.k/pieces, (i+1)*p.k/pieces
		t.steps, t.flags = end-begin, pieceFlags(p.flags, i, pieces)
		t.b, t.bStep = p.right(w, first, width, columns, begin, end)
		t.ahead = t.b
		if p.b.step > 1 && columns == width && !t.pairs {
			if i+1 < pieces {
				t.ahead = t.b[t.steps*p.b.step:]
			} else if first+width < p.n {
				t.ahead = p.b.data[first+width:]
			}
		}
		t.a = p.a.data[from*p.a.row+begin*p.a.step:]
		t.c = p.c[from*p.cRow+first:]
		if !whole {
			w.border(rows, columns)
			continue
		}
		t.rows, t.columns = rows, columns
		t.multiply()
	}
}

// right returns the steps [begin, end) of a panel of b and the distance between them: in place, where steps are runs
// of memory as wide as the panel, and otherwise as a copy.
func (p *matmul) right(w *matmulWorker, first, width, columns, begin, end int) (b []float32, step int) {
	if p.mixed != nil {
		p.mixed.pairRight(p, *w.scratch, first, width, columns, begin, end)
		return *w.scratch, width
	}
	at := p.b.data[first*p.b.row+begin*p.b.step:]
	if p.b.step > 1 && (columns == width || panelMasks()) {
		return at, p.b.step
	}
	piece, n := *w.scratch, end-begin
	if p.b.step > 1 {
		for i := range n {
			copy(piece[i*width:i*width+columns], at[i*p.b.step:])
		}
		return piece, width
	}
	transpose(piece, at, width, p.b.row, columns, n)
	return piece, width
}

// border computes rows of a panel whose last columns are not of c, by way of a copy.
func (w *matmulWorker) border(rows, columns int) {
	t, edge := &w.panel, (*w.scratch)[edgeAt:]
	a, c, cRow := t.a, t.c, t.cRow
	for from := 0; from < rows; from += edgeRows {
		n := min(edgeRows, rows-from)
		t.a, t.c, t.cRow, t.rows = a[from*t.aRow:], edge, 32, n
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
