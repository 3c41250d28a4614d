package program

import (
	"errors"
	"runtime"
	"sync"
)

// batches are the batch sizes of Pools, largest first. least is the number of rows from which a size is faster than the
// smaller ones. In train.BenchmarkEncoder a single image takes a third of the time of eight.
var batches = []struct{ images, least int }{{128, 128}, {8, 4}, {1, 1}}

// Pools holds compiled programs for several batch sizes, at most one of each per thread. It is safe for concurrent use.
type Pools struct {
	lock    sync.Mutex // held while a program is compiled
	closed  bool
	compile func(n int) (*Program, error)
	pools   []*pool // largest batch first
}

// pool holds the programs of one batch size.
type pool struct {
	images int
	least  int // minimum number of rows
	free   chan *Program
	left   int // number of programs that may still be compiled
}

// NewPools compiles the first program of each batch size.
func NewPools(compile func(n int) (*Program, error)) (*Pools, error) {
	s := &Pools{compile: compile}
	for _, b := range batches {
		most := runtime.GOMAXPROCS(0)
		first, err := compile(b.images)
		if err != nil {
			return nil, err
		}
		p := &pool{images: first.Images, least: b.least, free: make(chan *Program, most), left: most - 1}
		p.free <- first
		s.pools = append(s.pools, p)
	}
	return s, nil
}

// Close makes later calls fail. Calls in progress finish normally.
func (s *Pools) Close() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.closed = true
}

// Run computes n rows of the given width from n rows of values. prepare may change the input of a batch.
func (s *Pools) Run(values []float32, n, width int, prepare func(in []float32)) ([]float32, error) {
	out := make([]float32, 0, n*width)
	for at := 0; at < n; {
		size := len(values) / n
		pool := s.poolFor(n - at)
		count := min(pool.images, n-at)
		p, err := s.take(pool)
		if err != nil {
			return nil, err
		}
		out, err = p.Run(out, count*width, func(in []float32) {
			copy(in, values[at*size:(at+count)*size])
			prepare(in[:count*size])
		})
		pool.free <- p
		if err != nil {
			return nil, err
		}
		at += count
	}
	return out, nil
}

// poolFor selects the batch size for the next rows.
func (s *Pools) poolFor(rows int) *pool {
	for _, p := range s.pools {
		if rows >= p.least {
			return p
		}
	}
	return s.pools[len(s.pools)-1]
}

// take waits for a program, or compiles another one.
func (s *Pools) take(p *pool) (*Program, error) {
	s.lock.Lock()
	if s.closed {
		s.lock.Unlock()
		return nil, errors.New("the encoder is closed")
	}
	select {
	case h := <-p.free:
		s.lock.Unlock()
		return h, nil
	default:
	}
	if p.left == 0 {
		s.lock.Unlock()
		return <-p.free, nil
	}
	defer s.lock.Unlock()
	h, err := s.compile(p.images)
	if err == nil {
		p.left--
	}
	return h, err
}
