// Package scaling predicts the time of work on more threads than the machine has, for tests and benchmarks.
//
// A [Recorder] runs the work on one goroutine. It records the time of every item of every parallel.For, and the time
// between items. [Trace.On] then simulates the assignment of items to any number of threads by the rules of the pool.
// [Costs] has the times to hand work over. The result is the end time of the last item: the critical path on a machine
// whose cores do not share caches and memory. The simulation includes nested calls of For and work in a
// parallel.Background. It does not include other goroutines.
package scaling

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// mark is an event in a recording. There is a span of time between any two marks.
type mark struct {
	kind kind
	n    int32 // for section: number of items; for task and join: number of the task
	most int32 // for section: maximum number of threads
	at   int32 // for section: number of its call position; -1: not recorded
}

type kind uint8

const (
	section kind = iota // a call of For begins
	item                // the section's next item begins
	done                // the section ends
	task                // background work begins
	given               // background work ends, and the caller continues
	join                // the caller waits for background work
)

// Trace is a recording: marks, and the times before, between and after them.
type Trace struct {
	marks  []mark
	spans  []time.Duration
	places []string
}

// Recorder is a parallel.Recorder for a number of threads. Every item runs as worker 0. Its scratch memory is as warm
// in the cache as on a separate core.
type Recorder struct {
	Trace
	threads int
	tasks   int32
	last    time.Time
	clock   time.Duration // time that a reading of the clock adds to a span
	placed  map[[depth]uintptr]int32
}

// depth is the number of stack frames that identify the position of a section.
const depth = 12

// Record runs work as if there were the given number of threads, and returns its trace. where also records the
// positions of sections.
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

// clockCost returns the minimum time between two readings of the clock.
func clockCost() time.Duration {
	least := time.Hour
	for range 1000 {
		begin := time.Now()
		least = min(least, time.Since(begin))
	}
	return least
}

// span ends a span of time. The next span starts after the caller has recorded its mark.
func (r *Recorder) span() { r.spans = append(r.spans, max(0, time.Since(r.last)-r.clock)) }

func (r *Recorder) mark(m mark) {
	r.span()
	r.marks = append(r.marks, m)
	r.last = time.Now()
}

func (r *Recorder) Threads() int { return r.threads }

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

func (r *Recorder) Background(work func() *parallel.Panic) (wait func(), failed *parallel.Panic) {
	n := r.tasks
	r.tasks++
	r.mark(mark{kind: task, n: n})
	failed = work()
	r.mark(mark{kind: given, n: n})
	return func() { r.mark(mark{kind: join, n: n}) }, failed
}

// place returns the number of the position that called For, for marks.
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

// Least combines two traces of the same work: it keeps the smaller of both times for each span, because other programs
// disturb the traces at different moments. If the traces have different marks, Least keeps the faster trace.
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

// Work returns the total time of the work on one thread.
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
