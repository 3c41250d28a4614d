package parallel

import (
	"sync"
	"sync/atomic"
)

// spinLimit is the number of times that the caller polls for the others before it sleeps: some ten
// microseconds. On a busy machine a thread may be off its processor for much longer, and spinning
// would keep it from returning.
const spinLimit = 20000

// line separates variables that different threads write: two cache lines, which processors fetch together.
type line [128]byte

// job is a call of For, in a slot of the pool. The next call uses the slot again after all holders of the job have let
// go of it.
type job struct {
	bit    uint64 // of the slot
	body   func(worker, i int)
	scope  *scope // of the caller; nil: none
	n      int64
	chunk  int64
	limit  int32 // workers
	awake  chan struct{}
	lock   sync.Mutex
	failed *Panic // panic of the smallest item
	_      line
	next   atomic.Int64 // item
	_      line

	finished   atomic.Int64 // items
	asleep     atomic.Bool  // the caller
	workers    atomic.Int32 // number of workers that joined
	references atomic.Int32 // number of holders; 0: no worker may join
}

// Chunk returns how many of n items a worker takes at once. It takes few, to let all workers end at about the same
// time, but more of very many items: workers would otherwise wait for the counter.
func Chunk(n, workers int) int { return max(1, n/(32*workers)) }

// open begins a call. The caller is worker 0 and holds the job.
func (j *job) open(body func(worker, i int), n, workers int) {
	j.body, j.n, j.chunk, j.limit, j.failed = body, int64(n), int64(Chunk(n, workers)), int32(workers), nil
	j.next.Store(0)
	j.finished.Store(0)
	j.workers.Store(1)
	j.references.Store(1)
}

// join holds the job, unless it is over, and returns the worker's number; negative: the job needs no further worker.
func (j *job) join() (worker int, held bool) {
	for {
		r := j.references.Load()
		if r == 0 {
			return 0, false
		}
		if j.references.CompareAndSwap(r, r+1) {
			break
		}
	}
	if w := j.workers.Add(1) - 1; w < j.limit {
		return int(w), true
	}
	return -1, true
}

// work calls the body for items until no item is left.
func (j *job) work(worker int) {
	for from := j.next.Add(j.chunk) - j.chunk; from < j.n; from = j.next.Add(j.chunk) - j.chunk {
		to := min(from+j.chunk, j.n)
		for at := from; at < to; {
			at = j.items(worker, at, to)
		}
		j.finish(to - from)
	}
}

// items calls the body for items from at to the end, or to the first that panics, and returns the one after it.
func (j *job) items(worker int, at, to int64) (next int64) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(at, Recovered(p))
			next = at + 1
		}
	}()
	for ; at < to; at++ {
		j.body(worker, int(at))
	}
	return to
}

// finish counts finished items, and wakes the caller after the last item.
func (j *job) finish(items int64) {
	if j.finished.Add(items) == j.n && j.asleep.CompareAndSwap(true, false) {
		j.awake <- struct{}{}
	}
}

func (j *job) fail(item int64, p *Panic) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.failed == nil || item < j.failed.item {
		j.failed = &Panic{Value: p.Value, Stack: p.Stack, item: item}
	}
}

// wait returns when all items are finished.
func (j *job) wait() {
	for range spinLimit {
		if j.finished.Load() == j.n {
			return
		}
	}
	j.asleep.Store(true)
	if j.finished.Load() == j.n && j.asleep.CompareAndSwap(true, false) {
		return // the last one finished before it saw a sleeper
	}
	<-j.awake
}
