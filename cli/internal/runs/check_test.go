package runs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/runs"
	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// trainSmall trains a run of a few milliseconds in the folder run.
func trainSmall(t *testing.T) {
	t.Helper()
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	t.Chdir(t.TempDir())
	must.Write(t, "tiny.yaml", clitest.Tiny)
	clitest.OK(t, "train", "tiny.yaml", "--run", "run")
}

// checkWhole wants a run without differences.
func checkWhole(t *testing.T, after string) {
	t.Helper()
	if o := clitest.Run(t, "check", "run"); o.Code != 0 || !strings.HasPrefix(o.Out, "run: as the run wrote it\n") {
		t.Errorf("after %s: %v", after, o)
	}
}

// The check finds a wrong bit in any file of a run, and missing and extra files. Edited results never count.
func TestCheckFinds(t *testing.T) {
	long.NotShort(t)
	trainSmall(t)
	checkWhole(t, "training")
	files := 0
	err := filepath.WalkDir("run", func(path string, e fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "run/")
		if err != nil || e.IsDir() || name == ".lock" {
			return err
		}
		files++
		text := must.Read(t, path)
		for _, at := range []int{0, len(text) / 2, len(text) - 2} {
			text[at] ^= 4
			must.Write(t, path, text)
			if o := clitest.Run(t, "check", "run"); o.Code != 1 || !strings.Contains(o.Out, "run: "+name+": changed") {
				t.Errorf("%s, byte %d: %v", name, at, o)
			}
			text[at] ^= 4
		}
		must.Write(t, path, text)
		if name == rundir.RecordFile {
			return nil
		}
		if err := os.Rename(path, "away"); err != nil {
			return err
		}
		if o := clitest.Run(t, "check", "."); name != rundir.Config && (o.Code != 1 || !strings.Contains(o.Out, "run: "+name+": missing")) {
			t.Errorf("%s is missing: %v", name, o)
		}
		return os.Rename("away", path)
	})
	if err != nil || files < 10 {
		t.Fatal(files, err)
	}
	checkWhole(t, "repairs")
	must.OK(t, os.Mkdir("run/mimosa", 0o777))
	must.Write(t, "run/mimosa/components.npy", "")
	var found runs.ComparedFiles
	if o := clitest.Run(t, "check", "run", "--json"); o.Code != 1 || json.Unmarshal([]byte(o.Out), &found) != nil ||
		len(found.Differences) != 1 || found.Differences[0].File != "mimosa/components.npy" {
		t.Error(o)
	}
}

// Edited results are not results of a finished run, and commands that read them report this.
func TestCheckEdited(t *testing.T) {
	trainSmall(t)
	must.OK(t, os.CopyFS("two", os.DirFS("run")))
	path := filepath.Join("run", rundir.MetricsFile)
	must.Write(t, path, append(must.Read(t, path), ' '))
	if o := clitest.Run(t, "runs", ".", "--filter", "state!=finished"); o.Code != 0 || !strings.Contains(o.Out, "run") ||
		strings.Contains(o.Out, "two") || !strings.Contains(o.Log, "the run did not write it so") {
		t.Error(o)
	}
	const warning = "files changed after the run: metrics.json (changed)"
	for _, args := range [][]string{{"eval", "--run", "run", "--metrics", "total-correlation", "--chance", "0"}, {"compare", "run", "two"}} {
		if o := clitest.Run(t, args...); !strings.Contains(o.Log, warning) {
			t.Errorf("%v: %v", args, o)
		}
	}
	if o := clitest.OK(t, "train", "--run", "run", "--resume"); !strings.Contains(o.Log, path+": changed, and not as the run wrote it") {
		t.Error(o)
	}
	checkWhole(t, "a repair by --resume")
}

// A run does not resume from an edited hierarchy of an earlier stage.
func TestCheckLearned(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Write(t, "run.yaml", clitest.LearnedExperiment)
	clitest.OK(t, "train", "run.yaml", "--run", "run")
	checkWhole(t, "training")
	path := filepath.Join("run", "mimosa", rundir.ComponentsFile)
	good := must.Read(t, path)
	bad := slices.Clone(good)
	bad[len(bad)-4] ^= 1
	must.Write(t, path, bad)
	if o := clitest.Run(t, "check", "run"); o.Code != 1 || !strings.Contains(o.Out, "mimosa/components.npy: changed") {
		t.Error(o)
	}
	if o := clitest.Run(t, "train", "--run", "run", "--resume", "train.epochs=3"); o.Code != 1 ||
		!strings.Contains(o.Log, path+": changed; want the original file") {
		t.Error(o)
	}
	must.Write(t, path, good)
	clitest.OK(t, "train", "--run", "run", "--resume", "train.epochs=3")
	checkWhole(t, "more epochs")
}

// Commands that write files of a run put the hashes into the record. Runs without hashes are valid.
func TestCheckHealthy(t *testing.T) {
	long.NotShort(t)
	trainSmall(t)
	for _, args := range []string{"eval --run run --metrics total-correlation --chance 0", "encode --run run",
		"encode --run run --out run/other.npy", "report --run run", "train --run run --resume", "train --run run --resume train.epochs=3"} {
		clitest.OK(t, strings.Fields(args)...)
		checkWhole(t, args)
	}
	must.Write(t, "run/notes.txt", "mine")
	if o := clitest.Run(t, "check", "run"); o.Code != 0 ||
		o.Out != "run: as the run wrote it\nrun: not written by the run: notes.txt, other-factors.npy, other.npy\n" {
		t.Error(o)
	}
	path := filepath.Join("run", rundir.RecordFile)
	var record map[string]any
	must.OK(t, json.Unmarshal(must.Read(t, path), &record))
	delete(record, "files")
	delete(record, "sum")
	old := must.Get(json.Marshal(record))(t)
	must.Write(t, path, old)
	if o := clitest.Run(t, "check", "run"); o.Code != 0 ||
		o.Out != "run: there is nothing to check against: the run failed, or an earlier version made it\n" {
		t.Error(o)
	}
	must.OK(t, os.Remove(path))
	if o := clitest.Run(t, "check", "run"); o.Code != 0 || o.Out != "run: there is nothing to check against: the run has not ended\n" {
		t.Error(o)
	}
}

// An imported run has hashes and has not ended.
func TestCheckImported(t *testing.T) {
	long.NotShort(t)
	trainSmall(t)
	clitest.OK(t, "export", "--run", "run", "--out", "weights.safetensors")
	must.OK(t, os.RemoveAll("run"))
	clitest.OK(t, "import", "--from", "weights.safetensors", "--run", "run")
	checkWhole(t, "import")
	if o := clitest.OK(t, "runs", ".", "--filter", "state=unfinished"); o.Out == "" {
		t.Error(o)
	}
	for _, name := range []string{rundir.Config, rundir.StateFile, rundir.CheckpointFile, rundir.RecordFile} {
		path := filepath.Join("run", name)
		text := must.Read(t, path)
		text[len(text)/2] ^= 4
		must.Write(t, path, text)
		if o := clitest.Run(t, "check", "run"); o.Code != 1 || !strings.Contains(o.Out, "run: "+name+": changed") {
			t.Errorf("%s: %v", name, o)
		}
		text[len(text)/2] ^= 4
		must.Write(t, path, text)
	}
	clitest.OK(t, "encode", "--run", "run")
	checkWhole(t, "encode")
	clitest.OK(t, "train", "--run", "run", "--resume")
	checkWhole(t, "training")
}

// The check finds data that changed after a run.
func TestCheckData(t *testing.T) {
	long.NotShort(t)
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	t.Chdir(t.TempDir())
	must.Write(t, "labels.csv", "kind\n"+strings.Repeat("1\n0\n", 32))
	must.Write(t, "run.yaml", "dataset: {square: {size: 8, side: 2}}\nmodel: {vae: {latent: 2, encoder: mlp}}\nsupervision: {labels: {file: labels.csv}}\nlosses: [reconstruction, kl]\ntrain: {epochs: 1, batch: 16, figures: false}\nmetrics: []\n")
	clitest.OK(t, "train", "run.yaml", "--run", "run")
	checkWhole(t, "training")
	must.Write(t, "labels.csv", "kind\n"+strings.Repeat("0\n1\n", 32))
	if o := clitest.Run(t, "check", "run"); o.Code != 1 ||
		!strings.Contains(o.Out, "supervision.labels.file: labels.csv has changed since the run began") {
		t.Error(o)
	}
}
