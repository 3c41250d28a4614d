package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// Pieces divides tensors into pieces for parallel updates. Results do not depend on the number of threads. It is not
// safe for concurrent use.
type Pieces struct {
	list []piece
	sums []float64
	x    [][]float32
	body func(worker, tensor, from, to int)
	item func(worker, i int)
	sum  func(worker, i int)
}

type piece struct{ tensor, from, to int }

// NewPieces divides tensors with the sizes of the given tensors.
func NewPieces(tensors [][]float32) *Pieces {
	p := &Pieces{}
	for i, x := range tensors {
		for from := 0; from < len(x); from += 4 * block {
			p.list = append(p.list, piece{i, from, min(from+4*block, len(x))})
		}
	}
	p.sums = make([]float64, len(p.list))
	p.item = func(worker, i int) { p.body(worker, p.list[i].tensor, p.list[i].from, p.list[i].to) }
	p.sum = func(_, i int) {
		q := p.list[i]
		p.sums[i] = SumSquares(p.x[q.tensor][q.from:q.to])
	}
	return p
}

// Each calls body for every piece on all threads: elements from <= i < to of a tensor. Worker numbers start at 0 and
// are below [parallel.Threads].
func (p *Pieces) Each(body func(worker, tensor, from, to int)) {
	p.body = body
	parallel.For(len(p.list), p.item)
}

// Norm returns the Euclidean norm over all tensors.
func (p *Pieces) Norm(x [][]float32) float64 {
	p.x = x
	parallel.For(len(p.list), p.sum)
	var total float64
	for _, v := range p.sums {
		total += v
	}
	return math.Sqrt(total)
}

// Norms sets norms to the Euclidean norm of each tensor.
func (p *Pieces) Norms(x [][]float32, norms []float64) {
	p.Norm(x)
	clear(norms)
	for i, q := range p.list {
		norms[q.tensor] += p.sums[i]
	}
	for i, v := range norms {
		norms[i] = math.Sqrt(v)
	}
}
