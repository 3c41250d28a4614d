//go:build unix

package sweeps_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/must"
)

// A sweep on the environment's Slurm has the results of a sweep on this machine, bit for bit, even if a running task
// returns to the queue. Slurm then delays the task for minutes, and another task takes over. The test runs if
// UNRAVEL_SLURM is set.
func TestSlurm(t *testing.T) {
	if os.Getenv("UNRAVEL_SLURM") == "" {
		t.Skip("UNRAVEL_SLURM is not set")
	}
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1, 2]\nset: {train.epochs: 1000, train.checkpoint: 0.1}\n")
	local := filepath.Join(filepath.Dir(dir), "local")
	clitest.OK(t, "sweep", file, "--out", local)
	follower := clitest.Start(t, "sweep", file, "--out", dir, "--on", "slurm", "--cpus", "1", "--tasks", "2", "--time", "10m")
	job := ""
	if !follower.Until(func() bool {
		_, rest, ok := strings.Cut(follower.Log.String(), "submitted job ")
		job, _, _ = strings.Cut(rest, " ")
		return ok && ui.Exists(filepath.Join(dir, "seed0", "checkpoint.safetensors"))
	}) {
		t.Fatal(follower.End())
	}
	if out, err := exec.Command("scontrol", "requeue", job+"_0").CombinedOutput(); err != nil {
		t.Logf("it ended before: %v %s", err, out)
	}
	if o := follower.End(); o.Code != 0 || strings.Count(o.Out, "finished") != 3 || strings.Count(o.Log, "submitted job") != 1 {
		t.Error(o)
	}
	for _, seed := range []string{"seed0", "seed1", "seed2"} {
		for _, name := range []string{"codes.npy", "metrics.json"} {
			if !bytes.Equal(must.Read(t, filepath.Join(dir, seed, name)), must.Read(t, filepath.Join(local, seed, name))) {
				t.Errorf("%s of %s differs", name, seed)
			}
		}
	}
}
