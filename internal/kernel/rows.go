package kernel

import (
	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// Rows are rows of numbers, each with a 1 appended, in blocks of PairLanes. They are the operands of linear functions
// and their gradients. In rows that pad the last block, all elements including the 1 are 0.
type Rows struct {
	Count   int // number of rows
	Columns int // columns of a row, including the 1
	Stride  int // stride of the gradients of outputs: Columns rounded up to a multiple of 16
	lanes   []float32
	flat    []float32
	panels  simd.Panels
}

func NewRows(count, columns int) *Rows {
	r := &Rows{Count: count, Columns: columns + 1, panels: simd.NewPanels(columns + 1)}
	r.Stride = r.panels.Padded
	blocks := r.Blocks()
	r.lanes, r.flat = make([]float32, blocks*PairLanes*r.Columns), make([]float32, blocks*PairLanes*r.Stride)
	return r
}

func (r *Rows) Blocks() int { return (r.Count + PairLanes - 1) / PairLanes }

func (r *Rows) Set(i int, x []float64) {
	block, lane := r.lanes[i/PairLanes*PairLanes*r.Columns:], i%PairLanes
	flat := r.flat[i*r.Stride:]
	for c, v := range x {
		block[c*PairLanes+lane], flat[c] = float32(v), float32(v)
	}
	block[(r.Columns-1)*PairLanes+lane], flat[r.Columns-1] = 1, 1
}

// Row returns row i with its 1.
func (r *Rows) Row(i int) []float32 { return r.flat[i*r.Stride:][:r.Columns] }

// Linear has the scratch memory of linear functions of rows. It is not safe for concurrent use.
type Linear struct {
	rows    *Rows
	Outputs int // rounded up to a multiple of 8: rows of weights and tiles
	tile    simd.Tile
	from    []int // offsets of weights
	to      []int // offsets of lanes
	slopes  []int // offsets of gradients
}

func NewLinear(r *Rows, outputs int) *Linear {
	l := &Linear{rows: r, Outputs: (outputs + 7) / 8 * 8}
	for k := range l.Outputs {
		l.from = append(l.from, k*r.Columns)
		l.to = append(l.to, k*PairLanes)
		l.slopes = append(l.slopes, k*r.Stride)
	}
	return l
}

// Forward sets a tile, [Outputs, PairLanes], to the product of the weights, [Outputs, Columns], and the rows of a
// block.
func (l *Linear) Forward(tile, weights []float32, block int) {
	t, r := &l.tile, l.rows
	t.A, t.Steps, t.AStep, t.Segs, t.Blocks = weights, r.Columns, 1, 1, 1
	t.Width, t.BStep, t.Flags = 32, PairLanes, 0
	for first := 0; first < PairLanes; first += t.Width {
		t.B, t.C = r.lanes[block*PairLanes*r.Columns+first:], tile[first:]
		t.Sweep(l.from, l.to, l.Outputs, t.Width)
	}
}

// Gradient sets slopes, [Outputs, Stride], to the product of the tiles of n blocks, starting at block, and their rows.
func (l *Linear) Gradient(slopes, tiles []float32, block, n int) {
	t, r := &l.tile, l.rows
	t.A, t.Steps, t.AStep, t.Segs, t.ASeg, t.Blocks = tiles, PairLanes, 1, n, l.Outputs*PairLanes, 1
	t.BStep, t.BSeg, t.Flags = r.Stride, PairLanes*r.Stride, 0
	for i := range r.panels.Count {
		first, width, _ := r.panels.At(i)
		t.Width, t.B, t.C = width, r.flat[block*PairLanes*r.Stride+first:], slopes[first:]
		t.Sweep(l.to, l.slopes, l.Outputs, width)
	}
}
