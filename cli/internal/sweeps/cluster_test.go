package sweeps_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
)

// Flags that exclude or need each other are mistakes.
func TestClusterMistakes(t *testing.T) {
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--print"}, "--print belongs to --on"},
		{[]string{"--on", "slurm", "--print", "--retry"}, "want it without --retry"},
		{[]string{"--on", "slurm", "--print", "--dry-run"}, "want it without --dry-run"},
		{[]string{"--on", "slurm", "--print", "--simulate", "nodes=1,cores=1"}, "want it without --simulate"},
		{[]string{"--on", "slurm", "--print", "--json"}, "want it without --json"},
		{[]string{"--on", "slurm", "--print", "--serve"}, "want it without --serve"},
		{[]string{"--of", "3"}, "--of is the number of tasks of --index"},
		{[]string{"--on", "slurm", "--jobs", "2"}, "want --on alone"},
		{[]string{"--on", "slurm", "--time", "soon"}, `"soon" is not a duration`},
		{[]string{"--on", "slurm", "--memory", "2X"}, `"2X" is not a size`},
		{[]string{"--on", "slurm", "--memory", "0G"}, `"0G" is out of range`},
		{[]string{"--on", "slurm", "--memory", "1048577T"}, `"1048577T" is out of range`},
		{[]string{"--on", "slurm", "--memory", "1048576T", "--cpus=0"}, `got "0"; want 1 or more`},
		{[]string{"--on", "slurm", "--cpus=-1"}, `got "-1"; want 1 or more`},
		{[]string{"--on", "condor"}, "--on condor: unknown scheduler; want slurm or kubernetes"},
		{[]string{"--index"}, "none of SLURM_ARRAY_TASK_ID and JOB_COMPLETION_INDEX is set"},
		{[]string{"--index", "2", "--of", "2"}, "--index 2 of 2 tasks: want 0 to 1"},
		{[]string{"--index", "5", "--of", "4"}, "want 0 to 3"},
		{[]string{"--index", "99"}, "--index 99 of 2 tasks: want 0 to 1"},
		{[]string{"--on", "slurm", "--cpus", "0"}, `got "0"; want 1 or more`},
		{[]string{"--on", "slurm", "--tasks", "0"}, `got "0"; want 1 or more`},
		{[]string{"--on", "slurm", "--array-limit", "0"}, `got "0"; want 1 or more`},
		{[]string{"--index", "0", "--of", "0"}, `got "0"; want 1 or more`},
		{[]string{"--on", "slurm", "--partition="}, `got ""; want a name`},
		{[]string{"--on", "kubernetes", "--image=", "--volume", "data:/d"}, `got ""; want a name`},
		{[]string{"--on", "kubernetes", "--image", `"u:1"`, "--volume", "data:/d"}, "want a name without spaces and quotes"},
		{[]string{"--on", "kubernetes", "--image", "u:1", "--volume", "data:/"}, "would hide the files of the image"},
		{[]string{"--on", "slurm", "--time", "10s"}, `"10s" is too short; want 2m or more`},
		{[]string{"--on", "slurm", "--time", "4"}, `"4" is not a duration; want 4h, 90m`},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"sweep", file, "--out", dir}, c.args...)...), 2, c.want)
	}
	if ui.Exists(dir) {
		t.Error("there is a folder")
	}
	clitest.Mistake(t, clitest.Run(t, "table", "--on", "slurm", "--print"), 2, "belong to a table; want its name")
}

// Without Slurm, a script states its assumptions and requirements, and a failed submission leaves no files. A plan
// without missing runs has no script.
func TestWithoutSlurm(t *testing.T) {
	file, dir := clitest.WriteSweep(t, "seeds: [0]\n")
	clitest.OK(t, "sweep", file, "--out", dir)
	absent := filepath.Join(filepath.Dir(dir), "absent")
	t.Setenv("PATH", t.TempDir())
	if o := clitest.OK(t, "sweep", file, "--out", dir, "--on", "slurm", "--print"); o.Out != "" ||
		!strings.Contains(o.Log, "nothing to submit: 1 run finished, 0 failed") {
		t.Error(o)
	}
	o := clitest.OK(t, "sweep", file, "--out", absent, "--on", "slurm", "--print")
	if !strings.Contains(o.Log, "1001 are assumed") || strings.Contains(o.Log, "scontrol") ||
		!strings.Contains(o.Log, "make the folder "+filepath.Join(absent, ".jobs")) {
		t.Error(o)
	}
	if o := clitest.Run(t, "sweep", file, "--out", absent, "--on", "slurm"); o.Code != 1 || !strings.Contains(o.Log,
		"slurm does not answer, so no job was submitted: there is no command squeue") || ui.Exists(absent) {
		t.Error(o)
	}
}
