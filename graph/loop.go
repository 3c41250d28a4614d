package graph

import "github.com/unravel-ml/unravel/internal/parallel"

// blockSize is the number of elements that one work item of a loop handles.
const blockSize = 4096

// loop runs a body over [0, n) in blocks of fixed size, in parallel, and adds up
// what the body returns in the order of the blocks: the result does not depend
// on the number of threads.
type loop struct {
	n, size int
	body    func(lo, hi int) float64
	sums    []float64
	item    func(worker, i int)
}

func newLoop(n, size int, body func(lo, hi int) float64) *loop {
	blocks := (n + size - 1) / size
	l := &loop{n: n, size: size, body: body, sums: make([]float64, blocks)}
	l.item = func(_, i int) { l.sums[i] = l.body(i*l.size, min((i+1)*l.size, l.n)) }
	return l
}

func (l *loop) run() float64 {
	if len(l.sums) <= 1 {
		return l.body(0, l.n)
	}
	parallel.For(len(l.sums), l.item)
	sum := 0.0
	for _, s := range l.sums {
		sum += s
	}
	return sum
}
