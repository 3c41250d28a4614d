// Package index lists the runs of a folder: their settings, results, durations and program versions. A file keeps the
// list, because reading many runs takes long. The folders are authoritative: the file is rebuilt from them if it is
// removed.
package index

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/progress"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

const (
	// maxChecked is the maximum number of runs with a check of all files of each run. With more runs, a run counts as
	// unchanged if the time of its folder is unchanged. This works because a run replaces its files, which changes this
	// time.
	maxChecked = 10000

	// settled is the minimum age of a folder's time. A later change then certainly gives a different time.
	settled = 2 * time.Second

	reportEvery = 1000 // runs
)

// entry is a run in the list.
type entry struct {
	*Run
	changed int64 // time of the last change of the folder; 0: the folder may have changed after it was read
}

// unsound reports whether a run must always be read again: damaged, or with unreadable files.
func (e *entry) unsound() bool {
	return e.State == sweep.Damaged || e.State == sweep.Unfinished && e.Problem != ""
}

// List lists the runs in a folder and below it, sorted by folder. It only reads runs that are new or changed since the
// last call, and then replaces the list in [File]. If the file cannot be read or written, List still returns the runs.
// If another program has made the file, the error is errForeign.
func List(ctx context.Context, dir string) ([]*Run, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	entries, err := update(ctx, dir)
	switch {
	case ctx.Err() != nil:
		return nil, train.ErrStopped
	case err != nil:
		return nil, fmt.Errorf("index of %s: %w", dir, err)
	}
	runs := make([]*Run, len(entries))
	for i, e := range entries {
		runs[i] = e.Run
	}
	return runs, nil
}

func update(ctx context.Context, dir string) ([]entry, error) {
	var known map[string]*entry
	loaded := make(chan struct{})
	unchanged := func(f sweep.Folder) *entry { // known run, if it counts as unchanged without checking its files
		<-loaded
		if e := known[f.Name]; len(known) > maxChecked && e != nil && e.changed == f.Changed && e.changed != 0 &&
			!e.unsound() {
			return e
		}
		return nil
	}
	var folders []sweep.Folder
	var lookErr error
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		folders, lookErr = sweep.Look(ctx, dir, func(f sweep.Folder) bool { return unchanged(f) != nil })
	}()
	old, loadErr := load(filepath.Join(dir, File))
	known = make(map[string]*entry, len(old))
	for i := range old {
		known[old[i].Dir] = &old[i]
	}
	close(loaded)
	<-looked
	if errors.Is(loadErr, errForeign) {
		return nil, loadErr
	}
	if lookErr != nil {
		return nil, lookErr
	}
	entries := make([]entry, len(folders))
	disk.Each(ctx, len(folders), func(i int) {
		e := unchanged(folders[i])
		if e == nil {
			e = known[folders[i].Name]
			if e == nil || e.unsound() || e.Stamp != Stamp(folderPath(dir, e.Dir)) {
				return
			}
		}
		entries[i] = *e
	})
	var changed []int
	for i := range entries {
		if entries[i].Run == nil {
			changed = append(changed, i)
		}
	}
	if ctx.Err() != nil || len(changed) == 0 && len(entries) == len(old) {
		return entries, ctx.Err()
	}
	err := readRuns(ctx, dir, folders, entries, changed)
	if loadErr == nil || errors.Is(loadErr, errDamaged) { // otherwise the file may belong to another program
		read := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.Run == nil }) // fewer if the context ended
		_ = save(dir, read)                                                                          // without it, the next call reads the runs again
	}
	return entries, err
}

func folderPath(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

// readRuns reads the folders at some positions into entries.
func readRuns(ctx context.Context, dir string, folders []sweep.Folder, entries []entry, positions []int) error {
	reader, shared := &sweep.Reader{}, newPool(entries)
	done := 0
	for part := range slices.Chunk(positions, reportEvery) {
		read, stamps := make([]sweep.Entry, len(part)), make([]string, len(part))
		start := time.Now()
		disk.Each(ctx, len(part), func(i int) {
			path := folderPath(dir, folders[part[i]].Name)
			stamps[i] = Stamp(path) // computed before reading the files, so the next update sees a concurrent change
			read[i] = reader.Read(path)
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for i, position := range part {
			f := folders[position]
			if start.Sub(time.Unix(0, f.Changed)) < settled {
				f.Changed = 0
			}
			entries[position] = entry{shared.run(f.Name, stamps[i], read[i]), f.Changed}
		}
		done += len(part)
		progress.Report(ctx, "reading runs", int64(done), int64(len(positions)))
	}
	return nil
}

// Stamp returns a text that changes with any file in a run's folder that [Read] or [List] reads. Inode times also reveal
// a change whose author restored the modification time.
func Stamp(path string) string {
	hash := fnv.New64a()
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile} {
		if info, err := os.Stat(filepath.Join(path, name)); err == nil {
			fmt.Fprintf(hash, "%x %x %x ", info.Size(), info.ModTime().UnixNano(), content.Changed(info))
		} else {
			fmt.Fprint(hash, "- ")
		}
	}
	return strconv.FormatUint(hash.Sum64(), 16)
}
