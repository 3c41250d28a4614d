// Package mlflow writes runs as a file store of MLflow, so that its page and its programs show them.
//
// A store is a folder with a folder for each experiment, and in that one for each run: meta.yaml, and files named after
// parameters, metrics and tags (mlflow/store/tracking/file_store.py). The runs of one folder are an experiment. Ids come from the
// paths of folders, so that runs that are written again are updated in place; what MLflow's own users changed stays: names,
// tags of their own, runs and experiments that they deleted.
package mlflow

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Names of files and folders of a store.
const (
	metaFile    = "meta.yaml"
	trash       = ".trash"
	defaultID   = "0"
	paramsDir   = "params"
	metricsDir  = "metrics"
	tagsDir     = "tags"
	artifactDir = "artifacts"
)

// Options say how runs are written.
type Options struct {
	Copy bool // results and figures are copied into the store; otherwise all files of the runs are linked
}

// Summary says what was written.
type Summary struct {
	Runs, Changed int      // runs in the store, and those of them that were new or had changed
	Experiments   int      // of these runs
	Notes         []string // what is not as it was asked for
}

// Write writes runs of a folder to a store, which is made if it is missing. Damaged runs are left out. Runs whose files cannot be read are left
// out too, and the error names them.
func Write(ctx context.Context, store, dir string, runs []*index.Run, o Options) (sum Summary, err error) {
	if err := disk.CheckDir(store); err != nil {
		return sum, err
	}
	w := &writer{options: o, experiments: map[string]string{}, holders: rundir.NewHolders()}
	if w.store, err = realPath(store); err != nil {
		return sum, err
	}
	if w.dir, err = realPath(dir); err != nil {
		return sum, err
	}
	if err := w.check(); err != nil {
		return sum, err
	}
	unlock, err := rundir.Lock(ctx, w.store)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := w.prepare(); err != nil {
		return sum, err
	}
	damaged := 0
	var failed error
	for _, r := range runs {
		if ctx.Err() != nil {
			return sum, context.Cause(ctx)
		}
		if r.State == sweep.Damaged {
			damaged++
			continue
		}
		changed, err := w.run(r)
		if errors.As(err, new(unreadableError)) {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.Dir, err))
			continue
		}
		if err != nil {
			return sum, fmt.Errorf("%s: %w", r.Dir, err)
		}
		sum.Runs++
		if changed {
			sum.Changed++
		}
	}
	if damaged > 0 {
		w.note("left out %d damaged runs; `unravel runs --filter state=damaged --json` says why they are", damaged)
	}
	sum.Experiments, sum.Notes = len(w.experiments), w.notes
	return sum, failed
}

// writer writes runs to one store.
type writer struct {
	store, dir  string // without links, absolute
	options     Options
	experiments map[string]string // by folder: their ids
	names       map[string]string // ids of the experiments in the store by name
	holders     *rundir.Holders
	notes       []string
	linkless    bool // the file system has no links
}

func (w *writer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// realPath returns the absolute path of a folder without links, also of one that is missing.
func realPath(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	found, err := filepath.EvalSymlinks(whole)
	if errors.Is(err, fs.ErrNotExist) {
		if parent := filepath.Dir(whole); parent != whole {
			if parent, err = realPath(parent); err == nil {
				found = filepath.Join(parent, filepath.Base(whole))
			}
		}
	}
	return found, err
}

// check refuses a store where its files would be taken for runs, or beside other files.
func (w *writer) check() error {
	if rel, err := filepath.Rel(w.dir, w.store); err == nil && filepath.IsLocal(rel) && !strings.HasPrefix(rel, ".") || w.dir == w.store {
		return fmt.Errorf("%s is in the folder of runs %s; want a store elsewhere", w.store, w.dir)
	}
	entries, err := os.ReadDir(w.store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	other := ""
	for _, e := range entries {
		if _, err := os.Lstat(filepath.Join(w.store, e.Name(), metaFile)); err == nil || e.Name() == trash {
			return nil
		}
		if !strings.HasPrefix(e.Name(), ".") {
			other = e.Name()
		}
	}
	if other != "" {
		return fmt.Errorf("%s holds other files, such as %s, and is no store of MLflow; want a store, or an empty or missing folder", w.store, other)
	}
	return nil
}

// prepare makes what every store has, and reads which experiments are there.
func (w *writer) prepare() error {
	if err := os.MkdirAll(filepath.Join(w.store, trash), 0o777); err != nil {
		return err
	}
	w.names = map[string]string{}
	entries, err := os.ReadDir(w.store)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if m, err := readMeta(filepath.Join(w.store, e.Name(), metaFile)); err == nil {
			w.names[m.text("name")] = e.Name()
		}
	}
	if w.names["Default"] == "" { // every page of MLflow begins with it
		return w.writeExperiment(defaultID, "Default", time.Now())
	}
	return nil
}

// experiment returns the id of the experiment that has the runs of a folder, which is made if it is missing. It returns "" if
// MLflow's users have deleted it.
func (w *writer) experiment(folder string, begun time.Time) (string, error) {
	if id, ok := w.experiments[folder]; ok {
		return id, nil
	}
	id := experimentID(folder)
	if _, err := os.Lstat(filepath.Join(w.store, trash, id)); err == nil {
		w.note("left out the runs in %s: their experiment %s was deleted in MLflow; restore it there to have them", folder, id)
		w.experiments[folder] = ""
		return "", nil
	}
	if _, err := os.Lstat(filepath.Join(w.store, id, metaFile)); err != nil {
		name := filepath.Base(w.dir)
		if rel, err := filepath.Rel(w.dir, folder); err == nil && filepath.IsLocal(rel) {
			name = path.Join(name, filepath.ToSlash(rel))
		} else {
			name = filepath.Base(folder)
		}
		if other := w.names[name]; other != "" && other != id {
			name = folder
		}
		if err := w.writeExperiment(id, cut(name, maxExperimentName), begun); err != nil {
			return "", err
		}
		w.names[name] = id
	}
	w.experiments[folder] = id
	return id, nil
}

// writeExperiment makes an experiment.
func (w *writer) writeExperiment(id, name string, created time.Time) error {
	dir := filepath.Join(w.store, id)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	ms := created.UnixMilli()
	_, err := put(filepath.Join(dir, metaFile), meta{
		{"artifact_location", fileURI(dir)}, {"creation_time", ms}, {"experiment_id", id},
		{"last_update_time", ms}, {"lifecycle_stage", "active"}, {"name", name},
	}.encode())
	return err
}

// experimentID is the id of the experiment of a folder: 18 digits, as MLflow's own have.
func experimentID(folder string) string {
	sum := sha256.Sum256([]byte("experiment " + filepath.ToSlash(folder)))
	const least = 100_000_000_000_000_000
	return fmt.Sprint(least + binary.BigEndian.Uint64(sum[:])%(9*least))
}

// runID is the id of the run of a folder: 32 hexadecimal digits, as MLflow's own have.
func runID(folder string) string {
	sum := sha256.Sum256([]byte("run " + filepath.ToSlash(folder)))
	return hex.EncodeToString(sum[:16])
}

// fileURI returns the file: address of an absolute path.
func fileURI(p string) string {
	p = filepath.ToSlash(p)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // of Windows, with a drive
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
