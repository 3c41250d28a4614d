package dense

import (
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// operand is a matrix in a product: element k of row i is data[i*row+k*step].
type operand struct {
	data      []float32
	row, step int
}

// matmul is a product c = f(a b + bias) of an m x k matrix and a k x n matrix. An item of work is a panel of columns
// for a block of rows. One thread computes all steps of an item, depth steps at a time. Sums therefore depend only on
// k, not on m, n or the number of threads.
type matmul struct {
	m, k, n int // in mixed precision, k counts pairs
	panels  simd.Panels
	block   int // rows per item

	a     operand // with m rows
	b     operand // with n rows: the columns of b
	c     []float32
	cRow  int
	bias  []float32 // padded to complete panels
	flags int

	mixed *mixedOperands // nil in single precision

	workers     []*matmulWorker
	rightPanels *[]float32 // b in consecutive panels, row by row; nil: items read b in place or copy it
	leftCopy    *[]float32 // a copied to rows with stride k + strideSpacing, or nil
	lines       []int32    // cache lines of a piece of b, as byte offsets from its start, and zeros for two pieces
	lineShape   [3]int     // rows, columns and row stride of the piece with these lines

	item, layItem, leftItem func(worker, i int)
}

type matmulWorker struct {
	panel   simd.Panel
	scratch *[]float32 // nil until an item needs it
}

// Parts of the scratch memory: a piece of a panel of b, and columns of c in an incomplete panel.
const (
	edgeOffset = 3 * simd.Depth / 2 * 32
	edgeRows   = 96
)

// Sizes of an item of work. The item's rows of a take half of the L2 cache, and stay there for all panels of b. If
// there are too few items for many threads, items have fewer rows, but at least minWork multiplications. A few more
// rows are not divided.
const (
	minBlockRows, maxBlockRows = 144, 264
	targetItems, minWork       = 32, 1 << 17 // multiplications
)

func newMatmul(m, k, n int) *matmul {
	p := &matmul{m: m, k: k, n: n, panels: simd.NewPanelsOf(n, simd.PanelWidth())}
	work := m * k * p.panels.Width
	blocks := 1
	if m > maxBlockRows {
		rows := min(max(simd.LeftElements()/k, minBlockRows), maxBlockRows)
		blocks = (m + rows - 1) / rows
	}
	blocks = max(blocks, min(targetItems/p.panels.Count, work/minWork))
	p.block = ((m+blocks-1)/blocks + 11) / 12 * 12
	p.item, p.layItem, p.leftItem = p.runItem, p.layPanel, p.copyLeft
	return p
}

func (p *matmul) compute() {
	for len(p.workers) < parallel.Threads() {
		p.workers = append(p.workers, &matmulWorker{})
	}
	if p.mixed != nil {
		p.mixed.pairLeft(p)
	}
	blocks := (p.m + p.block - 1) / p.block
	if blocks > 1 && (p.b.step == 1 || p.b.step%aliasStride == 0 || p.mixed != nil) {
		p.rightPanels = kernel.TakeMemory(p.k * p.panels.Padded)
		parallel.ForWorkers(len(p.workers), p.panels.Count, p.layItem)
	}
	transposes := p.a.step > 1 && p.panels.Count >= transposePanels && p.k >= simd.LeastSteps()
	if transposes || p.a.row%aliasStride == 0 && p.panels.Count >= spacingPanels {
		p.leftCopy = kernel.TakeMemory(p.m * (p.k + strideSpacing))
		parallel.ForWorkers(len(p.workers), (p.m+rowBlock-1)/rowBlock, p.leftItem)
		p.a = operand{*p.leftCopy, p.k + strideSpacing, 1}
	}
	p.planLines()
	parallel.ForWorkers(len(p.workers), p.panels.Count*blocks, p.item)
	if p.rightPanels != nil {
		kernel.GiveMemory(p.rightPanels)
		p.rightPanels = nil
	}
	if p.leftCopy != nil {
		kernel.GiveMemory(p.leftCopy)
		p.leftCopy = nil
	}
	p.a.data, p.b.data, p.c = nil, nil, nil
	for _, w := range p.workers { // copies may be reused by others
		w.scratch = nil
		w.panel.A, w.panel.B, w.panel.C, w.panel.Bias, w.panel.Ahead = nil, nil, nil, nil, nil
	}
}

// Rows whose stride is a multiple of aliasStride elements share cache sets. A larger stride, by strideSpacing elements,
// avoids this.
const aliasStride, strideSpacing = 1024, 16

// Rows of a that share cache sets are copied if there are at least spacingPanels panels. Columns of a become rows if
// there are at least transposePanels panels.
const spacingPanels, transposePanels = 3, 9

// copyLeft copies a block of rows of a.
func (p *matmul) copyLeft(_, i int) {
	from, to := i*rowBlock, min(p.m, (i+1)*rowBlock)
	line := p.k + strideSpacing
	if p.a.step > 1 {
		simd.Transpose((*p.leftCopy)[from*line:], p.a.data[from:], line, p.a.step, p.k, to-from)
		return
	}
	for r := from; r < to; r++ {
		copy((*p.leftCopy)[r*line:][:p.k], p.a.data[r*p.a.row:])
	}
}

// layPanel lays out panel i of b.
func (p *matmul) layPanel(_, i int) {
	first, width, columns := p.panels.At(i)
	if p.mixed != nil {
		p.mixed.pairRight(p, (*p.rightPanels)[first*p.k:], first, width, columns, 0, p.k)
		return
	}
	p.layPiece((*p.rightPanels)[first*p.k:], first, width, columns, 0, p.k)
}

// layPiece lays out the steps [start, end) of a panel of b.
func (p *matmul) layPiece(dst []float32, first, width, columns, start, end int) {
	src := p.b.data[first*p.b.row+start*p.b.step:]
	switch {
	case p.b.step == 1:
		simd.Transpose(dst, src, width, p.b.row, columns, end-start)
	case columns == simd.PanelWidth():
		simd.CopyRows(dst, src, p.b.step, end-start)
	default:
		simd.CopyRowsGo(dst, src, columns, width, p.b.step, end-start)
	}
}

func (p *matmul) runItem(worker, i int) {
	w := p.workers[worker]
	from := i / p.panels.Count * p.block
	rows := min(p.block, p.m-from)
	first, width, columns := p.panels.At(i % p.panels.Count)
	t := &w.panel
	t.Width, t.Columns, t.ARow, t.AStep, t.CRow = width, columns, p.a.row, p.a.step, p.cRow
	if p.flags&simd.AddBias != 0 {
		t.Bias = p.bias[first:]
	}
	t.Pairs = p.mixed != nil
	fullPanel := columns == width || t.Masks()
	inPlace := fullPanel && p.b.step > 1 && !t.Pairs && (rows < simd.WorthLaying() || p.k < simd.LeastSteps())
	if p.rightPanels == nil && !inPlace || !fullPanel {
		w.scratch = kernel.TakeMemory(edgeOffset + edgeRows*32)
		defer kernel.GiveMemory(w.scratch)
	}
	pieces := simd.ProductPieces(p.k)
	for i := range pieces {
		start, end := i*p.k/pieces, (i+1)*p.k/pieces
		t.Steps, t.Flags = end-start, simd.PieceFlags(p.flags, i, pieces)
		t.A = p.a.data[from*p.a.row+start*p.a.step:]
		t.C = p.c[from*p.cRow+first:]
		next := p.setRight(w, inPlace, first, start, end)
		if fullPanel {
			t.Sweep(rows, next, p.lines)
		} else {
			w.computeEdge(rows, columns, p.lines[len(p.lines)-t.Steps:])
		}
	}
}

// setRight sets b of a worker's panel to steps [start, end), in place or in a copy. It returns the elements to read
// next: the following steps, or the start of the next panel.
func (p *matmul) setRight(w *matmulWorker, inPlace bool, first, start, end int) (next []float32) {
	t := &w.panel
	switch {
	case p.rightPanels != nil:
		t.B, t.BStep = (*p.rightPanels)[first*p.k+start*t.Width:], t.Width
		return t.B[min(len(t.B), (end-start)*t.Width):]
	case inPlace:
		t.B, t.BStep = p.b.data[first*p.b.row+start*p.b.step:], p.b.step
	case p.mixed != nil:
		t.B, t.BStep = *w.scratch, t.Width
		p.mixed.pairRight(p, t.B, first, t.Width, t.Columns, start, end)
	default:
		t.B, t.BStep = *w.scratch, t.Width
		p.layPiece(t.B, first, t.Width, t.Columns, start, end)
	}
	switch {
	case end == p.k && first+t.Width >= p.n:
		return nil
	case end == p.k:
		return p.b.data[(first+t.Width)*p.b.row:]
	case p.mixed != nil:
		end *= 2
	}
	return p.b.data[first*p.b.row+end*p.b.step:]
}

// planLines sets the lines of a piece of b, where it lies.
func (p *matmul) planLines() {
	pieces := simd.ProductPieces(p.k)
	steps := (p.k + pieces - 1) / pieces
	rows, columns, row := steps, p.panels.Width, p.b.step
	if p.mixed != nil {
		rows *= 2
	}
	switch {
	case p.rightPanels != nil:
		rows, row = steps, columns
	case row == 1:
		rows, columns, row = columns, rows, p.b.row
	}
	if planned := [3]int{rows, columns, row}; p.lineShape == planned {
		return
	} else {
		p.lineShape, p.lines = planned, p.lines[:0]
	}
	for column := 0; column < columns; column += 16 {
		for r := range rows {
			p.lines = append(p.lines, int32(4*(r*row+column)))
		}
	}
	if row%16 > 0 { // rows begin within a line, and end in one more
		for r := range rows {
			p.lines = append(p.lines, int32(4*(r*row+columns-1)))
		}
	}
	p.lines = append(p.lines, make([]int32, 2*steps)...)
}

// computeEdge computes rows of a panel that extends beyond the columns of c, through a copy.
func (w *matmulWorker) computeEdge(rows, columns int, idle []int32) {
	t, edge := &w.panel, (*w.scratch)[edgeOffset:]
	a, c, cRow := t.A, t.C, t.CRow
	for from := 0; from < rows; from += edgeRows {
		n := min(edgeRows, rows-from)
		t.A, t.C, t.CRow, t.Rows, t.Ahead, t.Lines = a[from*t.ARow:], edge, 32, n, t.B, idle
		if t.Flags&simd.Accumulate != 0 {
			for r := range n {
				copy(edge[32*r:32*r+columns], c[(from+r)*cRow:])
			}
		}
		t.Multiply()
		for r := range n {
			copy(c[(from+r)*cRow:][:columns], edge[32*r:])
		}
	}
	t.CRow = cRow
}
