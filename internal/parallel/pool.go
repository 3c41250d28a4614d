package parallel

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// idleLimit is the number of times that an idle helper polls for a job before it sleeps: about ten microseconds, as
// long as waking it. With more threads than processors, crowdedLimit leaves the processors to others.
const (
	idleLimit    = 10000
	crowdedLimit = 500
)

var processors = runtime.NumCPU()

// slots is the maximum number of concurrent calls with helpers.
const slots = 64

// helpers are goroutines that start once and wait for jobs. A caller of For sets the bit of its job in a word that all
// idle helpers read. So asking sixteen helpers takes as long as asking one. The caller wakes only as many sleeping
// helpers as it needs.
type helpers struct {
	_       line
	open    atomic.Uint64 // slots of jobs that need helpers
	_       line
	idle    atomic.Int32 // helpers that poll for a job
	asleep  atomic.Int32 // helpers that sleep, minus helpers that are being woken
	crowded atomic.Bool  // more threads than processors
	_       line
	taken   atomic.Uint64 // slots in use
	_       line
	jobs    [slots]job
	wake    chan struct{}
	started atomic.Int32
	mutex   sync.Mutex // guards the start of helpers
}

var pool = newHelpers()

func newHelpers() *helpers {
	p := &helpers{wake: make(chan struct{}, 1<<12)}
	for i := range p.jobs {
		p.jobs[i].bit, p.jobs[i].awake = 1<<i, make(chan struct{}, 1)
	}
	return p
}

// take reserves a slot, or returns nil if all slots are in use.
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

// withdraw stops asking helpers to join. Its caller has a reference to the job, so the slot still belongs to the job.
func (p *helpers) withdraw(j *job) {
	if p.open.Load()&j.bit != 0 {
		p.open.And(^j.bit)
	}
}

// release drops a reference to a job. The last one frees the slot.
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

// help runs jobs. After each job it polls for the next one before it sleeps, because the sections of a training step
// follow within microseconds, and waking a thread takes longer.
func (p *helpers) help() {
	setLabels(nil) // clears the labels of the parent goroutine
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

// join works on a job, unless the job has ended or has enough workers.
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

// sleep sleeps until a caller needs a helper.
func (p *helpers) sleep() {
	p.idle.Add(-1)
	p.asleep.Add(1)
	for p.open.Load() != 0 { // a job arrived before its caller saw this sleeper
		asleep := p.asleep.Load()
		if asleep <= 0 {
			break // the caller has woken this helper
		}
		if p.asleep.CompareAndSwap(asleep, asleep-1) {
			p.idle.Add(1)
			return
		}
	}
	<-p.wake
	p.idle.Add(1)
}
