package parallel

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

// scope is the work under a [Limit]: a goroutine and the goroutines that it starts. A nil scope has no limit.
//
// A kernel is called from deep within a graph and has no parameter for the limit of its run. The labels of Go's
// profiler are the only values that a goroutine passes on to the goroutines that it starts. The address of a set of
// labels therefore identifies a scope.
type scope struct {
	threads int
	labels  unsafe.Pointer
	left    atomic.Int64 // threads that helpers and background work may still take
}

var (
	scopes sync.Map     // address of labels -> *scope
	limits atomic.Int32 // number of scopes
)

// Limit lets the calling goroutine, and goroutines that it starts from now on, use at most n threads together until the
// same goroutine calls release. Other goroutines, and GOMAXPROCS, stay as they are. With n below 1 there is no limit.
//
// The limit is a label of the profiler, "threads". Code that replaces the labels of a goroutine lifts the limit there,
// unless it derives its labels from the returned context and restores the labels before.
func Limit(ctx context.Context, n int) (limited context.Context, release func()) {
	if n < 1 {
		return ctx, func() {}
	}
	before := labels()
	limited = pprof.WithLabels(ctx, pprof.Labels("threads", strconv.Itoa(n)))
	pprof.SetGoroutineLabels(limited)
	s := &scope{threads: n, labels: labels()}
	s.left.Store(int64(n - 1))
	scopes.Store(s.labels, s)
	limits.Add(1)
	return limited, func() {
		scopes.Delete(s.labels)
		limits.Add(-1)
		setLabels(before)
	}
}

// current returns the scope of the calling goroutine; nil: none.
func current() *scope {
	if limits.Load() == 0 {
		return nil
	}
	if s, ok := scopes.Load(labels()); ok {
		return s.(*scope)
	}
	return nil
}

// take takes up to n threads, and returns their number.
func (s *scope) take(n int) int {
	if s == nil {
		return n
	}
	for {
		left := s.left.Load()
		taken := min(int64(n), left)
		if s.left.CompareAndSwap(left, left-taken) {
			return int(taken)
		}
	}
}

// give gives threads back.
func (s *scope) give(n int) {
	if s != nil {
		s.left.Add(int64(n))
	}
}

// enter brings a helper into the scope.
func (s *scope) enter() {
	if s != nil {
		setLabels(s.labels)
	}
}

// leave takes a helper out of the scope.
func (s *scope) leave() {
	if s != nil {
		setLabels(nil)
	}
}

// labels returns the address of the labels of the calling goroutine. The runtime keeps both functions for other
// packages, see runtime/proflabel.go.
//
//go:linkname labels runtime/pprof.runtime_getProfLabel
func labels() unsafe.Pointer

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(unsafe.Pointer)
