package index

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/datasets/catalog"
	"github.com/unravel-ml/unravel/internal/content"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

const tiny = `
name: tiny
dataset: {square: {size: 8, side: 2}}
model: {vae: {latent: 2, encoder: {mlp: {hidden: [4, 3]}}}}
losses: [{reconstruction: {}}, {kl: {weight: 1}}]
train: {epochs: 1, batch: 32, figures: false}
metrics: [dlsbd, mig]
`

// makeRuns makes a run for each seed.
func makeRuns(t *testing.T, dir string, seeds ...string) {
	t.Helper()
	var runs []sweep.Run
	for _, s := range seeds {
		c := must.Get(train.Load("tiny.yaml", []byte(tiny), "seed="+s))(t)
		r := must.Get(sweep.NewRun("seed"+s, c))(t)
		runs = append(runs, r)
	}
	must.Get(sweep.Execute(context.Background(), dir, runs, sweep.Options{}))(t)
}

func list(t *testing.T, dir string) []*Run {
	t.Helper()
	x := must.Get(Open(context.Background(), dir))(t)
	defer x.Close()
	return must.Get(x.Runs(context.Background()))(t)
}

func TestIndex(t *testing.T) {
	dir := t.TempDir()
	if runs := list(t, dir); len(runs) != 0 {
		t.Errorf("an empty folder: %v", runs)
	}
	makeRuns(t, dir, "0", "1")
	makeRuns(t, filepath.Join(dir, "below"), "2")
	runs := list(t, dir)
	if len(runs) != 3 || runs[0].Dir != "below/seed2" || runs[2].Dir != "seed1" {
		t.Fatalf("%v", runs)
	}
	r, e := runs[1], sweep.Read(filepath.Join(dir, "seed0"))
	for key, want := range map[string]string{"seed": "0", "model.vae.latent": "2", "model.vae.encoder.mlp.hidden": "[4, 3]", "losses.1.kl.weight": "1.0",
		"train.optimizer.adam.lr": "0.001", "dataset.square.side": "2", "name": "seed0", "losses.0.reconstruction.likelihood": "gaussian"} {
		if got, _ := r.Settings.Get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	result := func(name string) float64 { v, _ := r.Results.Get(name); return v }
	if result("dlsbd") != e.Metrics[0].Value || result("fit.reconstruction") != e.Fit.Reconstruction || result("fit.converged") != 0 || r.Hash != e.Hash ||
		r.Machine != e.Record.Machine || !(math.Abs(r.Seconds-e.Record.Seconds) <= 1e-9) || r.Version != e.Record.Version || r.State != sweep.Finished {
		t.Errorf("%+v\n%+v", r, e)
	}
	must.EqualSlices(t, varyingKeys(runs), []string{"name", "seed"}, "varying")
	if got := varyingKeys(nil); got != nil {
		t.Errorf("varying of nothing: %v", got)
	}
}

// Results edited in place count as edited, even if the file keeps its size and time.
func TestEditedInPlace(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0")
	path := filepath.Join(dir, "seed0", rundir.MetricsFile)
	before := must.Get(os.Stat(path))(t)
	if content.Changed(before) == 0 {
		t.Skip("the system does not tell when inodes change")
	}
	list(t, dir)
	text := must.Read(t, path)
	text[bytes.IndexByte(text, '.')+1] ^= 1
	must.OK(t, errors.Join(os.WriteFile(path, text, 0o666), os.Chtimes(path, before.ModTime(), before.ModTime())))
	if r := list(t, dir)[0]; r.State != sweep.Damaged || !strings.Contains(r.Problem, "the run did not write it so") {
		t.Errorf("%s, %s", r.State, r.Problem)
	}
}

// A run with a part that this program lacks is read again by a program with this part, even if its files are unchanged.
func TestIndexOfOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0")
	all := catalog.Registry.Entries
	catalog.Registry.Entries = nil
	t.Cleanup(func() { catalog.Registry.Entries = all })
	if r := list(t, dir)[0]; r.State != sweep.Damaged || !strings.Contains(r.Problem, "which this program has not registered") {
		t.Errorf("%+v", r)
	}
	catalog.Registry.Entries = all
	if r := list(t, dir)[0]; r.State != sweep.Finished || r.Problem != "" {
		t.Errorf("%+v", r)
	}
}

// The index follows changes of the folders, and equals a new index.
func TestIndexFollows(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "2")
	list(t, dir)
	must.OK(t, os.RemoveAll(filepath.Join(dir, "seed0")))
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "seed1"), errors.New("why"), sweep.Read(filepath.Join(dir, "seed1")).Record.Begun))
	must.Write(t, filepath.Join(dir, "seed2", "config.yaml"), "name: [")
	makeRuns(t, dir, "3")
	runs := list(t, dir)
	if len(runs) != 3 || runs[0].State != sweep.Failed || runs[0].Problem != "why" || runs[0].Results.Len() != 0 || runs[1].State != sweep.Damaged || runs[2].State != sweep.Finished {
		t.Fatalf("%+v %+v %+v", runs[0], runs[1], runs[2])
	}
	for what, damage := range map[string]func(path string) error{
		"removed": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"older": func(path string) error {
			return errors.Join(os.Remove(path), execute(path, firstSchema+"PRAGMA user_version = 1"))
		},
		"newer": func(path string) error {
			return execute(path, "PRAGMA user_version = 99; DROP VIEW runs; CREATE TABLE runs (dir TEXT)")
		},
		"without some kinds": func(path string) error { return execute(path, "DELETE FROM kinds; DELETE FROM machines") },
		"cut off":            func(path string) error { return os.Truncate(path, 5000) },
		"changed": func(path string) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(make([]byte, 4096), 4096)
			return errors.Join(err, f.Close())
		},
	} {
		must.OK(t, damage(filepath.Join(dir, File)))
		if again := list(t, dir); !reflect.DeepEqual(again, runs) {
			t.Errorf("%s: %+v", what, again)
		}
	}
}

// firstSchema is the schema of the first version, which did not mark its databases.
const firstSchema = `
CREATE TABLE runs (dir TEXT PRIMARY KEY, stamp TEXT NOT NULL, hash TEXT, kernels TEXT) STRICT;
CREATE TABLE settings (dir TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (dir, key)) STRICT, WITHOUT ROWID;
CREATE TABLE results (dir TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY (dir, name)) STRICT, WITHOUT ROWID;
`

// The views of the database agree with the list for every run.
func TestIndexViews(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "18446744073709551615")
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "seed0"), errors.New("quoted \"why\"\n\\ <&>"), sweep.Read(filepath.Join(dir, "seed0")).Record.Begun))
	must.Write(t, filepath.Join(dir, "x", "config.yaml"), "name: [")
	list(t, dir)
	runs := list(t, dir)
	if len(runs) != 3 {
		t.Fatal(runs)
	}
	db := must.Get(sql.Open("sqlite", filepath.Join(dir, File)))(t)
	defer db.Close()
	text := func(query, dir string) string {
		rows := must.Get(db.Query(query, dir))(t)
		defer rows.Close()
		var lines []string
		for rows.Next() {
			var key, value string
			must.OK(t, rows.Scan(&key, &value))
			lines = append(lines, key+"="+value)
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	for _, r := range runs {
		var settings, results []string
		for key, value := range r.Settings.All() {
			settings = append(settings, key+"="+value)
		}
		for name, value := range r.Results.All() {
			results = append(results, name+"="+formatFloat(value))
		}
		slices.Sort(settings)
		slices.Sort(results)
		if got := text("SELECT key, value FROM settings WHERE dir = ?", r.Dir); got != strings.Join(settings, "\n") {
			t.Errorf("settings of %s:\n%s\nwant\n%s", r.Dir, got, strings.Join(settings, "\n"))
		}
		if got := text("SELECT name, value FROM results WHERE dir = ?", r.Dir); got != strings.Join(results, "\n") {
			t.Errorf("results of %s:\n%s\nwant\n%s", r.Dir, got, strings.Join(results, "\n"))
		}
		must.Equal(t, text("SELECT hash || state || coalesce(arch, ''), problem FROM runs WHERE dir = ?", r.Dir), r.Hash+string(r.State)+r.Machine.Arch+"="+r.Problem, r.Dir, r)
	}
}

// execute changes a database.
func execute(path, statements string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	_, err = db.Exec(statements)
	return errors.Join(err, db.Close())
}

// Another program's file remains unchanged.
func TestIndexForeign(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a database": func(path string) error { return execute(path, "CREATE TABLE thesis (chapter TEXT)") },
		"with tables of ours": func(path string) error {
			return execute(path, "CREATE TABLE runs (mine TEXT); INSERT INTO runs VALUES ('x')")
		},
		"with versions":     func(path string) error { return execute(path, "CREATE TABLE runs (dir TEXT); PRAGMA user_version = 1") },
		"with another mark": func(path string) error { return execute(path, "PRAGMA application_id = 7") },
		"with more than ours": func(path string) error {
			return execute(path, firstSchema+"CREATE TABLE more (x TEXT); PRAGMA user_version = 1")
		},
		"no database": func(path string) error { return os.WriteFile(path, []byte("junk"), 0o666) },
		"a damaged database": func(path string) error {
			return errors.Join(execute(path, "CREATE TABLE a (b TEXT)"), os.Truncate(path, 5000))
		},
		"a text like database": func(path string) error { return os.WriteFile(path, []byte("SQLite format 3\x00"), 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, File)
			must.OK(t, make(path))
			before := must.Read(t, path)
			if _, err := Open(context.Background(), dir); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v", err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("it was changed: %v", err)
			}
		})
	}
}

// Several programs may list runs at once.
func TestIndexTogether(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "2")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			x, err := Open(context.Background(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer x.Close()
			if runs, err := x.Runs(context.Background()); err != nil || len(runs) != 3 {
				t.Errorf("%v, %v", runs, err)
			}
		})
	}
	group.Wait()
}

func TestIndexMistakes(t *testing.T) {
	file := must.Write(t, filepath.Join(t.TempDir(), "file"), "")
	for _, dir := range []string{file, filepath.Join(file, "x"), filepath.Join(t.TempDir(), "none")} {
		if _, err := Open(context.Background(), dir); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if _, err := Open(ctx, dir); !errors.Is(err, train.ErrStopped) {
		t.Error(err)
	}
}
