// Package rundir manages the folder of a training run. It names, writes and reads the run's files. A run that is killed
// at any moment can be resumed.
//
// One process at a time holds a run. Files are replaced as a whole: new content goes to a temporary file, which is
// synced and renamed. A complete version therefore always exists. On request, the previous version is kept as
// NAME.prev. Logs grow by one JSON object per line. Resuming a run from a step removes later log lines.
package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/tfevents"
)

// Config is the name of the config file. A folder with this file is a run.
const Config = "config.yaml"

const lockName = ".lock"

var (
	// ErrExists is the error of [Create] for a folder that already has a run. Resume this run, or choose another
	// folder.
	ErrExists = errors.New("the folder already contains a run")
	// ErrNoRun is the error of [Open] and [View] for a folder without a run. Choose the folder of a run, which has a
	// config.
	ErrNoRun = errors.New("no run there")
	// ErrLocked is the error of [Create] and [Open] while another process holds the run. Wait for this process, or
	// leave the run to it.
	ErrLocked = errors.New("another process holds the run")
	// errMoved is the error of [Run.Write] after the run's folder was moved or deleted. Resume the run in its new
	// folder.
	errMoved = errors.New("the run's folder was moved or deleted while the run was open")
)

// Run is an open run.
type Run struct {
	dir  string
	lock *lock.File  // nil: a view
	self fs.FileInfo // identifies the opened folder; nil: a view

	written   map[string]string // SHA-256 of each file that this process wrote
	replacing bool              // the record has the hashes of a file before and after its replacement
}

// Create starts a run in an empty folder. It creates the folder if it is missing.
func Create(dir string) (*Run, error) { return NewWatch().create(dir) }

func (w *Watch) create(dir string) (*Run, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, fmt.Errorf("creating the run's folder: %w", err)
	}
	if err := checkEmpty(dir); err != nil { // first, because a lock file would remain
		return nil, err
	}
	r, err := lockRun(dir, w)
	if err != nil {
		return nil, err
	}
	err = checkEmpty(dir)
	if err == nil {
		err = errors.Join(r.removeBegun(), r.removeTemporaries())
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

const beginName = ".begin" + disk.TemporarySuffix // name of the file that exists while [Run.Begin] runs

// writtenByBegin reports whether a file may be in a folder without a config while [Run.Begin] writes.
func writtenByBegin(name string) bool {
	return name == CheckpointFile || name == StateFile || name == RecordFile || name == TrialFile
}

// Begin calls a function that writes the checkpoint, the state or the trial, and then the config of a new run. If the
// process is killed during Begin, [Create] treats the folder as empty.
func (r *Run) Begin(write func() error) error {
	path := r.Path(beginName)
	if err := disk.WriteFile(path, Bytes(nil), false); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return os.Remove(path)
}

// removeBegun removes the files of a process that was killed in [Run.Begin]. The folder has no config.
func (r *Run) removeBegun() error {
	if !r.Has(beginName) {
		return nil
	}
	return errors.Join(r.Remove(RecordFile), r.Remove(CheckpointFile), r.Remove(StateFile), r.Remove(TrialFile))
}

// Open resumes the run in a folder and holds it.
func Open(dir string) (*Run, error) { return NewWatch().Open(dir) }

// Watch remembers the heartbeats of claims, to take over the run of a dead machine without locks between machines.
type Watch struct{ locks *lock.Watch }

// NewWatch returns a Watch without remembered heartbeats.
func NewWatch() *Watch { return &Watch{lock.NewWatch()} }

// Open is the function [Open]. It also takes over a run if the watch has seen that the holder is dead.
func (w *Watch) Open(dir string) (*Run, error) {
	if _, err := View(dir); err != nil {
		return nil, err
	}
	r, err := lockRun(dir, w)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.removeTemporaries(), r.copyGrowing()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// copyGrowing replaces growing files with copies after a takeover, because the former holder may still have them open.
func (r *Run) copyGrowing() error {
	if !r.lock.TakenOver() {
		return nil
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || e.Name() != LogFile && !strings.HasPrefix(e.Name(), tfevents.FilePrefix) {
			continue
		}
		f, err := disk.Open(r.Path(e.Name()))
		if err != nil {
			return err
		}
		err = r.Write(e.Name(), func(w io.Writer) error {
			_, err := io.Copy(w, f)
			return err
		})
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// OpenPatiently is [Open]. If only a claim names a holder, on another machine, it waits briefly to see whether the
// holder is alive.
func OpenPatiently(ctx context.Context, dir string) (*Run, error) {
	return patiently(ctx, dir, (*Watch).Open)
}

// CreatePatiently is [Create] with the same wait, because a dead process may hold the folder without having written
// anything in it.
func CreatePatiently(ctx context.Context, dir string) (*Run, error) {
	return patiently(ctx, dir, (*Watch).create)
}

func patiently(ctx context.Context, dir string, open func(w *Watch, dir string) (*Run, error)) (*Run, error) {
	w := NewWatch()
	for {
		r, err := open(w, dir)
		if !errors.Is(err, ErrLocked) || !w.locks.Doubts(filepath.Join(dir, lockName)) {
			return r, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(doubtPause):
		}
	}
}

const doubtPause = 500 * time.Millisecond // time between two checks of a heartbeat

// View opens a run for reading, even while another process holds it.
func View(dir string) (*Run, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w: the folder does not exist", dir, ErrNoRun)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: %w: it is not a folder", dir, ErrNoRun)
	}
	_, err = os.Stat(filepath.Join(dir, Config))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: the folder has no %s", dir, ErrNoRun, Config)
	}
	if err == nil {
		err = CheckFile(dir, Config)
	}
	if err == nil {
		err = CheckFile(dir, RecordFile)
	}
	if err != nil {
		return nil, err
	}
	return &Run{dir: dir}, nil
}

func lockRun(dir string, w *Watch) (*Run, error) {
	held, err := w.locks.Try(filepath.Join(dir, lockName))
	if err != nil {
		return nil, lockError(dir, err)
	}
	self, err := os.Stat(dir)
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return &Run{dir: dir, lock: held, self: self}, nil
}

// Holding returns a context that also ends, with the cause [ErrLocked], when another process takes over the run.
func (r *Run) Holding(parent context.Context) (context.Context, context.CancelFunc) {
	if r.lock == nil || r.lock.Lost() == nil {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	lost := r.lock.Lost()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-lost:
			cancel(lockError(r.dir, lock.ErrLost))
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// Close unlocks the run.
func (r *Run) Close() error {
	if r.lock == nil {
		return nil
	}
	held := r.lock
	r.lock = nil
	return held.Unlock()
}

// Dir returns the run's folder.
func (r *Run) Dir() string { return r.dir }

// Path returns the path of a file of the run.
func (r *Run) Path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// Has reports whether a file of the run exists.
func (r *Run) Has(name string) bool {
	_, err := os.Stat(r.Path(name))
	return err == nil
}

// Read returns the content of a file of the run.
func (r *Run) Read(name string) ([]byte, error) { return ReadFile(r.dir, name) }

// checkEmpty rejects files other than the lock and the files of a run that was killed before it had a config.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	other := ""
	_, err = os.Lstat(filepath.Join(dir, beginName))
	unfinished := err == nil
	for _, e := range entries {
		switch {
		case e.Name() == Config:
			return fmt.Errorf("%s: %w; continue it, choose another folder, or remove it", dir, ErrExists)
		case unfinished && writtenByBegin(e.Name()):
		case !lock.Is(e.Name(), lockName) && !isTemporary(e):
			other = e.Name()
		}
	}
	if other != "" {
		return fmt.Errorf("%s: the folder is not empty (it contains %s) and is not a run; choose another folder", dir, other)
	}
	return nil
}

func isTemporary(e fs.DirEntry) bool { return e.Type().IsRegular() && disk.IsTemporary(e.Name()) }

// removeTemporaries removes the temporary files of a killed process.
func (r *Run) removeTemporaries() error {
	return filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && lock.Is(d.Name(), lockName) {
			return fs.SkipDir
		}
		if err == nil && isTemporary(d) {
			return os.Remove(path)
		}
		return err
	})
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckName returns an error for a name that is unsuitable for a folder or a file.
func CheckName(name string) error {
	if !plainName.MatchString(name) {
		return fmt.Errorf("%q is not a folder's name; want letters, digits, '.', '_' and '-', a letter or digit first", name)
	}
	return nil
}
