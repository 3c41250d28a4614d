package sweeps_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// kubectlScript simulates a cluster: the first job fails without a step, and the second job makes its tasks in
// sequence.
const kubectlScript = `#!/bin/sh
cd "$CLUSTER" || exit 9
case "$1 $2" in
"create "*)
	n=$(($(cat jobs 2>/dev/null || echo 0) + 1)); echo $n >jobs; cat >job.yaml
	if [ $n = 2 ]; then
		tasks=$(sed -n 's/^  completions: //p' job.yaml)
		args=$(sed -n '/^        args:/,/^        workingDir:/s/^        - //p' job.yaml | tr -d '"')
		work=$(sed -n 's/^        workingDir: //p' job.yaml)
		i=0; while [ $i -lt $tasks ]; do (cd "$work" && JOB_COMPLETION_INDEX=$i "$PROGRAM" $args >>"$CLUSTER/log" 2>&1); i=$((i + 1)); done
	fi
	echo job.batch/$(sed -n 's/^  generateName: //p' job.yaml)$n ;;
"get jobs") echo '{"items": []}' ;;
"get job")
	if [ "$(cat jobs)" = 1 ]; then
		echo '{"kind": "Job", "spec": {"completions": 2}, "status": {"failedIndexes": "0-1", "conditions": [{"type": "Failed", "status": "True", "reason": "FailedIndexes"}]}}'
	else
		echo '{"kind": "Job", "spec": {"completions": 2}, "status": {"succeeded": 2, "conditions": [{"type": "Complete", "status": "True"}]}}'
	fi ;;
*) echo "$*" >>unknown; exit 1 ;;
esac
`

// A sweep on Kubernetes submits a job, submits lost runs again, and shows the results.
func TestKubernetes(t *testing.T) {
	long.NotShort(t)
	if runtime.GOOS == "windows" {
		t.Skip("the simulated kubectl is a script for a Unix shell")
	}
	program := must.Get(os.Executable())(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\n")
	shared, cluster := filepath.Dir(file), t.TempDir()
	t.Chdir(shared)
	must.OK(t, os.WriteFile(filepath.Join(cluster, "kubectl"), []byte(kubectlScript), 0o755))
	t.Setenv("CLUSTER", cluster)
	t.Setenv("PROGRAM", program)
	t.Setenv(clitest.AsProgram, "1")
	t.Setenv("PATH", cluster+string(os.PathListSeparator)+os.Getenv("PATH"))
	args := []string{"sweep", filepath.Base(file), "--out", "runs", "--on", "kubernetes", "--image", "u:1", "--volume",
		"data:" + shared, "--memory", "1G"}
	o := clitest.OK(t, append(args, "--print")...)
	for _, want := range []string{"completionMode: Indexed", "completions: 2", "memory: 1024Mi", "claimName: data",
		"- sweep\n        - " + filepath.Base(file)} {
		if !strings.Contains(o.Out, want) {
			t.Errorf("%q is not in\n%s", want, o.Out)
		}
	}
	if ui.Exists("runs") || ui.Exists(filepath.Join(cluster, "jobs")) {
		t.Error("--print made something")
	}
	o = clitest.OK(t, args...)
	if log, _ := os.ReadFile(filepath.Join(cluster, "log")); strings.Count(o.Out, "finished") != 2 ||
		!strings.Contains(o.Log, "FailedIndexes") || ui.Exists(filepath.Join(cluster, "unknown")) {
		t.Errorf("%s\n%s\ntasks:\n%s", o.Out, o.Log, log)
	}
	if clitest.OK(t, args...); ui.Exists(filepath.Join(cluster, "unknown")) { // nothing to submit
		t.Error("kubectl was asked for something else")
	}
	if text, _ := os.ReadFile(filepath.Join(cluster, "jobs")); strings.TrimSpace(string(text)) != "2" {
		t.Errorf("%s jobs, want 2", text)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--on", "kubernetes"}, "want --image IMAGE"},
		{[]string{"--on", "slurm", "--image", "x"}, "belong to --on kubernetes"},
		{[]string{"--on", "kubernetes", "--image", "x", "--volume", "data"}, `"data" is not a volume; want CLAIM:PATH`},
		{[]string{"--on", "kubernetes", "--image", "x", "--volume", "data:/elsewhere"}, "is not on the volume"},
		{[]string{"--on", "kubernetes", "--image", "x", "--volume", "data:/", "--partition", "p"}, "--partition belongs to --on slurm"},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"sweep", filepath.Base(file), "--out", dir}, c.args...)...), 2, c.want)
	}
}
