package mlflow

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
)

// copied are the files of a run that are copied where links are not wanted: what is small. Figures are, too.
var copied = []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile, rundir.ReportFile, rundir.LogFile}

// artifacts makes a folder hold links to the files of a run, or copies of some.
func (w *writer) artifacts(folder, into string) error {
	files, err := runFiles(folder)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, name := range files {
		source, target := filepath.Join(folder, filepath.FromSlash(name)), filepath.Join(into, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o777); err != nil {
			return err
		}
		small := slices.Contains(copied, name) || strings.HasPrefix(name, rundir.FiguresDir+"/")
		if !w.options.Copy && !w.linkless {
			err := link(source, target)
			if err == nil {
				wanted[name] = true
				continue
			}
			w.linkless = true
			w.note("there are no links here (%v): the store has copies of results and figures, and no weights", err)
		}
		if !small {
			continue
		}
		wanted[name] = true
		if err := copyFile(source, target); err != nil {
			return err
		}
	}
	return removeStale(folder, into, wanted)
}

// runFiles lists the files of a run and its folders, by paths with slashes, without links, hidden and unfinished ones.
func runFiles(folder string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && !disk.IsTemporary(path.Base(name)):
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// link makes a link, in place of what the store had there.
func link(source, target string) error {
	if old, err := os.Readlink(target); err == nil && old == source {
		return nil
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(source, target)
}

// copyFile copies a file that is not there yet, or has another size or time.
func copyFile(source, target string) (err error) {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if old, err := os.Lstat(target); err == nil {
		if old.Mode().IsRegular() && old.Size() == info.Size() && old.ModTime().Equal(info.ModTime()) {
			return nil
		}
		if err := os.Remove(target); err != nil {
			return err
		}
	}
	from, err := disk.Open(source)
	if err != nil {
		return err
	}
	defer from.Close() // it was only read
	to, err := disk.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Chtimes(target, info.ModTime(), info.ModTime())
}

// removeStale removes links to files of the run that are not wanted. Other files are MLflow's users'.
func removeStale(folder, into string, wanted map[string]bool) error {
	return filepath.WalkDir(into, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		name, err := filepath.Rel(into, path)
		if err != nil || wanted[filepath.ToSlash(name)] {
			return err
		}
		if target, err := os.Readlink(path); err == nil && target == filepath.Join(folder, name) {
			return os.Remove(path)
		}
		return nil
	})
}
