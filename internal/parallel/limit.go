package parallel

import (
	"context"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

// scope is the work under a [Limit]: a goroutine and the goroutines that it starts. nil means no limit.
//
// A kernel is called deep inside a graph and has no parameter for the thread limit of its run. The profiler labels are
// the only values that a goroutine passes on to the goroutines that it starts. Therefore, the address of a set of
// labels identifies a scope.
type scope struct {
	threads int
	labels  unsafe.Pointer
	left    atomic.Int64 // number of threads that helpers and background work may still use
}

var (
	scopes sync.Map     // address of labels -> *scope
	limits atomic.Int32 // number of scopes
)

// Limit limits the calling goroutine, and goroutines that it starts from now on, to n threads in total. The limit ends
// when the same goroutine calls release. Other goroutines and GOMAXPROCS do not change. For n below 1 there is no
// limit.
//
// The limit is stored in the profiler label "threads". Code that replaces the labels of a goroutine removes the limit
// there. To avoid this, derive the labels from the returned context, and restore the previous labels afterwards.
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

// current returns the scope of the calling goroutine, or nil.
func current() *scope {
	if limits.Load() == 0 {
		return nil
	}
	if s, ok := scopes.Load(labels()); ok {
		return s.(*scope)
	}
	return nil
}

// take reserves up to n threads, and returns their number.
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

func (s *scope) give(n int) {
	if s != nil {
		s.left.Add(int64(n))
	}
}

// enter moves a helper into the scope.
func (s *scope) enter() {
	if s != nil {
		setLabels(s.labels)
	}
}

// leave moves a helper out of the scope.
func (s *scope) leave() {
	if s != nil {
		setLabels(nil)
	}
}

// labels returns the address of the calling goroutine's profiler labels. The runtime keeps this function and its setter
// for use by other packages, see runtime/proflabel.go.
//
//go:linkname labels runtime/pprof.runtime_getProfLabel
func labels() unsafe.Pointer

//go:linkname setLabels runtime/pprof.runtime_setProfLabel
func setLabels(unsafe.Pointer)
