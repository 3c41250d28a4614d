//go:build unix

package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// A job contains the settings from a sweep's environment. A task records missing features of its processor for its run.
// The processor of the submitting machine does not matter.
func TestTasksOfAnotherMachine(t *testing.T) {
	long.NotShort(t)
	file, dir := writeSweep(t, "seeds: [0, 1]\nset: {train.precision: mixed}\n")
	t.Setenv("UNRAVEL_KERNEL", "go")
	t.Setenv("UNRAVEL_DATA", "/d e")
	t.Setenv("UNRAVEL_CLAIMS", "always")
	t.Setenv("UNRAVEL_CLAIMS_AFTER", "30s")
	kubernetes := []string{"--on", "kubernetes", "--image", "i", "--volume", "c:" + filepath.Dir(filepath.Dir(file))}
	for _, c := range []struct{ args, want []string }{
		{[]string{"--on", "slurm"}, []string{"export UNRAVEL_DATA='/d e'\n", "export UNRAVEL_KERNEL=go\n", "export UNRAVEL_CLAIMS=always\n", "export UNRAVEL_CLAIMS_AFTER=30s\n"}},
		{kubernetes, []string{"UNRAVEL_DATA\n", "UNRAVEL_KERNEL\n", "UNRAVEL_CLAIMS\n", "value: always\n", "UNRAVEL_CLAIMS_AFTER\n", "value: 30s\n"}},
	} {
		o := startWith(t, func(cmd *exec.Cmd) { cmd.Dir = filepath.Dir(file) },
			append([]string{"sweep", file, "--out", dir, "--print"}, c.args...)...).end()
		for _, want := range c.want {
			if o.code != 0 || !strings.Contains(o.out, want) {
				t.Errorf("%v: %q is missing: %v", c.args, want, o)
			}
		}
	}
	for _, args := range [][]string{{"--", "-f.yaml"}, {"--out=-r", "--", "-f.yaml"}} {
		data := must.Read(t, file)
		must.Write(t, filepath.Join(filepath.Dir(file), "-f.yaml"), data)
		o := startWith(t, func(cmd *exec.Cmd) { cmd.Dir = filepath.Dir(file) },
			append([]string{"sweep", "--on", "slurm", "--print"}, args...)...).end()
		if o.code != 0 || !strings.Contains(o.out, " sweep ./-f.yaml --out ") || strings.Contains(o.out, "--out -r") {
			t.Errorf("a path that begins with a dash: %v", o)
		}
	}
	const here = "this processor lacks mixed precision"
	for _, args := range [][]string{{"--simulate", "nodes=1,cores=1"}, {"--dry-run", "--rehearse", "--on", "slurm"}} {
		if o := start(t, append([]string{"sweep", file, "--out", dir}, args...)...).end(); o.code != 0 || !strings.Contains(o.log, here) {
			t.Errorf("%v: %v", args, o)
		}
	}
	checkMistake(t, start(t, "sweep", file, "--out", dir).end(), 2, "train.precision") // runs on this machine
	if ui.Exists(dir) {
		t.Error("there is a folder")
	}
	if o := start(t, "sweep", file, "--out", dir, "--index", "0", "--of", "2", "--no-wait").end(); o.code != 1 ||
		strings.Count(o.out, "failed") != 2 {
		t.Errorf("a task: %v", o)
	}
	if text := must.Read(t, filepath.Join(dir, "seed0", "run.json")); !strings.Contains(string(text), "AVX512_BF16") {
		t.Errorf("the run says %s", text)
	}
}

// Tasks make their own runs first, then other runs, and end.
func TestTasks(t *testing.T) {
	long.NotShort(t)
	file, dir := writeSweep(t, "seeds: [0, 1, 2]\n")
	succeed(t, "sweep", file, "--out", dir, "--index", "1", "--of", "2", "--no-wait")
	succeed(t, "sweep", file, "--out", dir, "--index=0", "--of", "2", "--no-wait")
	t.Setenv("SLURM_ARRAY_TASK_ID", "7")
	if o := succeed(t, "sweep", file, "--index", "--out", dir); len(folders(t, dir)) != 3 {
		t.Error(o)
	}
}
