package parallel

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// idleLimit is the number of times that an idle helper polls for a job before it sleeps: some ten
// microseconds, about the time of waking it. With more threads than processors, crowdedLimit lets others work.
const (
	idleLimit    = 10000
	crowdedLimit = 500
)

// processors is the number of processors that the program may use.
var processors = runtime.NumCPU()

// slots is the largest number of concurrent calls with helpers.
const slots = 64

// helpers are goroutines that start once and wait for jobs. A caller of For sets the bit of its job in a word that idle
// helpers read. Asking sixteen helpers therefore takes as long as asking one. The caller wakes sleeping helpers only as
// far as it needs them.
type helpers struct {
	_       line
	open    atomic.Uint64 // slots of jobs that need helpers
	_       line
	idle    atomic.Int32 // helpers that look for a job
	asleep  atomic.Int32 // helpers that sleep, less the helpers about to wake
	crowded atomic.Bool  // threads outnumber processors
	_       line
	taken   atomic.Uint64 // slots in use
	_       line
	jobs    [slots]job
	wake    chan struct{}
	started atomic.Int32
	mutex   sync.Mutex // starts helpers
}

var pool = newHelpers()

func newHelpers() *helpers {
	p := &helpers{wake: make(chan struct{}, 1<<12)}
	for i := range p.jobs {
		p.jobs[i].bit, p.jobs[i].awake = 1<<i, make(chan struct{}, 1)
	}
	return p
}

// take reserves a slot; nil: all are in use.
func (p *helpers) take() *job {
	for {
		taken := p.taken.Load()
		if taken == 1<<slots-1 {
			return nil
		}
		bit := ^taken & (taken + 1)
		if p.taken.CompareAndSwap(taken, taken|bit) {
			return &p.jobs[bits.TrailingZeros64(bit)]
		}
	}
}

// publish asks helpers to join a job.
func (p *helpers) publish(j *job, wanted int) {
	if crowded := Threads() > processors; crowded != p.crowded.Load() {
		p.crowded.Store(crowded)
	}
	p.open.Or(j.bit)
	for missing := int32(wanted) - p.idle.Load(); missing > 0; {
		asleep := p.asleep.Load()
		n := min(missing, asleep)
		if n <= 0 {
			return
		}
		if p.asleep.CompareAndSwap(asleep, asleep-n) {
			for range n {
				p.wake <- struct{}{}
			}
			return
		}
	}
}

// withdraw stops asking helpers to join. The caller of withdraw holds the job, so the slot still belongs to it.
func (p *helpers) withdraw(j *job) {
	if p.open.Load()&j.bit != 0 {
		p.open.And(^j.bit)
	}
}

// release lets go of a job. The last one frees its slot.
func (p *helpers) release(j *job) {
	if j.references.Add(-1) == 0 {
		j.body, j.scope = nil, nil
		p.taken.And(^j.bit)
	}
}

func (p *helpers) ensure(n int) {
	if int(p.started.Load()) >= n {
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for int(p.started.Load()) < n {
		p.started.Add(1)
		p.idle.Add(1)
		go p.help()
	}
}

// help runs jobs. After each job it polls for the next one before it sleeps. The sections of a training step follow
// each other within microseconds, and waking a thread takes longer.
func (p *helpers) help() {
	setLabels(nil) // of the goroutine that started this one
	for spins := 0; ; spins++ {
		if open := p.open.Load(); open != 0 {
			if p.join(&p.jobs[bits.TrailingZeros64(open)]) {
				spins = 0
			}
			continue
		}
		switch {
		case spins > idleLimit, spins > crowdedLimit && p.crowded.Load():
			p.sleep()
			spins = 0
		case spins%32 == 31:
			runtime.Gosched()
		}
	}
}

// join works on a job, unless it is over or has workers enough.
func (p *helpers) join(j *job) bool {
	worker, held := j.join()
	if !held {
		return false
	}
	if worker < 0 || worker == int(j.limit)-1 {
		p.withdraw(j)
	}
	if worker >= 0 {
		p.idle.Add(-1)
		j.scope.enter()
		j.work(worker)
		j.scope.leave()
		p.withdraw(j)
		p.idle.Add(1)
	}
	p.release(j)
	return worker >= 0
}

// sleep waits until a caller needs a helper.
func (p *helpers) sleep() {
	p.idle.Add(-1)
	p.asleep.Add(1)
	for p.open.Load() != 0 { // a job came before its caller saw a sleeper
		asleep := p.asleep.Load()
		if asleep <= 0 {
			break // the caller woke this one
		}
		if p.asleep.CompareAndSwap(asleep, asleep-1) {
			p.idle.Add(1)
			return
		}
	}
	<-p.wake
	p.idle.Add(1)
}
