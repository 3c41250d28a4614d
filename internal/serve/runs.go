package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// run is a run as it was at a moment.
type run struct {
	*index.Run // with the state of this package; its Dir is the name in addresses
	progress

	path   string      // relative to the folder, with slashes
	base   sweep.State // as the index has it
	serial int         // other numbers are other contents
}

// snapshot is all runs as they were at a moment. Nothing in it changes.
type snapshot struct {
	list    []*run // by name
	byName  map[string]*run
	reading bool // not all runs were read yet
	content int  // changes with settings, results and states
	version int  // changes with anything
}

// states counts the runs in each state.
func (s *snapshot) states() map[state]int {
	counts := map[state]int{}
	for _, one := range s.list {
		counts[one.progress.state]++
	}
	return counts
}

// runs are the runs of a folder, looked at again as time goes by and somebody asks.
type runs struct {
	dir    string
	single bool // the folder is a run itself

	root   atomic.Pointer[os.Root]
	now    atomic.Pointer[snapshot]
	asked  atomic.Int64 // when somebody asked last, in nanoseconds
	looked atomic.Int64 // when the runs were looked at last
	wake   chan struct{}
	cancel context.CancelFunc
	done   sync.WaitGroup

	known  map[string]*run // by path; of the scanning goroutine, as serial
	serial int
}

// The pace of looking: at most the given part of the time goes into it, so that runs that train beside are not slowed.
const (
	scanPause   = time.Second
	scanShare   = 100
	askPatience = 15 * time.Second // nobody looks at runs that nobody asks for

	firstPatience = 5 * time.Second // of the start, for the first look

	lookPatience = 150 * time.Millisecond // of a request, for the runs to be looked at
)

// openRuns looks at the runs of a folder.
func openRuns(ctx context.Context, dir string, single bool) (*runs, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(filepath.Join(whole, rundir.Config))
	r := &runs{dir: whole, single: single || err == nil, wake: make(chan struct{}, 1), known: map[string]*run{}}
	r.root.Store(root)
	r.now.Store(&snapshot{reading: true})
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	first := make(chan struct{})
	r.done.Go(func() {
		if !r.single { // nothing is written into the folder of a run, no index either
			r.recall(background)
		}
		_ = r.scan(background) // the next one may do better
		close(first)
		r.watch(background)
	})
	select { // thousands of runs that no index knows take longer: pages say that they are being read
	case <-first:
	case <-time.After(firstPatience):
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), r.close())
	}
	return r, nil
}

func (r *runs) close() error {
	r.cancel()
	r.done.Wait()
	return r.root.Load().Close()
}

// recall takes what the index of the folder knows, which is much quicker than reading all runs. Without an index all are read.
func (r *runs) recall(ctx context.Context) {
	x, err := index.Open(ctx, r.dir)
	if err != nil {
		return
	}
	defer x.Close() // what it has is in the folders
	list, err := x.Runs(ctx)
	if err != nil {
		return
	}
	for _, one := range list {
		path := one.Dir
		one.Dir = strings.ToValidUTF8(path, "\uFFFD")
		r.known[path] = &run{Run: one, path: path, base: one.State}
	}
}

// watch looks at the runs again and again while somebody asks for them.
func (r *runs) watch(ctx context.Context) {
	for pause := scanPause; ; {
		if time.Since(time.Unix(0, r.asked.Load())) > askPatience {
			select {
			case <-ctx.Done():
				return
			case <-r.wake:
			}
		} else {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
		begin := time.Now()
		_ = r.scan(ctx) // where that fails, what was seen stays
		pause = max(scanPause, scanShare*time.Since(begin))
	}
}

// reopen opens the folder again if another one has taken its place.
func (r *runs) reopen() {
	now, err := os.Stat(r.dir)
	if err != nil {
		return // it is gone
	}
	old := r.root.Load()
	if before, err := old.Stat("."); err == nil && os.SameFile(before, now) {
		return
	}
	if root, err := os.OpenRoot(r.dir); err == nil {
		r.root.Store(root)
		_ = old.Close()
	}
}

// current returns the runs as they were last seen, and has them looked at again. After a time in which nobody asked it waits a moment for
// that.
func (r *runs) current() *snapshot {
	now := time.Now()
	before := r.asked.Swap(now.UnixNano())
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if now.UnixNano()-before > int64(askPatience) && (r.single || now.UnixNano()-r.looked.Load() > int64(scanPause)) {
		for r.looked.Load() < now.UnixNano() && time.Since(now) < lookPatience {
			time.Sleep(time.Millisecond)
		}
	}
	return r.now.Load()
}

// find returns the run of a name. Files are looked for only below the folders of runs that were found, so that no name leads elsewhere.
func (r *runs) find(name string) (*run, error) {
	if one, ok := r.current().byName[name]; ok {
		return one, nil
	}
	return nil, missing(fmt.Sprintf("there is no run %q", name))
}

// begins reports whether a folder has become a run since the runs were looked at.
func (r *runs) begins(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	info, err := r.root.Load().Stat(filepath.FromSlash(name + "/" + rundir.Config))
	return err == nil && info.Mode().IsRegular()
}

// open opens a file of a run for reading. A link that leads out of the folder of runs is an error.
func (r *runs) open(one *run, name string) (*os.File, error) {
	return disk.OpenIn(r.root.Load(), filepath.FromSlash(one.path+"/"+name))
}

// scan looks for runs, and at those that have changed.
func (r *runs) scan(ctx context.Context) error {
	r.reopen()
	folders, err := sweep.Folders(r.dir)
	if err != nil {
		return err
	}
	defer func() { r.looked.Store(time.Now().UnixNano()) }()
	before := r.now.Load()
	if before.reading {
		before = nil
	}
	next := &snapshot{byName: make(map[string]*run, len(folders)), version: 1} // 0 is that of runs that are being read
	known := make(map[string]*run, len(folders))
	holders := rundir.NewHolders()
	changed, content := before == nil || len(folders) != len(before.list), before == nil || len(folders) != len(before.list)
	for _, path := range folders {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old := r.known[path]
		one := r.look(path, old, holders)
		known[path] = one
		next.list = append(next.list, one)
		next.byName[one.Dir] = one
		if old != one {
			changed = true
			content = content || old == nil || old.Run != one.Run
		}
	}
	r.known = known
	if !changed {
		return nil
	}
	slices.SortFunc(next.list, func(a, b *run) int { return strings.Compare(a.path, b.path) })
	if before != nil {
		next.content, next.version = before.content, before.version+1
	}
	if content {
		next.content++
	}
	r.now.Store(next)
	return nil
}

// look returns the run of a folder: the old one, if nothing has changed.
func (r *runs) look(path string, old *run, holders *rundir.Holders) *run {
	dir := filepath.Join(r.dir, filepath.FromSlash(path))
	fresh := old
	if old == nil || old.Stamp != index.Stamp(dir) || !old.seen && r.outside(path) != "" {
		fresh = r.read(dir, path)
	}
	p := r.progressOf(fresh, dir, holders)
	if old != nil && fresh == old && p == old.progress {
		return old
	}
	one := *fresh
	r.serial++
	one.progress, one.serial = p, r.serial
	if string(one.Run.State) != string(p.state) {
		entry := *one.Run
		entry.State = sweep.State(p.state)
		one.Run = &entry
	}
	return &one
}

// read reads a run of which nothing is known, or other things than before.
func (r *runs) read(dir, path string) *run {
	one := &run{path: path}
	if outside := r.outside(path); outside != "" {
		one.Run = &index.Run{State: sweep.Damaged, Problem: outside + " is a link that leads out of the folder of runs", Stamp: index.Stamp(dir)}
	} else {
		one.Run = index.Read(dir, path)
	}
	one.Dir, one.base = strings.ToValidUTF8(path, "\uFFFD"), one.State
	if path == "." {
		one.Dir = filepath.Base(r.dir)
	}
	return one
}

// outside returns the name of a file that is read of every run and is a link out of the folder; empty: none is.
func (r *runs) outside(path string) string {
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile} {
		if _, err := r.root.Load().Stat(filepath.FromSlash(path + "/" + name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return ""
}
