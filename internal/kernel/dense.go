package kernel

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// Dense is a fully connected layer y = f(x w + bias) on rows. One goroutine at a time may use it.
type Dense struct {
	rows, in, out int
	activation    Activation

	forwardPanels panels    // of the out columns
	inputPanels   panels    // of the in columns
	stride        int       // out rounded up to 16: rows of the gradient g
	packed        []float32 // for many rows: w in panels
	packedT       []float32 // w transposed in panels, allocated by the first input gradient
	packedG, xT   []float32 // g in panels, and x transposed; allocated by the first weight gradient
	bias          []float32
	g             []float32 // dy through the activation's gradient

	// Offsets of rows: of x, y, g and dx, and of x transposed and dw.
	xRows, yRows, gRows, kRows, wRows []int

	workers []*denseWorker
	piece   int // columns of g in a piece

	x, w, y, dy, dx, dw                                                                                           []float32
	packItem, packTItem, packGItem, transposeItem, forwardItem, gradientItem, inputItem, weightItem, activateItem func(worker, i int)
	forwardFewItem, inputFewItem, sumItem                                                                         func(worker, i int)
}

// rowBlock is the number of rows of a result per item of work.
const rowBlock = 64

// fewRows is the largest number of rows for which weights are laid out piece by piece in the cache,
// right before use: all at once, they would go to memory and back.
const fewRows = 256

// denseWorker is the scratch of a thread.
type denseWorker struct {
	tile
	piece []float32 // for few rows: up to 3/2 depth steps of a panel of weights
	lines []float32 // the same before it is transposed: copying reads memory faster
}

// NewDense plans a layer for a number of rows.
func NewDense(rows, in, out int, a Activation) (*Dense, error) {
	if rows < 1 || in < 1 || out < 1 {
		return nil, fmt.Errorf("dense: %d rows, %d inputs, %d outputs: want at least 1 of each", rows, in, out)
	}
	d := &Dense{rows: rows, in: in, out: out, activation: a, forwardPanels: newPanels(out), inputPanels: newPanels(in)}
	d.stride = d.forwardPanels.padded
	if rows > fewRows {
		d.packed = make([]float32, in*d.forwardPanels.padded)
	}
	d.bias = make([]float32, d.stride)
	d.g = make([]float32, rows*d.stride)
	for i := range rows {
		d.xRows = append(d.xRows, i*in)
		d.yRows = append(d.yRows, i*out)
		d.gRows = append(d.gRows, i*d.stride)
	}
	for k := range in {
		d.kRows = append(d.kRows, k*rows)
		d.wRows = append(d.wRows, k*out)
	}
	d.packItem, d.packTItem, d.packGItem, d.transposeItem, d.forwardItem = d.pack, d.packT, d.packG, d.transposeX, d.forward
	d.forwardFewItem, d.inputFewItem, d.sumItem = d.forwardFew, d.inputFew, d.sum
	d.gradientItem, d.inputItem, d.weightItem, d.activateItem = d.gradient, d.input, d.weight, d.activate
	return d, nil
}

func (d *Dense) prepare() {
	for len(d.workers) < parallel.Threads() {
		d.workers = append(d.workers, &denseWorker{tile: tile{segs: 1, blocks: 1}, piece: make([]float32, 3*depth/2*32),
			lines: make([]float32, 3*depth/2*32)})
	}
}

// blocks returns the number of blocks of rowBlock rows.
func blocks(n int) int { return (n + rowBlock - 1) / rowBlock }

// Forward computes y = f(x w + bias). x is [rows, in], w [in, out], bias [out], y [rows, out].
func (d *Dense) Forward(x, w, bias, y []float32) {
	d.prepare()
	d.x, d.w, d.y = x, w, y
	copy(d.bias, bias)
	if d.packed == nil {
		parallel.ForWorkers(len(d.workers), d.forwardPanels.count, d.forwardFewItem)
	} else {
		parallel.ForWorkers(len(d.workers), d.forwardPanels.count, d.packItem)
		parallel.ForWorkers(len(d.workers), d.forwardPanels.count*blocks(d.rows), d.forwardItem)
	}
	if d.activation > ReLUActivation && d.activation != LeakyActivation {
		parallel.ForWorkers(len(d.workers), blocks(d.rows), d.activateItem)
	}
	d.x, d.w, d.y = nil, nil, nil
}

func (d *Dense) activate(_, i int) {
	from, to := d.block(i, d.rows)
	d.activation.Apply(d.y[from*d.out : to*d.out])
}

func (d *Dense) pack(_, i int) {
	first, width, columns := d.forwardPanels.at(i)
	dst := d.packed[first*d.in:]
	for k := range d.in {
		copy(dst[k*width:k*width+columns], d.w[k*d.out+first:])
	}
}

func (d *Dense) forward(worker, i int) {
	t := &d.workers[worker].tile
	first, width, columns := d.forwardPanels.at(i / blocks(d.rows))
	from, to := d.block(i%blocks(d.rows), d.rows)
	d.forwardTile(t, first, width)
	t.b = d.packed[first*d.in:]
	t.product(d.xRows[from:to], d.yRows[from:to], to-from, columns)
}

// forwardTile prepares a tile for columns of y.
func (d *Dense) forwardTile(t *tile, first, width int) {
	t.a, t.steps, t.aStep = d.x, d.in, 1
	t.bStep, t.width = width, width
	t.c, t.bias, t.flags = d.y[first:], d.bias[first:], d.activation.epilogue()
	if d.activation == LeakyActivation {
		t.flags |= applyLeaky
	}
}

// forwardFew computes panel i of y for few rows.
func (d *Dense) forwardFew(worker, i int) {
	t := d.workers[worker]
	first, width, columns := d.forwardPanels.at(i)
	d.forwardTile(&t.tile, first, width)
	t.productOf(d.xRows, d.yRows, d.rows, columns, func(from, to int) []float32 {
		for k := from; k < to; k++ {
			copy(t.piece[(k-from)*width:(k-from)*width+columns], d.w[k*d.out+first:])
		}
		return t.piece
	})
}

func (d *Dense) block(i, n int) (from, to int) { return i * rowBlock, min(n, (i+1)*rowBlock) }

// Backward computes the gradients dx, dw, db of a loss from its gradient dy at y
// = Forward(x, w, bias). A nil dx, dw or db is not computed.
func (d *Dense) Backward(x, w, y, dy, dx, dw, db []float32) {
	d.prepare()
	d.x, d.w, d.y, d.dy, d.dx, d.dw = x, w, y, dy, dx, dw
	parallel.ForWorkers(len(d.workers), blocks(d.rows), d.gradientItem)
	if dx != nil {
		d.inputGradient()
	}
	if dw != nil {
		if d.packedG == nil {
			d.packedG, d.xT = make([]float32, d.rows*d.stride), make([]float32, d.rows*d.in)
		}
		parallel.ForWorkers(len(d.workers), d.forwardPanels.count, d.packGItem)
		parallel.ForWorkers(len(d.workers), blocks(d.in), d.transposeItem)
		parallel.ForWorkers(len(d.workers), d.forwardPanels.count*blocks(d.in), d.weightItem)
	}
	if db != nil {
		copy(db, d.columnSums())
	}
	d.x, d.w, d.y, d.dy, d.dx, d.dw = nil, nil, nil, nil, nil, nil
}

func (d *Dense) inputGradient() {
	if d.packed == nil {
		for d.piece = range productPieces(d.out) {
			parallel.ForWorkers(len(d.workers), d.inputPanels.count, d.inputFewItem)
		}
		return
	}
	if d.packedT == nil {
		d.packedT = make([]float32, d.out*d.inputPanels.padded)
	}
	parallel.ForWorkers(len(d.workers), d.inputPanels.count, d.packTItem)
	parallel.ForWorkers(len(d.workers), d.inputPanels.count*blocks(d.rows), d.inputItem)
}

// gradient computes a block of rows of g.
func (d *Dense) gradient(_, i int) {
	from, to := d.block(i, d.rows)
	if d.out == d.stride {
		at, end := from*d.out, to*d.out
		d.activation.Gradient(d.g[at:end], d.dy[at:end], d.y[at:end])
		return
	}
	for r := from; r < to; r++ {
		d.activation.Gradient(d.g[r*d.stride:r*d.stride+d.out], d.dy[r*d.out:(r+1)*d.out], d.y[r*d.out:(r+1)*d.out])
	}
}

// sumBlock is the number of columns of the bias gradient per item of work.
const sumBlock = 256

// columnSums returns the bias gradient, in the padded bias, which the next Forward fills anew.
func (d *Dense) columnSums() []float32 {
	clear(d.bias)
	parallel.ForWorkers(len(d.workers), (d.stride+sumBlock-1)/sumBlock, d.sumItem)
	return d.bias[:d.out]
}

func (d *Dense) sum(_, i int) {
	for c := i * sumBlock; c < min((i+1)*sumBlock, d.stride); c += 16 {
		columnSum(d.bias[c:], d.g[c:], d.rows, d.stride)
	}
}

// packT lays out panel i of w transposed: [out][width].
func (d *Dense) packT(_, i int) {
	first, width, columns := d.inputPanels.at(i)
	transpose(d.packedT[first*d.out:], d.w[first*d.out:], width, d.out, columns, d.out)
}

// inputFew adds the contribution of a piece of the columns of g to panel i of dx, for few rows. All
// panels take a piece before the next, so that it stays in the cache.
func (d *Dense) inputFew(worker, i int) {
	t := d.workers[worker]
	first, width, columns := d.inputPanels.at(i)
	pieces := productPieces(d.out)
	from, to := d.piece*d.out/pieces, (d.piece+1)*d.out/pieces
	n := to - from
	for c := range columns {
		copy(t.lines[c*n:(c+1)*n], d.w[(first+c)*d.out+from:])
	}
	transpose(t.piece, t.lines, width, n, columns, n)
	t.a, t.steps, t.aStep = d.g[from:], n, 1
	t.b, t.bStep, t.width = t.piece, width, width
	t.c, t.flags = d.dx[first:], 0
	if d.piece > 0 {
		t.flags = accumulate
	}
	t.sweep(d.gRows, d.xRows, d.rows, columns)
}

func (d *Dense) input(worker, i int) {
	t := &d.workers[worker].tile
	first, width, columns := d.inputPanels.at(i / blocks(d.rows))
	from, to := d.block(i%blocks(d.rows), d.rows)
	t.a, t.steps, t.aStep = d.g, d.out, 1
	t.b, t.bStep, t.width = d.packedT[first*d.out:], width, width
	t.c, t.flags = d.dx[first:], 0
	t.product(d.gRows[from:to], d.xRows[from:to], to-from, columns)
}

func (d *Dense) weight(worker, i int) {
	t := &d.workers[worker].tile
	first, width, columns := d.forwardPanels.at(i / blocks(d.in))
	from, to := d.block(i%blocks(d.in), d.in)
	t.a, t.steps, t.aStep = d.xT, d.rows, 1
	t.b, t.bStep, t.width = d.packedG[first*d.rows:], width, width
	t.c, t.flags = d.dw[first:], 0
	t.product(d.kRows[from:to], d.wRows[from:to], to-from, columns)
}

// packG lays out panel i of g: [rows][width].
func (d *Dense) packG(_, i int) {
	first, width, _ := d.forwardPanels.at(i)
	dst := d.packedG[first*d.rows:]
	for r := range d.rows {
		copy(dst[r*width:(r+1)*width], d.g[r*d.stride+first:])
	}
}

// transposeX transposes a block of columns of x: [in][rows].
func (d *Dense) transposeX(_, i int) {
	from, to := d.block(i, d.in)
	transpose(d.xT[from*d.rows:], d.x[from:], d.rows, d.in, d.rows, to-from)
}
