// Package rundir owns the folder of a training run: it names, writes and reads the files in it, so that a run that is
// killed at any moment can be continued.
//
// One process at a time holds a run. Files are replaced as a whole: the new content
// goes to a temporary file, which is synced and renamed, so that there is always a
// complete version, and the one before it under NAME.prev where that is wanted. Logs
// grow by one JSON object per line; continuing a run takes out of them what came
// after the step from which it continues.
package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
	"github.com/unravel-ml/unravel/internal/tfevents"
)

// Config is the name of the file that makes a folder a run.
const Config = "config.yaml"

// lockName is the name of the file that is locked while a process holds the run.
const lockName = ".lock"

var (
	// ErrExists is returned by Create for a folder that holds a run already.
	ErrExists = errors.New("the folder already holds a run")
	// ErrNoRun is returned by Open and View for a folder that holds no run.
	ErrNoRun = errors.New("no run there")
	// ErrLocked is returned by Create and Open while another process holds the run.
	ErrLocked = errors.New("another process holds the run")
	// ErrMoved is returned when a run is written whose folder is no longer where it was opened.
	ErrMoved = errors.New("the run's folder was moved or deleted while the run was open")
)

// Run is an open run.
type Run struct {
	dir  string
	lock *lock.File  // nil: a view
	self fs.FileInfo // the folder as it was opened; nil: a view
}

// Create begins a run in a folder, which is made if it is missing. It must not hold
// anything yet.
func Create(dir string) (*Run, error) {
	if err := disk.MakeDir(dir); err != nil {
		return nil, fmt.Errorf("creating the run's folder: %w", err)
	}
	if err := checkEmpty(dir); err != nil { // before a lock file is left there
		return nil, err
	}
	r, err := hold(dir, NewWatch())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(checkEmpty(dir), r.removeTemporaries()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Open continues a run: it takes hold of a folder that holds one.
func Open(dir string) (*Run, error) { return NewWatch().Open(dir) }

// Watch remembers the heartbeats of claims that it has seen in folders, so that runs of dead machines can be taken over where locks do not
// work between machines.
type Watch struct{ locks *lock.Watch }

// NewWatch returns a Watch that has seen nothing.
func NewWatch() *Watch { return &Watch{lock.NewWatch()} }

// Open is [Open], and takes over a run whose holder the watch has seen to be dead.
func (w *Watch) Open(dir string) (*Run, error) {
	if _, err := View(dir); err != nil {
		return nil, err
	}
	r, err := hold(dir, w)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.removeTemporaries(), r.renew()); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// renew replaces the files that grow by copies, if the run was taken over: whoever held it may have them open.
func (r *Run) renew() error {
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
		text, err := r.Read(e.Name())
		if err == nil {
			err = r.Write(e.Name(), Bytes(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenPatiently is [Open], which waits for a moment to see whether another machine's holder is alive, where only a claim says that there is one.
func OpenPatiently(ctx context.Context, dir string) (*Run, error) {
	w := NewWatch()
	for {
		r, err := w.Open(dir)
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

// doubtPause is the time between two looks at a heartbeat.
const doubtPause = 500 * time.Millisecond

// View opens a run for reading, also while another process holds it.
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
	return &Run{dir: dir}, err
}

func hold(dir string, w *Watch) (*Run, error) {
	held, err := w.locks.Try(filepath.Join(dir, lockName))
	if err != nil {
		return nil, lockError(dir, err)
	}
	self, err := os.Stat(dir)
	if err != nil {
		return nil, errors.Join(err, held.Unlock())
	}
	return &Run{dir, held, self}, nil
}

// Holding returns a context that ends with its parent, or when another process has taken the run over; the cause is then [ErrLocked].
func (r *Run) Holding(parent context.Context) (context.Context, context.CancelFunc) {
	if r.lock == nil || r.lock.Lost() == nil {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancelCause(parent)
	lost := r.lock.Lost()
	go func() {
		select {
		case <-lost:
			cancel(lockError(r.dir, lock.ErrLost))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// temporary returns the folder in which a file is written before it is renamed into its place: if the run is claimed, one that is there only
// while this process has the claim.
func (r *Run) temporary(name string) string {
	if dir := r.lock.Dir(); dir != "" {
		return dir
	}
	return filepath.Dir(r.Path(name))
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
func (r *Run) Read(name string) ([]byte, error) { return os.ReadFile(r.Path(name)) }

// Write replaces a file of the run by what the function writes; its folder is made
// if need be ("figures/loss.png"). After an error the file is as it was before.
func (r *Run) Write(name string, write func(io.Writer) error) error {
	return r.replace(name, write, false)
}

// WriteKeep is Write, but the version that was there before stays under NAME.prev.
func (r *Run) WriteKeep(name string, write func(io.Writer) error) error {
	return r.replace(name, write, true)
}

// WriteLast is [Run.WriteKeep] with more versions: the last so many, the new one included, stay under the names of [Version];
// older ones go.
func (r *Run) WriteLast(name string, last int, write func(io.Writer) error) error {
	if last > 2 && r.Has(name) {
		for i := last - 1; i > 1; i-- {
			if err := r.rename(Version(name, i-1), Version(name, i)); err != nil {
				return err
			}
		}
	}
	if err := r.replace(name, write, last > 1); err != nil {
		return err
	}
	for i := max(last, 1); r.Has(Version(name, i)); i++ {
		if err := r.Remove(Version(name, i)); err != nil {
			return err
		}
	}
	return nil
}

// Version returns the name of a version of a file, by the number of newer ones: NAME, NAME.prev, NAME.prev2, NAME.prev3 ...
func Version(name string, newer int) string {
	switch newer {
	case 0:
		return name
	case 1:
		return name + disk.PrevSuffix
	}
	return fmt.Sprintf("%s%s%d", name, disk.PrevSuffix, newer)
}

// rename renames a file, if it is there.
func (r *Run) rename(from, to string) error {
	if err := r.prepare(to); err != nil {
		return err
	}
	err := r.move(r.Path(from), r.Path(to))
	if errors.Is(err, fs.ErrNotExist) && !r.Has(from) {
		return r.Held()
	}
	return err
}

// move renames a file; if the run is claimed, through the folder of the claim, which fails for one who lost it.
func (r *Run) move(from, to string) error {
	if dir := r.lock.Dir(); dir != "" {
		by := filepath.Join(dir, filepath.Base(to))
		if err := os.Rename(from, by); err != nil {
			return err
		}
		from = by
	}
	return os.Rename(from, to)
}

// Held returns an error if another process has taken the run over.
func (r *Run) Held() error {
	if r.lock == nil {
		return nil
	}
	if err := r.lock.Check(); err != nil {
		return lockError(r.dir, err)
	}
	return nil
}

func (r *Run) replace(name string, write func(io.Writer) error, keep bool) error {
	if err := r.prepare(name); err != nil {
		return err
	}
	err := disk.WriteFileBy(r.temporary(name), r.Path(name), write, keep)
	if err != nil && errors.Is(r.Held(), ErrLocked) {
		return fmt.Errorf("writing %s: %w", r.Path(name), r.Held())
	}
	if err != nil {
		moved := r.Present() // meanwhile
		if moved == nil && r.vanished(err) {
			moved = r.movedError()
		}
		if moved != nil {
			return fmt.Errorf("writing %s: %w", r.Path(name), moved)
		}
	}
	return err
}

// vanished reports whether a file was missing that had just been made in the run's folder: the folder is being emptied, and
// not gone yet.
func (r *Run) vanished(err error) bool {
	var link *os.LinkError
	var file *fs.PathError
	inside := func(path string) bool { return strings.HasPrefix(path, r.dir+string(filepath.Separator)) }
	return errors.Is(err, fs.ErrNotExist) &&
		(errors.As(err, &link) && inside(link.Old) || errors.As(err, &file) && inside(file.Path))
}

func (r *Run) movedError() error {
	return fmt.Errorf("%s: %w; continue it with --resume where it is now, or train it again", r.dir, ErrMoved)
}

// prepare makes the folder of a file that is to be written: below that of the run, which must
// be there, and without links.
func (r *Run) prepare(name string) error {
	if err := r.checkName(name); err != nil {
		return err
	}
	if err := r.Present(); err != nil {
		return fmt.Errorf("writing %s: %w", r.Path(name), err)
	}
	parts := strings.Split(path.Clean(filepath.ToSlash(name)), "/")
	for i := range len(parts) - 1 {
		dir := r.Path(strings.Join(parts[:i+1], "/"))
		if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("writing %s: %w", r.Path(name), err)
		}
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("writing %s: %w", r.Path(name), errors.Join(err, fmt.Errorf("%s is not a folder of this run, or a link to one; remove it", dir)))
		}
	}
	return nil
}

// Present reports an error if the folder of an open run is no longer where it was.
func (r *Run) Present() error {
	if r.self == nil {
		return nil
	}
	info, err := os.Stat(r.dir)
	if err == nil && os.SameFile(info, r.self) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.movedError()
}

// checkName refuses to write outside the run, or without holding it.
func (r *Run) checkName(name string) error {
	if r.lock == nil {
		return fmt.Errorf("writing %s: the run is not open for writing", r.Path(name))
	}
	if first, _, _ := strings.Cut(filepath.ToSlash(name), "/"); !filepath.IsLocal(filepath.FromSlash(name)) || name == "." || lock.Is(first, lockName) {
		return fmt.Errorf("writing %q: not the name of a file inside the run's folder %s", name, r.dir)
	}
	return nil
}

// Remove removes a file of the run, if it is there.
func (r *Run) Remove(name string) error {
	if err := r.prepare(name); err != nil {
		return err
	}
	path := r.Path(name)
	if dir := r.lock.Dir(); dir != "" && r.Has(name) { // it goes into the folder of the claim first, which fails for one who lost it
		gone := filepath.Join(dir, filepath.Base(name))
		if err := os.Rename(path, gone); err != nil {
			return errors.Join(r.Held(), err)
		}
		path = gone
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Restore makes the version that WriteKeep kept the current one again, for when the
// current one turns out to be damaged.
func (r *Run) Restore(name string) error { return r.RestoreVersion(name, 1) }

// RestoreVersion is [Run.Restore] for one of the versions of [Run.WriteLast].
func (r *Run) RestoreVersion(name string, newer int) error {
	if err := r.prepare(name); err != nil {
		return err
	}
	path := r.Path(name)
	if err := r.move(r.Path(Version(name, newer)), path); err != nil {
		return fmt.Errorf("restoring %s: %w", path, err)
	}
	return disk.SyncDir(filepath.Dir(path))
}

// checkEmpty refuses a folder that holds anything but the lock and what a run that
// was killed before it had a config left.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	other := ""
	for _, e := range entries {
		switch {
		case e.Name() == Config:
			return fmt.Errorf("%s: %w; continue it, choose another folder, or remove it", dir, ErrExists)
		case !lock.Is(e.Name(), lockName) && !isTemporary(e):
			other = e.Name()
		}
	}
	if other != "" {
		return fmt.Errorf("%s: the folder is not empty (it holds %s) and holds no run; choose another folder", dir, other)
	}
	return nil
}

func isTemporary(e fs.DirEntry) bool {
	return e.Type().IsRegular() && disk.IsTemporary(e.Name())
}

// removeTemporaries removes what a process that was killed was writing.
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

// CheckName reports a name that is not fit for a folder or a file.
func CheckName(name string) error {
	if !plainName.MatchString(name) {
		return fmt.Errorf("%q is not a folder's name; want letters, digits, '.', '_' and '-', a letter or digit first", name)
	}
	return nil
}
