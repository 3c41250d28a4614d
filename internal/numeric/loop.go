package numeric

import "github.com/unravel-ml/unravel/internal/parallel"

// BlockSize is the number of elements per unit of parallel work, for cheap elementwise operations.
const BlockSize = 4096

// Loop runs a body over [0, n) in parallel blocks of fixed size, and adds the results in the order of the blocks. The
// sum does not depend on the number of threads.
type Loop struct {
	n, size int
	body    func(lo, hi int) float64
	sums    []float64
	item    func(worker, i int)
	serial  bool // on the caller's goroutine
}

// NewLoop returns a loop over [0, n) with blocks of size elements.
func NewLoop(n, size int, body func(lo, hi int) float64) *Loop {
	blocks := (n + size - 1) / size
	l := &Loop{n: n, size: size, body: body, sums: make([]float64, blocks)}
	l.item = func(_, i int) { l.sums[i] = l.body(i*l.size, min((i+1)*l.size, l.n)) }
	return l
}

// Run runs the body for all blocks, and returns the sum of the results.
func (l *Loop) Run() float64 {
	if len(l.sums) <= 1 {
		return l.body(0, l.n)
	}
	if l.serial {
		for i := range l.sums {
			l.item(0, i)
		}
	} else {
		parallel.For(len(l.sums), l.item)
	}
	sum := 0.0
	for _, s := range l.sums {
		sum += s
	}
	return sum
}

// Resize changes the range to [0, n); n is at most the n of NewLoop.
func (l *Loop) Resize(n int) {
	l.n = n
	l.sums = l.sums[:(n+l.size-1)/l.size]
}
