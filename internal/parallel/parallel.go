// Package parallel shares the items of a loop out to a small pool of goroutines.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Threads is the number of goroutines that For uses at most.
func Threads() int { return runtime.GOMAXPROCS(0) }

// For calls body(worker, i) once for every i in [0, n), on up to Threads()
// goroutines, and returns when all calls have. Items are handed out in order but
// may run at the same time; no two calls with the same worker do. If calls panic,
// the others still run, and For then panics with the *[Panic] of the smallest i.
//
// For allocates nothing if body is a stored function value.
func For(n int, body func(worker, i int)) { ForWorkers(Threads(), n, body) }

// ForWorkers is For with worker below a limit, for those who have scratch for so many: the
// runtime may change GOMAXPROCS at any time.
func ForWorkers(workers, n int, body func(worker, i int)) {
	threads := min(Threads(), workers, n)
	if threads <= 1 {
		for i := range n {
			body(0, i)
		}
		return
	}
	helpers.ensure(threads - 1)
	j := jobs.Get().(*job)
	j.body, j.n = body, int64(n)
	j.next.Store(0)
	j.finished.Store(0)
	j.workers.Store(0)
	j.references.Store(int32(threads))
	for range threads - 1 {
		select {
		case helpers.queue <- j:
		default: // everyone is busy, as in nested calls: do the work here
			j.references.Add(-1)
		}
	}
	j.run()
	j.wait()
	failed := j.failed
	j.failed = nil
	j.release()
	if failed != nil {
		panic(failed)
	}
}

// Panic is what For panics with: a panic of its body, which may have happened on
// another goroutine.
type Panic struct {
	Value any    // of the body's panic
	Stack []byte // of the goroutine that it happened on
	item  int64
}

// Recovered returns the panic of a value of recover() that is not nil. It is called
// by the deferred function itself, so that the stack has the place of the panic.
func Recovered(value any) *Panic {
	if p, ok := value.(*Panic); ok { // of a For within the body
		return p
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value of the panic if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// spinLimit is how often the caller looks whether the others have finished before
// it sleeps: some ten microseconds. On a busy machine a thread may be off its
// processor for much longer, and spinning would keep it from getting back.
const spinLimit = 20000

// idleLimit is how often an idle helper looks for a job before it sleeps: some ten
// microseconds, about the time that waking it takes.
const idleLimit = 3000

// job is one call of For. It goes back to the pool when everyone who was handed it has let go.
type job struct {
	body       func(worker, i int)
	n          int64
	next       atomic.Int64
	finished   atomic.Int64
	workers    atomic.Int32
	references atomic.Int32
	asleep     atomic.Bool
	awake      chan struct{}

	failing sync.Mutex
	failed  *Panic // of the smallest item that panicked
}

var jobs = sync.Pool{New: func() any { return &job{awake: make(chan struct{}, 1)} }}

func (j *job) run() {
	worker := -1
	for j.work(&worker) {
	}
}

// work calls the body for items until none is left; true: until one panicked.
func (j *job) work(worker *int) (panicked bool) {
	i := int64(0)
	defer func() {
		if p := recover(); p != nil {
			j.fail(i, Recovered(p))
			j.finish()
			panicked = true
		}
	}()
	for {
		if i = j.next.Add(1) - 1; i >= j.n {
			return false
		}
		if *worker < 0 {
			*worker = int(j.workers.Add(1)) - 1
		}
		j.body(*worker, int(i))
		j.finish()
	}
}

// finish counts an item, and wakes the caller after the last one.
func (j *job) finish() {
	if j.finished.Add(1) == j.n && j.asleep.CompareAndSwap(true, false) {
		j.awake <- struct{}{}
	}
}

func (j *job) fail(item int64, p *Panic) {
	j.failing.Lock()
	defer j.failing.Unlock()
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
		return // the last one finished before it could see that someone sleeps
	}
	<-j.awake
}

func (j *job) release() {
	if j.references.Add(-1) == 0 {
		j.body = nil
		jobs.Put(j)
	}
}

// pool is the set of helper goroutines; they are started once and wait for jobs.
type pool struct {
	mutex   sync.Mutex
	started atomic.Int32
	queue   chan *job
}

var helpers = pool{queue: make(chan *job, 1024)}

func (p *pool) ensure(n int) {
	if int(p.started.Load()) >= n {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for int(p.started.Load()) < n {
		p.started.Add(1)
		go p.help()
	}
}

// help runs jobs. Between two it looks for the next one for a while before it
// sleeps: the sections of a training step follow each other within microseconds,
// and waking a thread takes longer than that.
func (p *pool) help() {
	for {
		var j *job
		for spins := 0; j == nil; spins++ {
			select {
			case j = <-p.queue:
			default:
				if spins > idleLimit {
					j = <-p.queue
				} else if spins%32 == 31 {
					runtime.Gosched()
				}
			}
		}
		j.run()
		j.release()
	}
}
