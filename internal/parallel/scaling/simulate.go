package scaling

import (
	"cmp"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// Costs are the times that the pool needs to hand work over. BenchmarkFor in package parallel measures most of them.
type Costs struct {
	Publish time.Duration // of the caller, for each section
	Invite  time.Duration // of the caller, for each helper that it asks
	Start   time.Duration // of a polling helper, from the request to its first item
	Wake    time.Duration // of a sleeping helper, instead of Start
	Spin    time.Duration // how long helpers poll before they sleep
	Claim   time.Duration // taking an item
	Join    time.Duration // from the end of the last item until the caller continues
}

// Measured are the costs of the pool on a server (AMD Zen 5).
var Measured = Costs{Publish: 100 * time.Nanosecond, Invite: 60 * time.Nanosecond, Start: time.Microsecond, Wake: 6 * time.Microsecond,
	Spin: 10 * time.Microsecond, Claim: 20 * time.Nanosecond, Join: 150 * time.Nanosecond}

// part is a span of time and the event after it: a section, the start of background work, the wait for it, or nothing.
type part struct {
	time  time.Duration
	begin *sectionWork
	start *taskWork
	wait  *taskWork
}

// sectionWork is a call of For.
type sectionWork struct {
	items [][]part
	most  int
	place int32

	next, chunk  int
	finished     int
	caller       *agent // waits
	begun, ended time.Duration
}

type taskWork struct {
	parts    []part
	finished bool
	waiting  *agent
}

// agent is a thread and its current work.
type agent struct {
	now    time.Duration
	stack  []frame
	helper bool
	order  int // order of agents with equal times
}

// frame is a position in some work: the next part.
type frame struct {
	parts   []part
	of      *sectionWork // the section of the item, or the section in which the agent participates (then parts is nil)
	task    *taskWork    // the task that ends with these parts
	caller  bool         // participates in the section as its caller
	at      int          // index of the next claimed item
	left    int          // number of remaining claimed items
	claimed bool
}

// ticket asks a helper to participate in a section or to do background work.
type ticket struct {
	at   time.Duration
	of   *sectionWork
	task *taskWork
}

type schedule struct {
	costs   Costs
	ready   []*agent
	idle    []*agent
	tickets []ticket
}

// On returns the time of the work on the given number of threads.
func (t *Trace) On(threads int, c Costs) time.Duration { return t.run(t.parse(), threads, c) }

func (t *Trace) run(parts []part, threads int, c Costs) time.Duration {
	s := &schedule{costs: c}
	root := &agent{stack: []frame{{parts: parts}}}
	s.ready = append(s.ready, root)
	for i := 1; i < threads; i++ {
		s.idle = append(s.idle, &agent{helper: true, order: i, now: -time.Hour})
	}
	var end time.Duration // includes background work that is still running, because the next work waits for it
	for len(s.ready) > 0 {
		a := slices.MinFunc(s.ready, func(a, b *agent) int { return cmp.Or(cmp.Compare(a.now, b.now), a.order-b.order) })
		s.ready = slices.DeleteFunc(s.ready, func(o *agent) bool { return o == a })
		if s.step(a, threads) {
			s.ready = append(s.ready, a)
		}
		end = max(end, a.now)
		s.assign()
	}
	return end
}

// step advances an agent to its next event. It returns false if the agent then waits for others.
func (s *schedule) step(a *agent, threads int) bool {
	if len(a.stack) == 0 {
		if a.helper {
			s.idle = append(s.idle, a)
		}
		return false
	}
	f := &a.stack[len(a.stack)-1]
	if f.parts == nil {
		return s.participate(a, f)
	}
	p := f.parts[0]
	if !f.claimed { // first the time passes, then the event happens
		a.now += p.time
		f.claimed = true
		return true
	}
	f.claimed = false
	f.parts = f.parts[1:]
	switch {
	case p.begin != nil:
		w := p.begin
		helpers := min(threads, w.most, len(w.items)) - 1
		w.begun, w.chunk = a.now, parallel.Chunk(len(w.items), helpers+1)
		if helpers > 0 {
			a.now += s.costs.Publish + time.Duration(helpers)*s.costs.Invite
		}
		for range helpers {
			s.tickets = append(s.tickets, ticket{at: a.now, of: w})
		}
		a.stack = append(a.stack, frame{of: w, caller: true})
	case p.start != nil:
		if threads == 1 {
			a.stack = append(a.stack, frame{parts: p.start.parts, task: p.start})
			break
		}
		s.tickets = append(s.tickets, ticket{at: a.now, task: p.start})
	case p.wait != nil && !p.wait.finished:
		p.wait.waiting = a
		return false
	case p.wait == nil:
		s.finish(a) // the last part of a piece of work has nothing after it
	}
	return true
}

// participate claims an item of a section, or ends the participation of an agent.
func (s *schedule) participate(a *agent, f *frame) bool {
	w := f.of
	if f.left > 0 || w.next < len(w.items) {
		if f.left == 0 {
			a.now += s.costs.Claim
			f.at, f.left = w.next, min(w.chunk, len(w.items)-w.next)
			w.next += f.left
		}
		f.at, f.left = f.at+1, f.left-1
		a.stack = append(a.stack, frame{parts: w.items[f.at-1], of: w})
		return true
	}
	if f.caller && w.finished < len(w.items) {
		w.caller = a
		return false
	}
	if f.caller {
		w.ended = a.now
	}
	a.stack = a.stack[:len(a.stack)-1]
	return true
}

// finish ends the work on top of an agent's stack.
func (s *schedule) finish(a *agent) {
	f := a.stack[len(a.stack)-1]
	a.stack = a.stack[:len(a.stack)-1]
	switch {
	case f.task != nil:
		f.task.finished = true
		s.resume(f.task.waiting, a.now)
	case f.of != nil:
		if f.of.finished++; f.of.finished == len(f.of.items) && f.of.caller != nil {
			s.resume(f.of.caller, a.now)
		}
	}
}

// resume continues an agent that waited.
func (s *schedule) resume(a *agent, now time.Duration) {
	if a == nil {
		return
	}
	a.now = max(a.now, now) + s.costs.Join
	s.ready = append(s.ready, a)
}

// assign gives tickets to idle helpers. The helper that became idle last gets the first ticket, because its thread is
// awake.
func (s *schedule) assign() {
	for len(s.tickets) > 0 && len(s.idle) > 0 {
		t := s.tickets[0]
		s.tickets = s.tickets[1:]
		a := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		switch {
		case a.now >= t.at: // it was polling for the next ticket
		case t.at-a.now > s.costs.Spin:
			a.now = t.at + s.costs.Wake
		default:
			a.now = t.at + s.costs.Start
		}
		if t.task != nil {
			a.stack = append(a.stack, frame{parts: t.task.parts, task: t.task})
		} else {
			a.stack = append(a.stack, frame{of: t.of})
		}
		s.ready = append(s.ready, a)
	}
}

func (t *Trace) parse() []part {
	p := &parser{trace: t, tasks: map[int32]*taskWork{}}
	return p.parts()
}

type parser struct {
	trace *Trace
	at    int // index of the next span; the mark after the span has the same index
	tasks map[int32]*taskWork
}

// parts reads the parts up to the end of a piece of work: an item, background work, or everything.
func (p *parser) parts() (list []part) {
	for {
		now := part{time: p.trace.spans[p.at]}
		p.at++
		if p.at > len(p.trace.marks) {
			return append(list, now)
		}
		m := p.trace.marks[p.at-1]
		switch m.kind {
		case section:
			now.begin = p.section(m)
		case task:
			now.start = &taskWork{}
			p.tasks[m.n] = now.start
			now.start.parts = p.parts()
		case join:
			now.wait = p.tasks[m.n]
		default:
			return append(list, now)
		}
		list = append(list, now)
	}
}

func (p *parser) section(m mark) *sectionWork {
	w := &sectionWork{most: int(m.most), place: m.at}
	for range m.n {
		w.items = append(w.items, p.parts())
	}
	return w
}
