package index

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
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
	return must.Get(List(t.Context(), dir))(t)
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
	if result("dlsbd") != e.Metrics[0].Value || result("fit.reconstruction") != e.Fit.Reconstruction ||
		result("fit.converged") != 0 || r.Hash != e.Hash ||
		r.Machine != e.Record.Machine || !(math.Abs(r.Seconds-e.Record.Seconds) <= 1e-9) || r.Version != e.Record.Version || r.State != sweep.Finished {
		t.Errorf("%+v\n%+v", r, e)
	}
	must.EqualSlices(t, varyingKeys(runs), []string{"name", "seed"}, "varying")
	if got := varyingKeys(nil); got != nil {
		t.Errorf("varying keys of nothing: %v", got)
	}
}

// Results edited in place count as edited, even if the file keeps its size and time. They are no results.
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
	if r := list(t, dir)[0]; r.State != sweep.Damaged || !strings.Contains(r.Problem, "the run did not write it so") ||
		r.Results.Len() != 0 {
		t.Errorf("%s, %s, %v", r.State, r.Problem, r.Results)
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
	if len(runs) != 3 || runs[0].State != sweep.Failed || runs[0].Problem != "why" || runs[0].Results.Len() != 0 ||
		runs[1].State != sweep.Damaged || runs[2].State != sweep.Finished {
		t.Fatalf("%+v %+v %+v", runs[0], runs[1], runs[2])
	}
	path := filepath.Join(dir, File)
	sound := must.Read(t, path)
	for what, text := range map[string]string{
		"empty": "", "older": mark + "0\nx", "newer": mark + "99\n", "cut off": string(sound[:len(sound)/2]), "only the header": header,
	} {
		must.Write(t, path, text)
		if again := list(t, dir); !reflect.DeepEqual(again, runs) {
			t.Errorf("%s: %+v", what, again)
		}
		must.EqualSlices(t, must.Read(t, path), sound, what)
	}
	must.OK(t, os.Remove(path))
	if again := list(t, dir); !reflect.DeepEqual(again, runs) {
		t.Errorf("removed: %+v", again)
	}
	must.EqualSlices(t, listOf(t, dir), []string{".lock", File, "seed1", "seed2", "seed3"}, "files")
}

// listOf returns the names in a folder.
func listOf(t *testing.T, dir string) (names []string) {
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		names = append(names, e.Name())
	}
	return names
}

// A saved list has all that [Read] returns, and runs share equal settings and names.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "18446744073709551615")
	must.OK(t, rundir.RecordFailure(filepath.Join(dir, "seed0"), errors.New("quoted \"why\"\n\\ <&>"),
		sweep.Read(filepath.Join(dir, "seed0")).Record.Begun))
	must.Write(t, filepath.Join(dir, "x", "config.yaml"), "name: [")
	list(t, dir)
	runs := list(t, dir)
	for _, r := range runs {
		if want := Read(filepath.Join(dir, r.Dir), r.Dir); !reflect.DeepEqual(r, want) {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if len(runs) != 4 || runs[0].Settings.kind != runs[1].Settings.kind || runs[1].Results.names != runs[2].Results.names {
		t.Errorf("%d runs, which should share settings and names", len(runs))
	}
}

// A changed byte in the file does not change the runs.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "2")
	list(t, dir)
	sound := must.Read(t, filepath.Join(dir, File))
	for i := len(header); i < len(sound); i++ {
		flipped := bytes.Clone(sound)
		flipped[i] ^= 1 << (i % 7)
		if entries, err := decode(flipped); !errors.Is(err, errDamaged) {
			t.Fatalf("byte %d: %v, %v", i, entries, err)
		}
	}
}

// Another program's file remains unchanged.
func TestIndexForeign(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, File)
	for _, text := range []string{"junk", "unravel list", "\x00"} {
		must.Write(t, path, text)
		_, err := List(t.Context(), dir)
		if !errors.Is(err, errForeign) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v", text, err)
		}
		must.Equal(t, string(must.Read(t, path)), text, text)
	}
	must.OK(t, errors.Join(os.Remove(path), os.Mkdir(path, 0o777)))
	if _, err := List(t.Context(), dir); !errors.Is(err, errForeign) {
		t.Errorf("a folder: error %v", err)
	}
	refused := filepath.Join(dir, "x\x00") // no system opens such a path
	if _, err := load(refused); err == nil || errors.Is(err, errForeign) || errors.Is(err, errDamaged) {
		t.Errorf("an unreadable file: error %v", err)
	}
}

// Several programs may list runs at once.
func TestIndexTogether(t *testing.T) {
	dir := t.TempDir()
	makeRuns(t, dir, "0", "1", "2")
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			if runs, err := List(t.Context(), dir); err != nil || len(runs) != 3 {
				t.Errorf("%v, %v", runs, err)
			}
		})
	}
	group.Wait()
}

func TestIndexMistakes(t *testing.T) {
	file := must.Write(t, filepath.Join(t.TempDir(), "file"), "")
	for _, dir := range []string{file, filepath.Join(file, "x"), filepath.Join(t.TempDir(), "none")} {
		if _, err := List(t.Context(), dir); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	if _, err := List(ctx, dir); !errors.Is(err, train.ErrStopped) {
		t.Error(err)
	}
}
