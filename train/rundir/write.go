package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/lock"
)

// Write replaces a file of the run with the output of a function, and creates missing folders ("figures/loss.png").
// After an error, the file keeps its previous content.
func (r *Run) Write(name string, write func(io.Writer) error) error {
	return r.replace(name, write, false)
}

// WriteLast is [Run.Write] with versions. It keeps the last versions, including the new one, under the names given by
// [Version], and removes older versions.
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

// Version returns the name of a version of a file: NAME, NAME.prev, NAME.prev2, NAME.prev3 ...
func Version(name string, newer int) string {
	switch newer {
	case 0:
		return name
	case 1:
		return name + disk.PrevSuffix
	}
	return fmt.Sprintf("%s%s%d", name, disk.PrevSuffix, newer)
}

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

// move renames a file, for a claimed run through the folder of the claim: without the claim it fails.
func (r *Run) move(from, to string) error {
	if dir := r.lock.Dir(); dir != "" {
		claimed := filepath.Join(dir, filepath.Base(to))
		if err := os.Rename(from, claimed); err != nil {
			return err
		}
		from = claimed
	}
	return os.Rename(from, to)
}

// Held returns an error if another process has taken over the run.
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
	// the temporary file of a claimed run is in the folder of the claim, which disappears with the claim
	folder := cmp.Or(r.lock.Dir(), filepath.Dir(r.Path(name)))
	err := disk.WriteFileBy(folder, r.Path(name), r.withHash(name, write), keep)
	if err == nil && name != RecordFile {
		return r.finishReplacement()
	}
	if err != nil && errors.Is(r.Held(), ErrLocked) {
		return fmt.Errorf("writing %s: %w", r.Path(name), r.Held())
	}
	if err != nil {
		moved := r.Present() // the folder may have been moved meanwhile
		if moved == nil && r.vanished(err) {
			moved = r.movedError()
		}
		if moved != nil {
			return fmt.Errorf("writing %s: %w", r.Path(name), moved)
		}
	}
	return err
}

// vanished reports whether a new file is missing, because another process is deleting the run's folder.
func (r *Run) vanished(err error) bool {
	var link *os.LinkError
	var file *fs.PathError
	inside := func(path string) bool { return strings.HasPrefix(path, r.dir+string(filepath.Separator)) }
	return errors.Is(err, fs.ErrNotExist) &&
		(errors.As(err, &link) && inside(link.Old) || errors.As(err, &file) && inside(file.Path))
}

func (r *Run) movedError() error {
	return fmt.Errorf("%s: %w; continue it with --resume where it is now, or train it again", r.dir, errMoved)
}

// prepare creates the folder for a new file. The folder must be below the existing folder of the run, without links.
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
			return fmt.Errorf("writing %s: %w", r.Path(name),
				errors.Join(err, fmt.Errorf("%s is not a folder of this run, or a link to one; remove it", dir)))
		}
	}
	return nil
}

// Present returns an error if the folder of an open run was moved or deleted.
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

// checkName returns an error for writing outside the run, or without holding the run.
func (r *Run) checkName(name string) error {
	if r.lock == nil {
		return fmt.Errorf("writing %s: the run is not open for writing", r.Path(name))
	}
	if first, _, _ := strings.Cut(filepath.ToSlash(name), "/"); !filepath.IsLocal(filepath.FromSlash(name)) ||
		name == "." || lock.Is(first, lockName) {
		return fmt.Errorf("writing %q: not the name of a file inside the run's folder %s", name, r.dir)
	}
	return nil
}

// Remove removes a file of the run, if it exists.
func (r *Run) Remove(name string) error {
	if err := r.prepare(name); err != nil {
		return err
	}
	if hashed(name) && r.Has(name) {
		if err := r.recordHash(name, ""); err != nil {
			return err
		}
	}
	path := r.Path(name)
	if dir := r.lock.Dir(); dir != "" && r.Has(name) { // the file first moves to the folder of the claim, so a process without the claim fails
		gone := filepath.Join(dir, filepath.Base(name))
		if err := os.Rename(path, gone); err != nil {
			return errors.Join(r.Held(), err)
		}
		path = gone
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.finishReplacement()
}

// RestoreVersion makes a version kept by [Run.WriteLast] the current one, because newer versions are damaged.
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
