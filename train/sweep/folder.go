package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// State is the state of a run's folder.
type State string

// The states of a run.
const (
	Unfinished State = "unfinished" // not started, running, or interrupted
	Finished   State = "finished"
	Failed     State = "failed"
	Damaged    State = "damaged" // the config cannot be read; in package index, also: the results cannot be read

	// States of an unfinished run, see index.Live.
	Running State = "running" // a process holds it
	Waiting State = "waiting" // not started: a sweep has yet to reach it
	Stopped State = "stopped" // interrupted; it can be resumed
)

// Unfinished reports whether a run has not ended.
func (s State) Unfinished() bool {
	return s == Unfinished || s == Running || s == Waiting || s == Stopped
}

// Entry describes the folder of a run.
type Entry struct {
	Dir    string
	Name   string // path of the folder, relative to the scanned folder
	State  State
	Hash   string // identity of the run: ConfigHash, or another hash if Other is not empty
	Config train.Config

	ConfigHash string // hash of the config alone, see [train.Config.Hash]
	Other      string // why the run differs from a run of its config alone; empty: no difference

	Record  *rundir.Record   // nil: the run has not ended
	Metrics []metrics.Result // results of a finished run
	Fit     *train.Fit       // fit of a finished run with a decoder
	Problem error            // why the run is damaged, failed or does not count as finished

	// Stored holds the results that the sources of a table stored for a run without a folder, by file.
	Stored map[string]json.RawMessage

	known *knownConfig // nil: damaged
}

// Damaged reports whether the run's config or one of its result files is damaged.
func (e *Entry) Damaged() bool {
	return e.State == Damaged || e.State == Unfinished && errors.As(e.Problem, new(*rundir.DamagedError))
}

// Read reads a run's folder.
func Read(dir string) Entry { return new(Reader).read(dir) }

func (e *Entry) readResults() error {
	if err := e.readJSON(rundir.MetricsFile, &e.Metrics); err != nil {
		return err
	}
	if len(e.Metrics) < len(e.Config.Metrics.Final) {
		return fmt.Errorf("%s has %s; the config names %d",
			filepath.Join(e.Dir, rundir.MetricsFile), wording.Count(len(e.Metrics), "metric"), len(e.Config.Metrics.Final))
	}
	err := e.readJSON(rundir.FitFile, &e.Fit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (e *Entry) readJSON(name string, into any) error {
	text, err := rundir.ReadJSON(e.Dir, name, into)
	if err == nil && !e.Record.Wrote(name, text) {
		err = &rundir.DamagedError{Path: filepath.Join(e.Dir, name), Err: errors.New("the run did not write it so")}
	}
	return err
}

// Find returns the folders of runs by hash, preferring finished ones.
func Find(entries []Entry) map[string]Entry {
	found := map[string]Entry{}
	for _, e := range entries {
		if old, ok := found[e.Hash]; e.State != Damaged && (!ok || old.State != Finished && e.State == Finished) {
			found[e.Hash] = e
		}
	}
	return found
}

// Others lists the folders with the config of a planned run that belong to another run, and says how those runs differ.
func Others(entries []Entry, runs []Run) (list []string) {
	found, others := Find(entries), map[string]Entry{}
	for _, e := range entries {
		if e.Other != "" {
			others[e.ConfigHash] = e
		}
	}
	for _, r := range runs {
		if e, ok := others[r.Hash]; ok && found[r.Hash].Dir == "" {
			list = append(list, fmt.Sprintf("%s: %s: it is not the run %s, though it has its config; train %[3]s in another folder", e.Dir, e.Other, r.Name))
		}
	}
	return list
}

const maxNames = 1000 // maximum number of names to try for the folder of a run

// createFolders checks the runs, as [checkRuns] does, and creates a folder with the config for each run without one. A
// lock keeps other sweeps from creating folders at the same time. When the context ends, the error is train.ErrStopped.
func createFolders(ctx context.Context, dir string, all []Run, retry, elsewhere bool, log *slog.Logger) (dirs []string,
	err error) {
	if err := checkRuns(ctx, dir, all, retry, elsewhere, log); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && ctx.Err() != nil {
			dirs, err = nil, train.ErrStopped
		}
	}()
	lock, err := rundir.Hold(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	entries, err := Scan(dir)
	if err != nil {
		return nil, err
	}
	for _, other := range Others(entries, all) {
		log.Log(ctx, plain.LevelNote, fmt.Sprint(other), "event", "other")
	}
	found := Find(entries)
	for _, r := range all {
		if e, ok := found[r.Hash]; ok {
			dirs = append(dirs, e.Dir)
			continue
		}
		path, err := createFolder(ctx, dir, r, lock, func(_ *rundir.Run, write func() error) error { return write() })
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, path)
	}
	return dirs, nil
}

// createFolder creates the folder of a run, with a number if its name is taken. wrap encloses writing the config.
func createFolder(ctx context.Context, dir string, r Run, lock *rundir.Folder,
	wrap func(store *rundir.Run, write func() error) error) (string, error) {
	text, err := r.Config.Encode()
	if err != nil {
		return "", err
	}
	tries := 0
	name := Free(r.Name, func(name string) bool {
		tries++
		return tries < maxNames && !isEmpty(filepath.Join(dir, name))
	})
	// checked after choosing the name, so that no other process creates the run under another name
	if err := lock.Held(); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	store, err := rundir.CreatePatiently(ctx, path)
	if err != nil {
		return "", err
	}
	write := func() error { return store.Write(rundir.Config, rundir.Bytes(text)) }
	return path, errors.Join(wrap(store, write), store.Close())
}

// isEmpty reports whether a folder is missing, or only has the files that a killed process leaves.
func isEmpty(path string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		begun := slices.ContainsFunc(entries, func(o os.DirEntry) bool { return strings.HasPrefix(o.Name(), ".begin") })
		if e.Name()[0] != '.' && !(begun && e.Name() == rundir.TrialFile) {
			return false
		}
	}
	return true
}
