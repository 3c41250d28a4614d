// Package parallel distributes the items of a loop over a small pool of goroutines.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Threads returns the largest number of goroutines of For.
func Threads() int {
	if r := recorder.Load(); r != nil {
		return (*r).Threads()
	}
	return runtime.GOMAXPROCS(0)
}

// For calls body(worker, i) once for every i in [0, n), on up to Threads()
// goroutines, and returns when all calls have. Items are handed out in order but
// may run at the same time; no two calls with the same worker do. If calls panic,
// the others still run, and For then panics with the *[Panic] of the smallest i.
//
// For allocates nothing if body is a stored function value.
func For(n int, body func(worker, i int)) { ForWorkers(Threads(), n, body) }

// ForWorkers is For with worker below a limit, for callers with scratch for a fixed number of workers:
// GOMAXPROCS may change at any time.
func ForWorkers(workers, n int, body func(worker, i int)) {
	threads := min(Threads(), workers, n)
	if threads <= 1 {
		for i := range n {
			body(0, i)
		}
		return
	}
	if r := recorder.Load(); r != nil {
		(*r).Section(threads, n, body)
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
		default: // all helpers are busy, as in nested calls: the caller does the work
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

// Panic is the value that For panics with: a panic of its body, possibly on another goroutine.
type Panic struct {
	Value any    // of the body's panic
	Stack []byte // of the panicking goroutine
	item  int64
}

// Recovered returns the panic of a non-nil value of recover(). The deferred function itself must call
// it, so that the stack contains the place of the panic.
func Recovered(value any) *Panic {
	if p, ok := value.(*Panic); ok { // from a For within the body
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

// spinLimit is the number of times that the caller polls for the others before it sleeps: some ten
// microseconds. On a busy machine a thread may be off its processor for much longer, and spinning
// would keep it from returning.
const spinLimit = 20000

// idleLimit is the number of times that an idle helper polls for a job before it sleeps: some ten
// microseconds, about the time of waking it.
const idleLimit = 3000

// job is one call of For. It returns to the pool when everyone who holds it has released it.
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
	failed  *Panic // panic of the smallest item
}

var jobs = sync.Pool{New: func() any { return &job{awake: make(chan struct{}, 1)} }}

func (j *job) run() {
	worker := -1
	for j.work(&worker) {
	}
}

// work calls the body for items until none is left, or one panics: then it returns true.
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
		return // the last one finished before it saw a sleeper
	}
	<-j.awake
}

func (j *job) release() {
	if j.references.Add(-1) == 0 {
		j.body = nil
		jobs.Put(j)
	}
}

// pool is the set of helper goroutines, which are started once and wait for jobs.
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

// help runs jobs. After each it polls for the next one before it sleeps: the sections of a training
// step follow each other within microseconds, and waking a thread takes longer than that.
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
