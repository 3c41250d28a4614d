// Package dense computes fully connected layers and their gradients as matrix products.
package dense

import (
	"fmt"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/kernel/simd"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Layer is a fully connected layer y = f(x w + bias) on rows. It is not safe for concurrent use.
type Layer struct {
	rows, in, out int
	activation    kernel.Activation

	// The products y = x w, dx = g w^T and dw = x^T g. The gradient products are planned at their first use.
	output, input, weights *matmul
	matmul                 func(m, k, n int) *matmul // plans a product, in single or mixed precision

	stride int       // stride of the rows of g
	bias   []float32 // padded to complete panels
	g      []float32 // gradient before the activation
	sums   []float32 // column sums of g

	y, dy                               []float32
	gradientItem, sumItem, activateItem func(worker, i int)
}

// rowBlock is the number of rows per item of elementwise work.
const rowBlock = 64

// New plans a layer for the given number of rows.
func New(rows, in, out int, a kernel.Activation) (*Layer, error) {
	return newLayer(rows, in, out, a, newMatmul)
}

// NewMixed is [New] in mixed precision.
func NewMixed(rows, in, out int, a kernel.Activation) (*Layer, error) {
	return newLayer(rows, in, out, a, newMixedMatmul)
}

func newLayer(rows, in, out int, a kernel.Activation, matmul func(m, k, n int) *matmul) (*Layer, error) {
	if rows < 1 || in < 1 || out < 1 {
		return nil, fmt.Errorf("dense: %d rows, %d inputs, %d outputs: want at least 1 of each", rows, in, out)
	}
	d := &Layer{rows: rows, in: in, out: out, activation: a, matmul: matmul, output: matmul(rows, in, out)}
	d.bias = make([]float32, d.output.panels.Padded)
	if d.stride = len(d.bias); d.stride%aliasStride == 0 {
		d.stride += strideSpacing
	}
	d.gradientItem, d.sumItem, d.activateItem = d.gradient, d.sum, d.activate
	return d, nil
}

func blocks(n int) int { return (n + rowBlock - 1) / rowBlock }

// Forward computes y = f(x w + bias). x is [rows, in], w [in, out], bias [out], y [rows, out].
func (d *Layer) Forward(x, w, bias, y []float32) {
	copy(d.bias, bias)
	p := d.output
	p.a, p.b = operand{x, d.in, 1}, operand{w, 1, d.out}
	p.c, p.cRow = y, d.out
	p.bias, p.flags = d.bias, d.activation.Epilogue()
	if d.activation == kernel.LeakyActivation {
		p.flags |= simd.ApplyLeaky
	}
	p.compute()
	if d.activation > kernel.ReLUActivation && d.activation != kernel.LeakyActivation {
		d.y = y
		parallel.For(blocks(d.rows), d.activateItem)
		d.y = nil
	}
}

func (d *Layer) blockRange(i int) (from, to int) { return i * rowBlock, min(d.rows, (i+1)*rowBlock) }

func (d *Layer) activate(_, i int) {
	from, to := d.blockRange(i)
	d.activation.Apply(d.y[from*d.out : to*d.out])
}

// Backward computes the gradients dx, dw and db, given the gradient dy with respect to y = Forward(x, w, bias). It
// skips gradients that are nil.
func (d *Layer) Backward(x, w, y, dy, dx, dw, db []float32) {
	if d.g == nil {
		d.g, d.sums = make([]float32, d.rows*d.stride), make([]float32, len(d.bias))
		d.input, d.weights = d.matmul(d.rows, d.out, d.in), d.matmul(d.in, d.rows, d.out)
	}
	d.y, d.dy = y, dy
	parallel.For(blocks(d.rows), d.gradientItem)
	if p := d.input; dx != nil {
		p.a, p.b = operand{d.g, d.stride, 1}, operand{w, d.out, 1}
		p.c, p.cRow = dx, d.in
		p.compute()
	}
	if p := d.weights; dw != nil {
		p.a, p.b = operand{x, 1, d.in}, operand{d.g, 1, d.stride}
		p.c, p.cRow = dw, d.out
		p.compute()
	}
	if db != nil {
		clear(d.sums)
		parallel.For((len(d.sums)+sumBlock-1)/sumBlock, d.sumItem)
		copy(db, d.sums)
	}
	d.y, d.dy = nil, nil
}

// gradient computes a block of rows of g.
func (d *Layer) gradient(_, i int) {
	from, to := d.blockRange(i)
	if d.out == d.stride {
		start, end := from*d.out, to*d.out
		d.activation.Gradient(d.g[start:end], d.dy[start:end], d.y[start:end])
		return
	}
	for r := from; r < to; r++ {
		d.activation.Gradient(d.g[r*d.stride:r*d.stride+d.out], d.dy[r*d.out:(r+1)*d.out], d.y[r*d.out:(r+1)*d.out])
	}
}

// sumBlock is the number of columns of the bias gradient per item of work.
const sumBlock = 256

func (d *Layer) sum(_, i int) {
	for c := i * sumBlock; c < min((i+1)*sumBlock, len(d.sums)); c += 16 {
		kernel.ColumnSum(d.sums[c:], d.g[c:], d.rows, d.stride)
	}
}
