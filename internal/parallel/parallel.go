// Package parallel distributes the iterations of a loop over a small pool of goroutines.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
)

var recorder atomic.Pointer[func(n int, body func(worker, i int))]

// Record replaces the pool in tests: until stop is called, section does the work of each call of For with two or more
// workers. Only one goroutine may call For during this time.
func Record(section func(n int, body func(worker, i int))) (stop func()) {
	recorder.Store(&section)
	return func() { recorder.Store(nil) }
}

// Threads returns the maximum number of goroutines for a call of For: GOMAXPROCS, or less within a [Limit].
func Threads() int {
	most := runtime.GOMAXPROCS(0)
	if s := current(); s != nil {
		return min(s.threads, most)
	}
	return most
}

// For calls body(worker, i) once for every i in [0, n) on up to Threads() goroutines, and waits for all calls. The
// calls start in order but may run concurrently. No two calls with the same worker run concurrently. If calls panic,
// the other calls still run, and For then panics with the *[Panic] of the smallest i.
//
// For does not allocate if body is a stored function value.
func For(n int, body func(worker, i int)) { ForWorkers(Threads(), n, body) }

// ForWorkers is For with an upper bound for worker. It is for callers that have scratch memory for a fixed number of
// workers: GOMAXPROCS may change at any time.
func ForWorkers(workers, n int, body func(worker, i int)) {
	threads := min(Threads(), workers, n)
	if threads <= 1 {
		for i := range n {
			body(0, i)
		}
		return
	}
	if r := recorder.Load(); r != nil {
		(*r)(n, body)
		return
	}
	s := current()
	threads = 1 + s.take(threads-1)
	defer s.give(threads - 1)
	var j *job
	if threads > 1 {
		j = pool.take()
	}
	if j == nil { // all slots are in use
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

// Panic is the value of For's panic: a panic of its body, possibly in another goroutine.
type Panic struct {
	Value any    // value of the body's panic
	Stack []byte // stack of the panicking goroutine
	item  int64
}

// Recovered returns the panic for a non-nil value of recover(). Call it directly in the deferred function: only then
// does the stack contain the position of the panic.
func Recovered(value any) *Panic {
	if p, ok := value.(*Panic); ok { // from a nested For
		return p
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

// Error names the user's function, if the panic is in it or in its calls. Otherwise it has the stack.
func (p *Panic) Error() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path != "github.com/unravel-ml/unravel" {
		if at := within(string(p.Stack), info.Main.Path); at != "" {
			return fmt.Sprintf("panic in %s: %v", at, p.Value)
		}
	}
	return fmt.Sprintf("internal error; please report it with the following text: panic: %v\n\n%s", p.Value, p.Stack)
}

// within returns the innermost function of a stack that belongs to a module or to package main, with its file and line.
func within(stack, module string) string {
	lines := strings.Split(stack, "\n")
	for i, line := range lines[:len(lines)-1] {
		for _, prefix := range []string{"main.", module + ".", module + "/"} {
			if strings.HasPrefix(line, prefix) && !strings.HasPrefix(line, "main.main(") {
				file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
				return line[:strings.LastIndexByte(line, '(')] + " (" + file + ")"
			}
		}
	}
	return ""
}

func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
