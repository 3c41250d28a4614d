package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// sim is a file system shared by processes. Each operation is a step, and the process with the next step is random.
// Time passes between steps.
type sim struct {
	random *rand.Rand
	root   *node
	time   time.Duration
	steps  int

	procs []*process
	turn  chan *process // the process that has ended its step
}

// node is a file or a folder.
type node struct {
	files   map[string]*node // nil: a file
	text    string
	removed bool
}

// process is a process on another machine. It may cache lists of folders, as clients of network file systems do.
type process struct {
	sim    *sim
	name   string
	free   bool // it does not wait for its turn
	keeps  bool
	offset time.Duration // offset of its clock
	rate   float64       // rate of its clock

	turn    chan bool     // false: the process is dead
	until   time.Duration // time at which it continues; until then it sleeps or is suspended
	ended   bool
	handles map[string]*node
	lists   map[string]list
}

// list is a process's cached list of a folder.
type list struct {
	names []string
	until time.Duration
}

type died struct{}

// start begins a process.
func (s *sim) start(p *process, work func(p *process)) {
	p.sim, p.turn, p.handles, p.lists = s, make(chan bool), map[string]*node{}, map[string]list{}
	s.procs = append(s.procs, p)
	go func() {
		defer func() {
			if v := recover(); v != nil && v != any(died{}) {
				panic(v)
			}
			p.ended = true
			s.turn <- p
		}()
		p.wait()
		work(p)
	}()
}

// wait waits for the turn of the process.
func (p *process) wait() {
	if !<-p.turn {
		panic(died{})
	}
}

// step ends a step and waits for the next one.
func (p *process) step() {
	if p.free {
		return
	}
	p.sim.turn <- p
	p.wait()
}

// sleep sleeps for a simulated time.
func (p *process) sleep(d time.Duration) {
	p.until = p.sim.time + d
	p.step()
}

// run runs up to the given number of steps. It ends earlier if all processes have ended. stop and die are the
// probabilities that a process is suspended for a while or dies.
func (s *sim) run(steps int, stop, die float64) (ended bool) {
	for ; s.steps < steps; s.steps++ {
		var ready []*process
		next := time.Duration(1<<62 - 1)
		for _, p := range s.procs {
			if !p.ended {
				next = min(next, p.until)
				if p.until <= s.time {
					ready = append(ready, p)
				}
			}
		}
		switch {
		case next == 1<<62-1:
			return true
		case len(ready) == 0:
			s.time = next
			continue
		}
		p := ready[s.random.IntN(len(ready))]
		s.time += time.Duration(s.random.Int64N(int64(50 * time.Millisecond)))
		lives := s.random.Float64() >= die
		if s.random.Float64() < stop {
			p.until = s.time + time.Duration(s.random.Int64N(int64(5*time.Minute)))
		}
		p.turn <- lives
		<-s.turn
	}
	return false
}

// end ends all processes.
func (s *sim) end() {
	for _, p := range s.procs {
		for !p.ended {
			p.turn <- false
			<-s.turn
		}
	}
}

func (p *process) now() time.Duration {
	return p.offset + time.Duration(float64(p.sim.time)*p.rate)
}

// find returns a node. A process with cached handles uses the handles of folders that it has opened before.
func (p *process) find(at string) *node {
	at = filepath.ToSlash(at)
	if n := p.handles[at]; n != nil && p.keeps {
		if n.removed {
			return nil
		}
		return n
	}
	n := p.sim.root
	for _, part := range strings.Split(strings.Trim(at, "/"), "/") {
		if n == nil || n.files == nil {
			return nil
		}
		n = n.files[part]
	}
	if n != nil && n.files != nil {
		p.handles[at] = n
	}
	return n
}

// parent returns the folder of a path.
func (p *process) parent(at string) (*node, string, error) {
	at = filepath.ToSlash(at)
	n := p.find(path.Dir(at))
	if n == nil || n.files == nil {
		return nil, "", fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	}
	delete(p.lists, path.Dir(at)) // a process that changes a folder sees its current content
	return n, path.Base(at), nil
}

func (p *process) add(at string, n *node) error {
	p.step()
	dir, name, err := p.parent(at)
	if err != nil {
		return err
	}
	if dir.files[name] != nil {
		return fmt.Errorf("%s: %w", at, fs.ErrExist)
	}
	dir.files[name] = n
	return nil
}

func (p *process) Mkdir(at string) error {
	delete(p.handles, at)
	return p.add(at, &node{files: map[string]*node{}})
}

func (p *process) Create(at string, text []byte) error { return p.add(at, &node{text: string(text)}) }

func (p *process) List(at string) (names []string, err error) {
	p.step()
	if l, ok := p.lists[at]; ok && p.keeps && l.until > p.sim.time {
		return l.names, nil
	}
	n := p.find(at)
	if n == nil || n.files == nil {
		return nil, fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	}
	names = slices.Sorted(maps.Keys(n.files))
	p.lists[at] = list{names, p.sim.time + 30*time.Second}
	return names, nil
}

func (p *process) Read(at string) ([]byte, error) {
	p.step()
	n := p.find(at)
	if n == nil || n.files != nil {
		return nil, fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	}
	return []byte(n.text), nil
}

func (p *process) Rewrite(at string, text []byte) error {
	p.step()
	n := p.find(at)
	if n == nil || n.files != nil {
		return fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	}
	n.text = string(text) + n.text[min(len(text), len(n.text)):]
	return nil
}

func (p *process) Rename(from, to string) error {
	p.step()
	a, oldName, err := p.parent(from)
	if err != nil {
		return err
	}
	b, newName, err := p.parent(to)
	if err != nil {
		return err
	}
	n := a.files[oldName]
	if n == nil {
		return fmt.Errorf("%s: %w", from, fs.ErrNotExist)
	}
	if there := b.files[newName]; there != nil && len(there.files) > 0 {
		return fmt.Errorf("%s: %w", to, syscall.ENOTEMPTY)
	}
	if there := b.files[newName]; there != nil {
		there.removed = true
	}
	delete(a.files, oldName)
	b.files[newName] = n
	return nil
}

func (p *process) Remove(at string) error {
	p.step()
	dir, name, err := p.parent(at)
	if err != nil {
		return err
	}
	n := dir.files[name]
	switch {
	case n == nil:
		return fmt.Errorf("%s: %w", at, fs.ErrNotExist)
	case len(n.files) > 0:
		return fmt.Errorf("%s: %w", at, syscall.ENOTEMPTY)
	}
	n.removed = true
	delete(dir.files, name)
	return nil
}

// watch returns a Watch of the process.
func (p *process) watch() *Watch {
	me := func(string) holder { return holder{Process: 1, Host: p.name, ID: fmt.Sprint(p.sim.random.Uint64())} }
	return &Watch{world: &world{files: p, now: p.now, after: time.Minute, me: me, mode: always}, seen: map[string]observation{}}
}

// unless returns nil for some errors.
func unless(err error, these ...error) error {
	for _, e := range these {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
