package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/unravel-ml/unravel/internal/must"
)

// kubernetesTest returns a job with texts that need quotes.
func kubernetesTest() (*Kubernetes, *Job) {
	return &Kubernetes{Image: "reg.example:5000/u@sha256:0", Claim: "data.1", Mount: "/shared", Namespace: "no", User: 1000, Group: 100},
		&Job{Name: "unravel-1e3-0a", Command: []string{"/x/unravel", "sweep", "yes: #1 $(HOME)\n\"'é.yaml", "--out", "null"},
			Env:  []string{"UNRAVEL_DATA=/d: x", "A=0x1", "B="},
			Work: "/shared/~ a", Dir: "/shared/runs", Tasks: 100000, Request: Request{CPUs: 4, Memory: 3<<30 + 1, Time: 90 * time.Minute, Limit: 64}}
}

// The object contains every text unchanged. If the checking program exists (UNRAVEL_KUBECHECK), it compares the object
// with the published types.
func TestKubernetesText(t *testing.T) {
	k, j := kubernetesTest()
	text := must.Get(k.Text(j))(t)
	var m map[string]any
	must.OK(t, yaml.Unmarshal(text, &m))
	dig := func(path string) any {
		var at any = m
		for key := range strings.SplitSeq(path, ".") {
			if list, ok := at.([]any); ok {
				at = list[key[0]-'0']
				continue
			}
			at = at.(map[string]any)[key]
		}
		return at
	}
	const container = "spec.template.spec.containers.0."
	for path, want := range map[string]any{
		"metadata.generateName": "unravel-1e3-0a-", "metadata.namespace": "no", "metadata.labels.unravel/job": "unravel-1e3-0a",
		"spec.completions": uint64(100000), "spec.parallelism": uint64(64), "spec.maxFailedIndexes": uint64(10000), "spec.template.spec.restartPolicy": "Never",
		"spec.template.spec.activeDeadlineSeconds": uint64(5400), "spec.template.spec.securityContext.runAsUser": uint64(1000),
		container + "image": "reg.example:5000/u@sha256:0", container + "command.0": "unravel",
		container + "args.1": "yes: #1 $$(HOME)\n\"'é.yaml", container + "args.3": "null",
		container + "args.6": "100000", container + "workingDir": "/shared/~ a", container + "env.0.value": "/d: x",
		container + "env.1.value": "0x1", container + "env.2.value": "",
		container + "resources.limits.cpu": "4", container + "resources.requests.memory": "3073Mi",
		container + "volumeMounts.0.mountPath": "/shared",
	} {
		must.Equal(t, dig(path), want, path)
	}
	if program := os.Getenv("UNRAVEL_KUBECHECK"); program != "" {
		for _, n := range []int{1, 7, 100000} {
			if j.Tasks = n; n == 1 {
				j.Time, j.Limit, k.Namespace, k.User, j.Env = 0, 0, "", 0, nil
			}
			text := must.Get(k.Text(j))(t)
			cmd := exec.Command(program)
			cmd.Stdin = bytes.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%d tasks: %v: %s\n%s", n, err, out, text)
			}
		}
	}
}

// Check rejects objects that Kubernetes would reject.
func TestKubernetesCheck(t *testing.T) {
	for want, change := range map[string]func(*Kubernetes, *Job){
		"the image is":                            func(k *Kubernetes, _ *Job) { k.Image = "a b" },
		"the claim of the volume is":              func(k *Kubernetes, _ *Job) { k.Claim = "Data_1" },
		"the namespace is":                        func(k *Kubernetes, _ *Job) { k.Namespace = "a.b" },
		"the volume's path is":                    func(k *Kubernetes, _ *Job) { k.Mount = "shared" },
		"the working folder, /home, is not on":    func(_ *Kubernetes, j *Job) { j.Work = "/home" },
		"the folder of the runs, /sharedx, is no": func(_ *Kubernetes, j *Job) { j.Dir = "/sharedx" },
		`the variable "A B" has a name`:           func(_ *Kubernetes, j *Job) { j.Env = []string{"A B=1"} },
	} {
		k, j := kubernetesTest()
		change(k, j)
		must.ErrorOf(k.Text(j))(t, want)
	}
}

// fakeKubectl puts a kubectl on the path that runs a script. Its arguments are in $*.
func fakeKubectl(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the simulated kubectl is a script for a Unix shell")
	}
	dir := t.TempDir()
	must.OK(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// The counts of tasks follow from kubectl's output about a job.
func TestKubernetesLook(t *testing.T) {
	for status, want := range map[string]string{
		`{}`:                        "{Waiting:10 Running:0 Done:0 Cancelled:0 Lost:0 Why:}",
		`{"active": 4, "ready": 3}`: "{Waiting:7 Running:3 Done:0 Cancelled:0 Lost:0 Why:}",
		`{"active": 4, "ready": 4, "succeeded": 5, "failedIndexes": "1,3-4"}`:                                                                                       "{Waiting:0 Running:2 Done:5 Cancelled:0 Lost:3 Why:}",
		`{"succeeded": 10, "conditions": [{"type": "Complete", "status": "True"}]}`:                                                                                 "{Waiting:0 Running:0 Done:10 Cancelled:0 Lost:0 Why:}",
		`{"succeeded": 2, "failedIndexes": "0", "conditions": [{"type": "Failed", "status": "True", "reason": "MaxFailedIndexesExceeded", "message": "too many"}]}`: "{Waiting:0 Running:0 Done:2 Cancelled:0 Lost:8 Why:MaxFailedIndexesExceeded: too many}",
		`{"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}, {"type": "Failed", "status": "False"}]}`:                                "{Waiting:10 Running:0 Done:0 Cancelled:0 Lost:0 Why:JobSuspended}",
		`{"succeeded": 11}`:                         "error",
		`{"succeeded": -1}`:                         "error",
		`{"failedIndexes": "5-2"}`:                  "error",
		`{"failedIndexes": "all"}`:                  "error",
		`{"failedIndexes": "0-99999999999999999"}`:  "error",
		`{"active": "many"}`:                        "error",
		`{`:                                         "error",
		`{}, "spec": {"completions": null}`:         "error",
		`{}, "kind": "Pod"`:                         "error",
		`{}, "metadata": {"deletionTimestamp": ""}`: "{Waiting:0 Running:0 Done:0 Cancelled:10 Lost:0 Why:}",
	} {
		fakeKubectl(t, fmt.Sprintf("[ \"$*\" = 'get job id --output=json' ] || exit 9\ncat <<'END'\n{\"kind\": \"Job\", \"spec\": {\"completions\": 10}, \"status\": %s}\nEND\n", status))
		got, err := (&Kubernetes{}).Look(t.Context(), "id")
		text := fmt.Sprintf("%+v", got)
		if err != nil {
			text = "error"
		}
		must.Equal(t, text, want, status, err)
	}
	fakeKubectl(t, `echo 'Error from server (NotFound): jobs.batch "id" not found' >&2; exit 1`)
	if got, err := (&Kubernetes{}).Look(t.Context(), "id"); !errors.Is(err, ErrUnknown) || got.Cancelled == 0 {
		t.Errorf("a job that was deleted: %+v, %v", got, err)
	}
	fakeKubectl(t, `echo 'Unable to connect to the server: dial tcp' >&2; exit 1`)
	if _, err := (&Kubernetes{}).Look(t.Context(), "id"); err == nil || errors.Is(err, ErrUnknown) ||
		!strings.Contains(err.Error(), "Unable to connect") {
		t.Errorf("no server: %v", err)
	}
}

// Find finds jobs by their label, unless they have ended.
func TestKubernetesFind(t *testing.T) {
	fakeKubectl(t, `[ "$*" = 'get jobs --selector=unravel/job=name --output=json --namespace=n' ] || exit 9
cat <<'END'
{"kind": "List", "items": [
 {"metadata": {"name": "name-old"}, "spec": {"completions": 2}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}},
 {"metadata": {"name": "name-gone", "deletionTimestamp": "2020-01-01T00:00:00Z"}, "spec": {"completions": 2}, "status": {}},
 {"metadata": {"name": "name-new"}, "spec": {"completions": 2}, "status": {"active": 1}}]}
END
`)
	k := &Kubernetes{Namespace: "n"}
	if id, err := k.Find(t.Context(), "name"); id != "name-new" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for _, nonsense := range []string{"echo '{'", "echo nothing here", "exit 3", `echo '{"items": [{"spec": {}}]}'`,
		`echo '{"items": [{"spec": {"completions": 1}}]}'`} {
		fakeKubectl(t, nonsense)
		if id, err := k.Find(t.Context(), "name"); err == nil {
			t.Errorf("%s: %q", nonsense, id)
		}
	}
	fakeKubectl(t, "echo '{\"items\": []}'")
	if id, err := k.Find(t.Context(), "name"); id != "" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
}

// The name printed by kubectl is the job's name.
func TestKubernetesSubmit(t *testing.T) {
	k, j := kubernetesTest()
	for script, want := range map[string]string{
		"cat >/dev/null; echo job.batch/unravel-1e3-0a-x7x2z": "unravel-1e3-0a-x7x2z",
		"cat >/dev/null; echo job.batch/../x":                 "",
		"cat >/dev/null; echo created":                        "",
		"cat >/dev/null; echo forbidden >&2; exit 1":          "",
	} {
		fakeKubectl(t, script)
		if id, err := k.Submit(t.Context(), j); id != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", script, id, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	must.ErrorOf(k.Submit(t.Context(), j))(t, "no command kubectl on the path")
}
