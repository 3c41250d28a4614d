package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// runState is the state of a run at one time.
type runState struct {
	*index.Run // State is the state of this package, Dir is the name in addresses
	progress

	path   string      // relative to the folder, with slashes
	base   sweep.State // state in the index
	serial int         // changes with the contents
}

// snapshot is the state of all runs at one time. It is immutable.
type snapshot struct {
	list    []*runState // by name
	byName  map[string]*runState
	reading bool // some runs have not been read yet
	content int  // changes with settings, results and states
	version int  // changes with anything
}

func (s *snapshot) states() map[sweep.State]int {
	counts := map[sweep.State]int{}
	for _, run := range s.list {
		counts[run.progress.state]++
	}
	return counts
}

// runs are the runs in a folder. They are scanned regularly while visitors request them.
type runs struct {
	dir    string
	single bool // the folder is a run itself

	root        atomic.Pointer[os.Root]
	latest      atomic.Pointer[snapshot]
	lastRequest atomic.Int64 // time of the last request, in nanoseconds
	lastScan    atomic.Int64 // time of the last scan
	wake        chan struct{}
	cancel      context.CancelFunc
	scanning    sync.WaitGroup

	known  map[string]*runState // by path; only the scanning goroutine uses known and serial
	serial int
}

// The rate of scans: a pause of scanShare times the duration of the last scan, because scans must not slow training
// runs.
const (
	scanPause   = time.Second
	scanShare   = 100
	askPatience = 15 * time.Second // without requests for this time, scans stop

	firstPatience = 5 * time.Second // maximum waiting time for the first scan at the start

	lookPatience = 150 * time.Millisecond // maximum waiting time of a request for a new scan
)

func openRuns(ctx context.Context, dir string, single bool) (*runs, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(filepath.Join(path, rundir.Config))
	r := &runs{dir: path, single: single || err == nil, wake: make(chan struct{}, 1), known: map[string]*runState{}}
	r.root.Store(root)
	r.latest.Store(&snapshot{reading: true})
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	scanned := make(chan struct{})
	r.scanning.Go(func() {
		if !r.single { // a server writes nothing into the folder of a run, not even an index
			r.loadIndex(background)
		}
		_ = r.scan(background) // the next scan may succeed
		close(scanned)
		r.watch(background)
	})
	select { // without an index, thousands of runs take longer: pages say that runs are being read
	case <-scanned:
	case <-time.After(firstPatience):
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), r.close())
	}
	return r, nil
}

func (r *runs) close() error {
	r.cancel()
	r.scanning.Wait()
	return r.root.Load().Close()
}

// loadIndex reads the runs from the index of the folder, which is much faster than reading all runs.
func (r *runs) loadIndex(ctx context.Context) {
	list, err := index.List(ctx, r.dir)
	if err != nil {
		return // the next scan reads the runs
	}
	for _, entry := range list {
		path := entry.Dir
		entry.Dir = strings.ToValidUTF8(path, "\uFFFD")
		r.known[path] = &runState{Run: entry, path: path, base: entry.State}
	}
}

// watch scans the runs repeatedly while visitors request them.
func (r *runs) watch(ctx context.Context) {
	for pause := scanPause; ; {
		if time.Since(time.Unix(0, r.lastRequest.Load())) > askPatience {
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
		start := time.Now()
		_ = r.scan(ctx) // after an error, the last snapshot stays
		pause = max(scanPause, scanShare*time.Since(start))
	}
}

// reopen opens the folder again if its path is now another folder.
func (r *runs) reopen() {
	info, err := os.Stat(r.dir)
	if err != nil {
		return // the folder was deleted
	}
	old := r.root.Load()
	if oldInfo, err := old.Stat("."); err == nil && os.SameFile(oldInfo, info) {
		return
	}
	if root, err := os.OpenRoot(r.dir); err == nil {
		r.root.Store(root)
		_ = old.Close()
	}
}

// current returns the last snapshot and requests a new scan. After a pause it waits briefly for the new snapshot.
func (r *runs) current() *snapshot {
	now := time.Now()
	lastRequest := r.lastRequest.Swap(now.UnixNano())
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if now.UnixNano()-lastRequest > int64(askPatience) &&
		(r.single || now.UnixNano()-r.lastScan.Load() > int64(scanPause)) {
		for r.lastScan.Load() < now.UnixNano() && time.Since(now) < lookPatience {
			time.Sleep(time.Millisecond)
		}
	}
	return r.latest.Load()
}

// find returns the run with the given name. Only names of known runs are valid, so no name leads outside the folder.
func (r *runs) find(name string) (*runState, error) {
	if run, ok := r.current().byName[name]; ok {
		return run, nil
	}
	return nil, notFound(fmt.Sprintf("there is no run %q", name))
}

// isNewRun reports whether a folder has become a run since the last scan.
func (r *runs) isNewRun(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	info, err := r.root.Load().Stat(filepath.FromSlash(name + "/" + rundir.Config))
	return err == nil && info.Mode().IsRegular()
}

func (r *runs) folder(run *runState) string {
	return filepath.Join(r.dir, filepath.FromSlash(run.path))
}

func (r *runs) fileStampOf(run *runState, name string) fileStamp { return stampOf(r.folder(run), name) }

// open opens a file of a run for reading. A link to outside the folder of runs is an error.
func (r *runs) open(run *runState, name string) (*os.File, error) {
	return disk.OpenIn(r.root.Load(), filepath.FromSlash(run.path+"/"+name))
}

func (r *runs) scan(ctx context.Context) error {
	r.reopen()
	folders, err := sweep.Folders(r.dir)
	if err != nil {
		return err
	}
	defer func() { r.lastScan.Store(time.Now().UnixNano()) }()
	previous := r.latest.Load()
	if previous.reading {
		previous = nil
	}
	snap := &snapshot{byName: make(map[string]*runState, len(folders)), version: 1} // version 0 is the first snapshot, while runs are being read
	known := make(map[string]*runState, len(folders))
	holders := rundir.NewHolders()
	changed := previous == nil || len(folders) != len(previous.list)
	content := changed
	for _, path := range folders {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		old := r.known[path]
		run := r.look(path, old, holders)
		known[path] = run
		snap.list = append(snap.list, run)
		snap.byName[run.Dir] = run
		if old != run {
			changed = true
			content = content || old == nil || old.Run != run.Run
		}
	}
	r.known = known
	if !changed {
		return nil
	}
	slices.SortFunc(snap.list, func(a, b *runState) int { return strings.Compare(a.path, b.path) })
	if previous != nil {
		snap.content, snap.version = previous.content, previous.version+1
	}
	if content {
		snap.content++
	}
	r.latest.Store(snap)
	return nil
}

// look returns the run of a folder. For an unchanged run, it returns old.
func (r *runs) look(path string, old *runState, holders *rundir.Holders) *runState {
	dir := filepath.Join(r.dir, filepath.FromSlash(path))
	current := old
	if old == nil || old.Stamp != index.Stamp(dir) || !old.filesRead && r.linkOutside(path) != "" {
		current = r.read(dir, path)
	}
	p := r.progressOf(current, dir, holders)
	if old != nil && current == old && p == old.progress {
		return old
	}
	run := *current
	r.serial++
	run.progress, run.serial = p, r.serial
	if run.Run.State != p.state {
		entry := *run.Run
		entry.State = p.state
		run.Run = &entry
	}
	return &run
}

func (r *runs) read(dir, path string) *runState {
	run := &runState{path: path}
	if link := r.linkOutside(path); link != "" {
		run.Run = &index.Run{State: sweep.Damaged, Problem: link + " is a link that leads out of the folder of runs",
			Stamp: index.Stamp(dir)}
	} else {
		run.Run = index.Read(dir, path)
	}
	run.Dir, run.base = strings.ToValidUTF8(path, "\uFFFD"), run.State
	if path == "." {
		run.Dir = filepath.Base(r.dir)
	}
	return run
}

// linkOutside returns the first standard file of a run that is a link to outside the folder, or an empty string.
func (r *runs) linkOutside(path string) string {
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile} {
		if _, err := r.root.Load().Stat(filepath.FromSlash(path + "/" + name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return name
		}
	}
	return ""
}

// progress is the progress of a run, from its folder instead of the index. It must be comparable, to detect changes.
type progress struct {
	state     sweep.State // as [index.Live] reports it
	filesRead bool
	log       fileStamp
	epoch     int     // finished epochs
	epochs    int     // epochs in the config
	hasLoss   bool    // the log has losses of an epoch
	loss      float64 // loss of the last epoch: the sum of the totals of the objectives, without validation
	seconds   float64 // duration of an epoch with its evaluations: the mean of the last paceEpochs
	written   time.Time
}

// fileStamp identifies a version of a file.
type fileStamp struct {
	size, modified int64
}

func stampOf(dir, name string) fileStamp {
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		return fileStamp{size: -1}
	}
	return fileStamp{info.Size(), info.ModTime().UnixNano()}
}

// progressOf reads the progress, which the index does not have.
func (r *runs) progressOf(run *runState, dir string, holders *rundir.Holders) progress {
	p := run.progress
	if p.filesRead && (run.base == sweep.Finished || run.base == sweep.Failed || run.base == sweep.Damaged) {
		return p // the run cannot continue without a change of the index
	}
	p.filesRead = true
	epochs, _ := run.Settings.Get("train.epochs")
	p.epochs, _ = strconv.Atoi(epochs)
	if log := stampOf(dir, rundir.LogFile); log != p.log {
		p.readLog(r, run, log)
	}
	switch p.state = run.base; {
	case run.base == sweep.Finished:
		p.epoch = max(p.epoch, run.Epochs)
	case run.base == sweep.Failed || run.base == sweep.Damaged:
	case holders.Held(dir, run.Patience(p.seconds)):
		p.state = sweep.Running
	case p.log.size < 0:
		p.state = sweep.Waiting
	default:
		p.state = sweep.Stopped
	}
	return p
}

const logTail = 64 << 10 // number of bytes at the end of a log that the list reads

func (p *progress) readLog(r *runs, run *runState, stamp fileStamp) {
	p.log, p.epoch, p.hasLoss, p.loss, p.seconds = stamp, 0, false, 0, 0
	p.written = time.Time{}
	if stamp.size < 0 {
		return
	}
	p.written = time.Unix(0, stamp.modified)
	f, err := r.open(run, rundir.LogFile)
	if err != nil {
		return
	}
	defer f.Close() // it was only read
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, stamp.size-logTail), logTail))
	if err != nil {
		return
	}
	epochs := 1
	if run.base == sweep.Unfinished {
		epochs = paceEpochs
	}
	p.readTail(text, epochs)
}

// paceEpochs is the number of epochs for a mean duration; some of them may have no evaluation.
const paceEpochs = 20

// readTail reads the last epochs of the end of a log.
func (p *progress) readTail(text []byte, epochs int) {
	text = text[:bytes.LastIndexByte(text, '\n')+1] // a line without a newline is incomplete
	sum := 0.0
	for read := 0; len(text) > 0 && read < epochs; {
		lineStart := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		var line rundir.Line
		err := json.Unmarshal(text[lineStart:], &line)
		text = text[:lineStart]
		if err != nil {
			continue
		}
		p.epoch = max(p.epoch, line.Epoch)
		sum += line.Seconds
		if line.Losses == nil {
			continue
		}
		read++
		p.seconds = sum / float64(read)
		if p.hasLoss {
			continue
		}
		for objective, parts := range line.Losses {
			if objective != engine.ValidationName {
				p.loss += parts["loss"]
			}
		}
		p.hasLoss = true
	}
}

// remaining estimates the time to the end of the last epoch; 0 if the time is unknown or the training has ended.
func (p *progress) remaining(now time.Time) time.Duration {
	if p.state != sweep.Running || p.epoch == 0 || p.epoch >= p.epochs {
		return 0
	}
	estimate := time.Duration(p.seconds*float64(p.epochs-p.epoch)*float64(time.Second)) - now.Sub(p.written)
	return max(estimate, time.Second)
}

// fraction is the finished fraction of the training, from 0 to 1.
func (p *progress) fraction() float64 {
	switch {
	case p.state == sweep.Finished:
		return 1
	case p.epochs == 0:
		return 0
	}
	return min(1, float64(p.epoch)/float64(p.epochs))
}
