package parallel

import "sync/atomic"

// Recorder takes the place of the pool, in benchmarks that ask how work would scale: it does all work on the caller's goroutine. See package
// scaling.
type Recorder interface {
	Threads() int                                          // the answer of [Threads]
	Section(workers, n int, body func(worker, i int))      // a call of For with a number of workers, at least two
	Background(work func() *Panic) (join func(), p *Panic) // work that a [Background] does in parallel with the caller, until join
}

var recorder atomic.Pointer[Recorder]

// Record hands the work of the next calls to a recorder until stop is called. The program must have one goroutine that calls For in that time.
func Record(r Recorder) (stop func()) {
	recorder.Store(&r)
	return func() { recorder.Store(nil) }
}

// Background does one piece of work at a time on its goroutine, in parallel with its user. It has one user.
type Background struct {
	request chan task
	done    chan *Panic
	running bool
	join    func() // after recorded work
	failed  *Panic // of recorded work
}

// task is a piece of work, which holds a thread of a scope.
type task struct {
	work  func()
	scope *scope // nil: none
}

// NewBackground starts the goroutine; Close ends it.
func NewBackground() *Background {
	b := &Background{request: make(chan task), done: make(chan *Panic, 1)}
	go func() {
		setLabels(nil) // of the goroutine that started this one
		for t := range b.request {
			t.scope.enter()
			failed := caught(t.work)
			t.scope.leave()
			t.scope.give(1)
			b.done <- failed
		}
	}()
	return b
}

// caught does a piece of work and returns its panic, or nil.
func caught(work func()) (failed *Panic) {
	defer func() {
		if p := recover(); p != nil {
			failed = Recovered(p)
		}
	}()
	work()
	return nil
}

// Start begins a piece of work. The user must have waited for the piece before. Without a free thread, such as within a
// [Limit] of one thread, Start does the work itself.
func (b *Background) Start(work func()) {
	b.running = true
	if r := recorder.Load(); r != nil {
		b.join, b.failed = (*r).Background(func() *Panic { return caught(work) })
		return
	}
	s := current()
	if s.take(1) == 0 {
		b.done <- caught(work)
		return
	}
	b.request <- task{work, s}
}

// Wait waits for the work that was started last, if nobody did, and returns its panic, or nil.
func (b *Background) Wait() (failed *Panic) {
	if !b.running {
		return nil
	}
	b.running = false
	if b.join != nil {
		b.join()
		failed, b.join, b.failed = b.failed, nil, nil
		return failed
	}
	return <-b.done
}

// Close waits for the work and ends the goroutine.
func (b *Background) Close() {
	b.Wait()
	close(b.request)
}
