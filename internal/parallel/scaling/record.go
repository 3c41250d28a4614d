// Package scaling computes the time of work on more threads than the machine has, for tests and benchmarks.
//
// A [Recorder] runs the work on one goroutine. It records the time of every item of every parallel.For, and the time
// between items. [Trace.On] then simulates the assignment of items to any number of threads by the rules of the pool;
// [Costs] has the times for passing items on. It returns the end time of the last item: the critical path on a machine
// whose cores share no caches and memory. Nested calls of For and work in a parallel.Background are included; other
// goroutines are not recorded.
package scaling

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// mark is an event of a recording. A span of time lies between any two.
type mark struct {
	kind kind
	n    int32 // for section: its items; for task and join: the number of the task
	most int32 // for section: the threads that it may use
	at   int32 // for section: its place; -1: not noted
}

type kind uint8

const (
	section kind = iota // a call of For begins
	item                // the section's next item begins
	done                // the section ends
	task                // background work begins
	given               // background work ends, and the caller goes on
	join                // the caller waits for background work
)

// Trace is a recording: marks, and the times before, between and behind them.
type Trace struct {
	marks  []mark
	spans  []time.Duration
	places []string
}

// Recorder is a parallel.Recorder for a number of threads. Every item runs as worker 0, with scratch as warm as on a
// separate core.
type Recorder struct {
	Trace
	threads int
	tasks   int32
	last    time.Time
	clock   time.Duration // time that reading the clock adds to a span
	placed  map[[depth]uintptr]int32
}

// depth is the number of callers that tell the place of a section.
const depth = 12

// Record runs work as if there were threads threads, and returns its trace. where notes the places of sections too.
func Record(threads int, where bool, work func()) *Trace {
	r := &Recorder{threads: threads, clock: clockCost()}
	if where {
		r.placed = map[[depth]uintptr]int32{}
	}
	stop := parallel.Record(r)
	defer stop()
	r.last = time.Now()
	work()
	r.span()
	return &r.Trace
}

// clockCost returns the least time between two readings of the clock.
func clockCost() time.Duration {
	least := time.Hour
	for range 1000 {
		begin := time.Now()
		least = min(least, time.Since(begin))
	}
	return least
}

// span ends a span of time. The next span begins when the caller has noted its mark.
func (r *Recorder) span() { r.spans = append(r.spans, max(0, time.Since(r.last)-r.clock)) }

func (r *Recorder) mark(m mark) {
	r.span()
	r.marks = append(r.marks, m)
	r.last = time.Now()
}

// Threads implements parallel.Recorder.
func (r *Recorder) Threads() int { return r.threads }

// Section implements parallel.Recorder.
func (r *Recorder) Section(threads, n int, body func(worker, i int)) {
	r.span()
	r.marks = append(r.marks, mark{section, int32(n), int32(threads), r.place()})
	r.last = time.Now()
	for i := range n {
		if i > 0 {
			r.mark(mark{kind: item})
		}
		body(0, i)
	}
	r.mark(mark{kind: done})
}

// Background implements parallel.Recorder.
func (r *Recorder) Background(work func() *parallel.Panic) (wait func(), failed *parallel.Panic) {
	n := r.tasks
	r.tasks++
	r.mark(mark{kind: task, n: n})
	failed = work()
	r.mark(mark{kind: given, n: n})
	return func() { r.mark(mark{kind: join, n: n}) }, failed
}

// place returns the number of the place that called For, in marks.
func (r *Recorder) place() int32 {
	if r.placed == nil {
		return -1
	}
	var callers [depth]uintptr
	runtime.Callers(4, callers[:])
	at, ok := r.placed[callers]
	if ok {
		return at
	}
	var names []string
	for frames := runtime.CallersFrames(callers[:]); len(names) < 3; {
		f, more := frames.Next()
		name := f.Function[strings.LastIndex(f.Function, "/")+1:]
		if !strings.HasPrefix(name, "parallel.") && !strings.Contains(name, "Loop).Run") && name != "" {
			names = append(names, name)
		}
		if !more {
			break
		}
	}
	name := strings.Join(names, " < ")
	at = int32(slices.Index(r.places, name))
	if at < 0 {
		at = int32(len(r.places))
		r.places = append(r.places, name)
	}
	r.placed[callers] = at
	return at
}

// Least keeps the smaller of every two times of the same work in two traces, which other programs of the machine
// disturbed at different moments. If the two traces differ in their marks, Least keeps the faster trace.
func (t *Trace) Least(other *Trace) {
	if !slices.Equal(t.marks, other.marks) {
		if other.Work() < t.Work() {
			*t = *other
		}
		return
	}
	for i, d := range other.spans {
		t.spans[i] = min(t.spans[i], d)
	}
}

// Work returns the time of all of it on one thread.
func (t *Trace) Work() (sum time.Duration) {
	for _, d := range t.spans {
		sum += d
	}
	return sum
}

// Serial returns the time outside all sections and background work.
func (t *Trace) Serial() (sum time.Duration) {
	inside := 0
	for i, d := range t.spans {
		if inside == 0 {
			sum += d
		}
		if i < len(t.marks) {
			switch t.marks[i].kind {
			case section, task:
				inside++
			case done, given:
				inside--
			}
		}
	}
	return sum
}
