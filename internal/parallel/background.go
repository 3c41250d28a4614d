package parallel

// Background does one piece of work at a time in a goroutine, in parallel with its user. Only one goroutine may use it.
type Background struct {
	request chan task
	done    chan *Panic
	running bool
	closed  bool
}

// task is a piece of work, and takes one thread of a scope.
type task struct {
	work  func()
	scope *scope // nil: none
}

// NewBackground starts the goroutine; Close ends it.
func NewBackground() *Background {
	b := &Background{request: make(chan task), done: make(chan *Panic, 1)}
	go func() {
		setLabels(nil) // clears the labels of the parent goroutine
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

func caught(work func()) (failed *Panic) {
	defer func() {
		if p := recover(); p != nil {
			failed = Recovered(p)
		}
	}()
	work()
	return nil
}

// Start starts a piece of work. Call Wait between two pieces. Without a free thread, as within a [Limit] of one thread,
// Start does the work itself.
func (b *Background) Start(work func()) {
	b.running = true
	s := current()
	if s.take(1) == 0 {
		b.done <- caught(work)
		return
	}
	b.request <- task{work, s}
}

// Wait waits for the current work, if any, and returns its panic, or nil.
func (b *Background) Wait() (failed *Panic) {
	if !b.running {
		return nil
	}
	b.running = false
	return <-b.done
}

// Close waits for the current work and ends the goroutine. A second Close does nothing.
func (b *Background) Close() {
	b.Wait()
	if !b.closed {
		close(b.request)
	}
	b.closed = true
}
