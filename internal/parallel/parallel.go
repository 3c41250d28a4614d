// Package parallel distributes the items of a loop over a small pool of goroutines.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Threads returns the largest number of goroutines that For uses: GOMAXPROCS, or less within a [Limit].
func Threads() int {
	if r := recorder.Load(); r != nil {
		return (*r).Threads()
	}
	most := runtime.GOMAXPROCS(0)
	if s := current(); s != nil {
		return min(s.threads, most)
	}
	return most
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
	s := current()
	threads = 1 + s.take(threads-1)
	defer s.give(threads - 1)
	var j *job
	if threads > 1 {
		j = pool.take()
	}
	if j == nil { // the other calls keep all helpers busy
		for i := range n {
			body(0, i)
		}
		return
	}
	j.scope = s
	pool.ensure(threads - 1)
	j.open(body, n, threads)
	pool.publish(j, threads-1)
	j.work(0)
	pool.withdraw(j)
	j.wait()
	failed := j.failed
	pool.release(j)
	if failed != nil {
		panic(failed)
	}
}

// Panic is the value that For panics with: a panic of its body, possibly on another goroutine.
type Panic struct {
	Value any    // value of the body's panic
	Stack []byte // stack of the panicking goroutine
	item  int64
}

// Recovered returns the panic of a non-nil value of recover(). The deferred function itself must call Recovered: only
// then does the stack contain the place of the panic.
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
