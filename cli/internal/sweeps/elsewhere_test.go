//go:build unix

package sweeps_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// A job contains the settings from a sweep's environment. A task records missing features of its processor for its run.
// The processor of the submitting machine does not matter.
func TestTasksOfAnotherMachine(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\nset: {train.precision: mixed}\n")
	t.Setenv("UNRAVEL_KERNEL", "go")
	t.Setenv("UNRAVEL_DATA", "/d e")
	t.Setenv("UNRAVEL_CLAIMS", "always")
	t.Setenv("UNRAVEL_CLAIMS_AFTER", "30s")
	kubernetes := []string{"--on", "kubernetes", "--image", "i", "--volume", "c:" + filepath.Dir(filepath.Dir(file))}
	for _, c := range []struct{ args, want []string }{
		{[]string{"--on", "slurm"}, []string{"export UNRAVEL_DATA='/d e'\n", "export UNRAVEL_KERNEL=go\n", "export UNRAVEL_CLAIMS=always\n", "export UNRAVEL_CLAIMS_AFTER=30s\n"}},
		{kubernetes, []string{"UNRAVEL_DATA\n", "UNRAVEL_KERNEL\n", "UNRAVEL_CLAIMS\n", "value: always\n", "UNRAVEL_CLAIMS_AFTER\n", "value: 30s\n"}},
	} {
		o := clitest.StartWith(t, func(cmd *exec.Cmd) { cmd.Dir = filepath.Dir(file) },
			append([]string{"sweep", file, "--out", dir, "--print"}, c.args...)...).End()
		for _, want := range c.want {
			if o.Code != 0 || !strings.Contains(o.Out, want) {
				t.Errorf("%v: %q is missing: %v", c.args, want, o)
			}
		}
	}
	for _, args := range [][]string{{"--", "-f.yaml"}, {"--out=-r", "--", "-f.yaml"}} {
		data := must.Read(t, file)
		must.Write(t, filepath.Join(filepath.Dir(file), "-f.yaml"), data)
		o := clitest.StartWith(t, func(cmd *exec.Cmd) { cmd.Dir = filepath.Dir(file) },
			append([]string{"sweep", "--on", "slurm", "--print"}, args...)...).End()
		if o.Code != 0 || !strings.Contains(o.Out, " sweep ./-f.yaml --out ") || strings.Contains(o.Out, "--out -r") {
			t.Errorf("a path that begins with a dash: %v", o)
		}
	}
	const here = "this processor lacks mixed precision"
	for _, args := range [][]string{{"--simulate", "nodes=1,cores=1"}, {"--dry-run", "--rehearse", "--on", "slurm"}} {
		if o := clitest.Start(t, append([]string{"sweep", file, "--out", dir}, args...)...).End(); o.Code != 0 || !strings.Contains(o.Log, here) {
			t.Errorf("%v: %v", args, o)
		}
	}
	clitest.Mistake(t, clitest.Start(t, "sweep", file, "--out", dir).End(), 2, "train.precision") // runs on this machine
	if ui.Exists(dir) {
		t.Error("there is a folder")
	}
	if o := clitest.Start(t, "sweep", file, "--out", dir, "--index", "0", "--of", "2", "--no-wait").End(); o.Code != 1 ||
		strings.Count(o.Out, "failed") != 2 {
		t.Errorf("a task: %v", o)
	}
	if text := must.Read(t, filepath.Join(dir, "seed0", "run.json")); !strings.Contains(string(text), "AVX512_BF16") {
		t.Errorf("the run says %s", text)
	}
}

// Tasks make their own runs first, then other runs, and end.
func TestTasks(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1, 2]\n")
	clitest.OK(t, "sweep", file, "--out", dir, "--index", "1", "--of", "2", "--no-wait")
	clitest.OK(t, "sweep", file, "--out", dir, "--index=0", "--of", "2", "--no-wait")
	t.Setenv("SLURM_ARRAY_TASK_ID", "7")
	o := clitest.OK(t, "sweep", file, "--index", "--out", dir)
	if made := must.Get(filepath.Glob(filepath.Join(dir, "*", "config.yaml")))(t); len(made) != 3 {
		t.Errorf("runs %q: %v", made, o)
	}
}
