package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// work is a run with a number of steps. A process that holds the claim stores each step; commits are the stored steps
// in order.
type work struct {
	steps    int
	after    time.Duration // time that waiters wait
	commits  []string
	acquired int // newest generation that a process has claimed
	wrong    string
}

// process does its part of the work: it claims the path, continues from the stored step, and stores some steps. It may
// not release the claim, like a process that dies.
func (w *work) process(p *process) {
	const path = "run/lock"
	watch := p.watch()
	watch.world.after = w.after
	stored := func() int {
		text, err := p.Read("run/step")
		if err != nil {
			return 0
		}
		n, _ := strconv.Atoi(string(text))
		return n
	}
	for {
		c, err := watch.claim(path, false)
		if err != nil {
			if unless(err, ErrHeld) != nil {
				w.wrong = err.Error()
				return
			}
			p.sleep(time.Duration(p.sim.random.Int64N(int64(10 * time.Second))))
			continue
		}
		generation, _ := strconv.Atoi(c.dir[len("run/lock.claims/"):])
		if generation <= w.acquired {
			w.wrong = fmt.Sprintf("%s has generation %d after %d", p.name, generation, w.acquired)
			return
		}
		w.acquired = generation
		at := stored()
		for range p.sim.random.IntN(6) {
			if at == w.steps {
				break
			}
			if p.sim.random.IntN(3) > 0 {
				err = c.beat()
			}
			if err == nil {
				err = w.commit(p, c, generation, at+1)
			}
			if err != nil {
				break
			}
			at++
			p.sleep(time.Duration(p.sim.random.Int64N(int64(20 * time.Second))))
		}
		if err != nil && unless(err, ErrLost, fs.ErrNotExist) != nil {
			w.wrong = err.Error()
			return
		}
		if err == nil {
			if err := c.release(); unless(err, ErrLost) != nil {
				w.wrong = err.Error()
			}
		}
		if at == w.steps {
			return
		}
	}
}

// commit stores a step like any file: it writes it in the folder of the claim, and renames it into place.
func (w *work) commit(p *process, c *claim, generation, step int) error {
	temporary := c.files + "/step"
	if err := unless(p.Remove(temporary), fs.ErrNotExist); err != nil {
		return err
	}
	if err := p.Create(temporary, []byte(strconv.Itoa(step))); err != nil {
		return err
	}
	err := p.Rename(temporary, "run/step")
	if err == nil {
		w.commits = append(w.commits, fmt.Sprintf("%d by %s", step, p.name))
		if generation != w.acquired {
			w.wrong = fmt.Sprintf("%s wrote as generation %d, after %d had begun", p.name, generation, w.acquired)
		}
		if len(w.commits) != step {
			w.wrong = fmt.Sprint("a step was made twice: ", w.commits)
		}
	}
	return err
}

// Processes of several machines share a run and store each of its steps once. Their clocks differ. They are suspended
// at any time and continue, or die, and some see outdated lists of folders. No process writes after another one has
// started. This also holds for processes that take over a claim without waiting.
func TestClaimsInterleaved(t *testing.T) {
	long.NotShort(t)
	rounds := 600
	if long.Enabled() {
		rounds = 3000
	}
	took := 0
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 21))
		s := &sim{random: random, root: &node{files: map[string]*node{"run": {files: map[string]*node{}}}}, turn: make(chan *process)}
		w := &work{steps: 8, after: time.Minute}
		if seed%2 == 1 {
			w.after = lookPart
		}
		for i := range 2 + random.IntN(4) {
			s.start(&process{name: fmt.Sprint("machine", i), keeps: random.IntN(2) == 0, rate: 0.9 + 0.2*random.Float64(),
				offset: time.Duration(random.Int64N(int64(1000 * time.Hour)))}, w.process)
		}
		s.run(2000, 0.03, 0.003)
		s.start(&process{name: "last", rate: 1}, w.process) // the other processes may all be dead
		done := s.run(20000, 0, 0)
		s.end()
		if w.wrong != "" {
			t.Fatalf("seed %d: %s", seed, w.wrong)
		}
		if !done || len(w.commits) != w.steps {
			t.Fatalf("seed %d: after %d steps and %v only %v", seed, s.steps, s.time, w.commits)
		}
		if w.acquired > 2 {
			took++
		}
	}
	if took < rounds/2 {
		t.Errorf("in %d of %d rounds a claim went on to another process; want most", took, rounds)
	}
}

// A waiter takes over a claim after the claim's time without a heartbeat by its own clock, and not before. The time
// during which a waiter was suspended does not count.
func TestClaimPatience(t *testing.T) {
	var now time.Duration
	s := &sim{random: rand.New(rand.NewPCG(1, 1)),
		root: &node{files: map[string]*node{"run": {files: map[string]*node{}}}}, turn: make(chan *process)}
	free := func(name string) *Watch {
		p := &process{sim: s, name: name, free: true, handles: map[string]*node{}, lists: map[string]list{}}
		w := p.watch()
		w.world.now = func() time.Duration { return now }
		return w
	}
	owner := must.Get(free("a").claim("run/lock", false))(t)
	waiter := free("b")
	try := func() bool {
		c, err := waiter.claim("run/lock", false)
		if err != nil && !errors.Is(err, ErrHeld) {
			t.Fatal(err)
		}
		return c != nil
	}
	for range 30 { // it lives
		now += 5 * time.Second
		if err := owner.beat(); err != nil || try() {
			t.Fatal("taken over from a holder that lives:", err)
		}
	}
	for now += time.Hour; ; now += time.Second { // an hour without a check
		if try() {
			break
		}
	}
	if alone := now - 150*time.Second - time.Hour; alone < 50*time.Second || alone > 61*time.Second {
		t.Errorf("taken over after %v of looking, want a minute less the part that one look counts for", alone)
	}
	if err := owner.beat(); !errors.Is(err, ErrLost) {
		t.Errorf("the old holder goes on: %v", err)
	}
	if err := owner.release(); !errors.Is(err, ErrLost) {
		t.Errorf("the old holder releases it: %v", err)
	}
}

func TestRemark(t *testing.T) {
	for want, h := range map[string]holder{
		"":                      {Host: "host"},
		" (process 1)":          {Process: 1},
		" (process 12 on host)": {Process: 12, Host: "host"},
	} {
		must.Equal(t, h.remark(), want, h)
	}
}
