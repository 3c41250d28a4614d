package parallel

import (
	"sync"
	"sync/atomic"
)

// spinLimit is the number of times that the caller polls for the helpers before it sleeps, about ten microseconds. On a
// busy machine, a helper may be off its processor much longer, and the spinning caller would occupy a processor.
const spinLimit = 20000

// line separates variables that different threads write. Its size is two cache lines, because processors fetch pairs of
// lines.
type line [128]byte

// job is a call of For in a slot of the pool. The next call reuses the slot after all references to the job have been
// released.
type job struct {
	bit    uint64 // bit of the slot
	body   func(worker, i int)
	scope  *scope // scope of the caller; nil: none
	n      int64
	chunk  int64
	limit  int32 // maximum number of workers
	awake  chan struct{}
	lock   sync.Mutex
	failed *Panic // panic of the item with the smallest index
	_      line
	next   atomic.Int64 // next item
	_      line

	finished   atomic.Int64 // number of finished items
	asleep     atomic.Bool  // the caller sleeps
	workers    atomic.Int32 // number of workers that have joined
	references atomic.Int32 // number of references; 0: no worker may join
}

// Chunk returns how many of n items a worker takes at once. Small chunks let all workers end at about the same time.
// For very many items, chunks are larger, because workers would otherwise contend for the counter.
func Chunk(n, workers int) int { return max(1, n/(32*workers)) }

// open starts a call. The caller is worker 0 and has a reference to the job.
func (j *job) open(body func(worker, i int), n, workers int) {
	j.body, j.n, j.chunk, j.limit, j.failed = body, int64(n), int64(Chunk(n, workers)), int32(workers), nil
	j.next.Store(0)
	j.finished.Store(0)
	j.workers.Store(1)
	j.references.Store(1)
}

// join adds a reference to the job unless the job has ended. It returns the worker's number, or a negative number if
// the job has enough workers.
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

// work calls the body for items until there are no more items.
func (j *job) work(worker int) {
	for from := j.next.Add(j.chunk) - j.chunk; from < j.n; from = j.next.Add(j.chunk) - j.chunk {
		to := min(from+j.chunk, j.n)
		for at := from; at < to; {
			at = j.items(worker, at, to)
		}
		j.finish(to - from)
	}
}

// items calls the body for items from at to the end, or until an item panics. It returns the index after the last
// called item.
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

// finish counts finished items and wakes the caller after the last one.
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

// wait returns after all items have finished.
func (j *job) wait() {
	for range spinLimit {
		if j.finished.Load() == j.n {
			return
		}
	}
	j.asleep.Store(true)
	if j.finished.Load() == j.n && j.asleep.CompareAndSwap(true, false) {
		return // the last item finished before its worker saw that the caller sleeps
	}
	<-j.awake
}
