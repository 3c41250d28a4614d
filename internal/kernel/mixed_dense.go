package kernel

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// MixedDense is [Dense] in mixed precision. One goroutine at a time may use it.
type MixedDense struct {
	rows, in, out int
	activation    Activation
	stride        int // out rounded up to 16: rows of the gradient g

	forward, input, weight *pairProduct
	bias                   []float32
	g                      []float32 // dy through the activation's gradient
	xPairs                 []float32 // pairs of rows of x: [(rows+1)/2, in]
	zeros                  []float32
	workers                []*mixedWorker

	x, w, y, dy                                                                                 []float32
	leftItem, forwardItem, gradientItem, inputItem, turnItem, weightItem, sumItem, activateItem func(worker, i int)
}

// mixedWorker is the scratch of a thread.
type mixedWorker struct {
	tile
	piece, lines []float32 // up to 3/2 depth steps of a panel, and the same before it is transposed
}

// pairProduct is a product of matrices of pairs, [m, steps] and [steps, n]. The right one is converted piece by piece in the
// first-level cache, right before use.
type pairProduct struct {
	m, n, steps int
	panels      panels
	left        []float32 // [m, steps]
	rows, cRows []int
	c, bias     []float32
	flags       int
	right       func(w *mixedWorker, first, width, columns, from, to int) // writes steps [from, to) of a panel to w.piece
}

// pairBlock is the number of rows of a result per item of work.
const pairBlock = 256

func newPairProduct(m, n, k int, right func(w *mixedWorker, first, width, columns, from, to int)) *pairProduct {
	steps := (k + 1) / 2
	return &pairProduct{m: m, n: n, steps: steps, panels: newPanels(n), left: make([]float32, m*steps), rows: rowTable(m, steps), cRows: rowTable(m, n), right: right}
}

func (p *pairProduct) blocks() int { return (p.m + pairBlock - 1) / pairBlock }

func (p *pairProduct) items() int { return p.panels.count * p.blocks() }

// run computes a panel of a block of rows.
func (p *pairProduct) run(w *mixedWorker, i int) {
	first, width, columns := p.panels.at(i / p.blocks())
	from := i % p.blocks() * pairBlock
	to := min(p.m, from+pairBlock)
	t := &w.tile
	t.a, t.steps, t.aStep, t.bStep, t.width = p.left, p.steps, 1, width, width
	t.c, t.flags = p.c[first:], p.flags
	if p.bias != nil {
		t.bias = p.bias[first:]
	}
	t.productOf(p.rows[from:to], p.cRows[from:to], to-from, columns, func(from, to int) []float32 {
		p.right(w, first, width, columns, from, to)
		return w.piece
	})
}

// NewMixedDense is [NewDense] in mixed precision.
func NewMixedDense(rows, in, out int, a Activation) (*MixedDense, error) {
	if rows < 1 || in < 1 || out < 1 {
		return nil, fmt.Errorf("dense: %d rows, %d inputs, %d outputs: want at least 1 of each", rows, in, out)
	}
	d := &MixedDense{rows: rows, in: in, out: out, activation: a, stride: newPanels(out).padded}
	d.zeros = make([]float32, max(in, d.stride))
	d.bias, d.g = make([]float32, d.stride), make([]float32, rows*d.stride)
	d.forward = newPairProduct(rows, out, in, d.weights)
	d.leftItem, d.forwardItem, d.activateItem = d.left, d.forwardProduct, d.activate
	d.gradientItem, d.inputItem, d.turnItem, d.weightItem, d.sumItem = d.gradient, d.inputProduct, d.turn, d.weightProduct, d.sum
	return d, nil
}

func (d *MixedDense) prepare() {
	for len(d.workers) < parallel.Threads() {
		d.workers = append(d.workers, &mixedWorker{tile: tile{segs: 1, blocks: 1, pairs: true},
			piece: make([]float32, 3*depth/2*32), lines: make([]float32, 3*depth/2*32)})
	}
}

func (d *MixedDense) block(i, n int) (from, to int) { return i * rowBlock, min(n, (i+1)*rowBlock) }

// Forward computes y = f(x w + bias). x is [rows, in], w [in, out], bias [out], y [rows, out].
func (d *MixedDense) Forward(x, w, bias, y []float32) {
	d.prepare()
	d.x, d.w, d.y = x, w, y
	copy(d.bias, bias)
	f := d.forward
	f.c, f.bias, f.flags = y, d.bias, d.activation.epilogue()
	if d.activation == LeakyActivation {
		f.flags |= applyLeaky
	}
	parallel.ForWorkers(len(d.workers), blocks(d.rows), d.leftItem)
	parallel.ForWorkers(len(d.workers), f.items(), d.forwardItem)
	if d.activation > ReLUActivation && d.activation != LeakyActivation {
		parallel.ForWorkers(len(d.workers), blocks(d.rows), d.activateItem)
	}
	d.x, d.w, d.y, f.c = nil, nil, nil, nil
}

func (d *MixedDense) left(_, i int) {
	from, to := d.block(i, d.rows)
	pairRows(d.forward.left[from*d.forward.steps:], d.x[from*d.in:], to-from, d.in, d.forward.steps, d.in)
}

func (d *MixedDense) forwardProduct(worker, i int) { d.forward.run(d.workers[worker], i) }

// weights converts steps of a panel of w.
func (d *MixedDense) weights(w *mixedWorker, first, width, columns, from, to int) {
	d.pairsOfRows(w.piece, d.w[first:], d.out, d.in, columns, width, from, to)
}

// pairsOfRows converts pairs [from, to) of the first columns of n rows, step elements apart.
func (d *MixedDense) pairsOfRows(dst, src []float32, step, n, columns, width, from, to int) {
	whole := min(to, n/2)
	if from < whole {
		pairColumns(dst, src[2*from*step:], src[(2*from+1)*step:], whole-from, columns, width, 2*step)
	}
	if whole < to {
		pairColumns(dst[(whole-from)*width:], src[2*whole*step:], d.zeros, 1, columns, 0, 0)
	}
}

func (d *MixedDense) activate(_, i int) {
	from, to := d.block(i, d.rows)
	d.activation.Apply(d.y[from*d.out : to*d.out])
}

// Backward computes the gradients dx, dw, db of a loss from its gradient dy at y
// = Forward(x, w, bias). A nil dx, dw or db is not computed.
func (d *MixedDense) Backward(x, w, y, dy, dx, dw, db []float32) {
	d.prepare()
	d.x, d.w, d.y, d.dy = x, w, y, dy
	if dx != nil && d.input == nil {
		d.input = newPairProduct(d.rows, d.in, d.out, d.turnedWeights)
	}
	if dw != nil && d.weight == nil {
		d.weight = newPairProduct(d.in, d.out, d.rows, d.gradients)
		d.xPairs = make([]float32, d.weight.steps*d.in)
	}
	parallel.ForWorkers(len(d.workers), blocks(d.rows), d.gradientItem)
	if dx != nil {
		d.input.c = dx
		parallel.ForWorkers(len(d.workers), d.input.items(), d.inputItem)
		d.input.c = nil
	}
	if dw != nil {
		d.weight.c = dw
		parallel.ForWorkers(len(d.workers), blocks(d.in), d.turnItem)
		parallel.ForWorkers(len(d.workers), d.weight.items(), d.weightItem)
		d.weight.c = nil
	}
	if db != nil {
		clear(d.bias)
		parallel.ForWorkers(len(d.workers), (d.stride+sumBlock-1)/sumBlock, d.sumItem)
		copy(db, d.bias)
	}
	d.x, d.w, d.y, d.dy = nil, nil, nil, nil
}

// gradient computes a block of rows of g, and their pairs.
func (d *MixedDense) gradient(_, i int) {
	from, to := d.block(i, d.rows)
	for r := from; r < to; r++ {
		d.activation.Gradient(d.g[r*d.stride:r*d.stride+d.out], d.dy[r*d.out:(r+1)*d.out], d.y[r*d.out:(r+1)*d.out])
	}
	if p := d.input; p != nil {
		pairRows(p.left[from*p.steps:], d.g[from*d.stride:], to-from, d.out, p.steps, d.stride)
	}
}

func (d *MixedDense) inputProduct(worker, i int) { d.input.run(d.workers[worker], i) }

// turnedWeights converts steps of a panel of w transposed.
func (d *MixedDense) turnedWeights(w *mixedWorker, first, width, columns, from, to int) {
	n := to - from
	pairRows(w.lines, d.w[first*d.out+2*from:], columns, min(2*n, d.out-2*from), n, d.out)
	transpose(w.piece, w.lines, width, n, columns, n)
}

// turn converts a block of columns of x to pairs of rows, transposed.
func (d *MixedDense) turn(_, i int) {
	from, to := d.block(i, d.in)
	p := d.weight
	d.pairsOfRows(d.xPairs[from:], d.x[from:], d.in, d.rows, to-from, d.in, 0, p.steps)
	transpose(p.left[from*p.steps:], d.xPairs[from:], p.steps, d.in, p.steps, to-from)
}

func (d *MixedDense) weightProduct(worker, i int) { d.weight.run(d.workers[worker], i) }

// gradients converts steps of a panel of g.
func (d *MixedDense) gradients(w *mixedWorker, first, width, _, from, to int) {
	d.pairsOfRows(w.piece, d.g[first:], d.stride, d.rows, width, width, from, to)
}

func (d *MixedDense) sum(_, i int) {
	for c := i * sumBlock; c < min((i+1)*sumBlock, d.stride); c += 16 {
		columnSum(d.bias[c:], d.g[c:], d.rows, d.stride)
	}
}
