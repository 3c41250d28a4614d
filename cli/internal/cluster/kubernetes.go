package cluster

import (
	"bytes"
	"context"
	_ "embed" // for the object of a job
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"
)

// Kubernetes submits Indexed Jobs with kubectl, which must be on the path.
type Kubernetes struct {
	Image     string // container image with unravel on its path
	Claim     string // claim of the volume with the folder of the runs
	Mount     string // absolute path of the volume, which must be the same here and in the container
	Namespace string // empty: the namespace of kubectl's context
	User      int    // owner of the files that tasks write; 0: the image's user
	Group     int
}

func (*Kubernetes) Name() string { return "kubernetes" }

const kubernetesMaxTasks = 100000 // maximum number of completions of an Indexed Job with a backoff limit per index

func (*Kubernetes) Most(context.Context) (int, error) { return kubernetesMaxTasks, nil }

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	envName      = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)
)

// Check returns an error for settings that Kubernetes rejects, and for folders outside the volume.
func (k *Kubernetes) Check(j *Job) error {
	switch {
	case k.Image == "" || strings.ContainsAny(k.Image, " \t\r\n\"'"):
		return fmt.Errorf("the image is %q; want one with unravel, such as registry.example/unravel:v1", k.Image)
	case !dnsSubdomain.MatchString(k.Claim):
		return fmt.Errorf("the claim of the volume is %q; want its name: lower-case letters, digits, dashes and dots",
			k.Claim)
	case k.Namespace != "" && !dnsLabel.MatchString(k.Namespace):
		return fmt.Errorf("the namespace is %q; want lower-case letters, digits and -", k.Namespace)
	case !strings.HasPrefix(k.Mount, "/") || strings.ContainsAny(k.Mount, ":"):
		return fmt.Errorf("the volume's path is %q; want an absolute one, the same here and in containers", k.Mount)
	case path.Clean(k.Mount) == "/":
		return fmt.Errorf("the volume's path is %q, which would hide the files of the image; want a folder such as /shared",
			k.Mount)
	}
	for role, path := range map[string]string{"the folder of the runs": j.Dir, "the working folder": j.Work} {
		if rel, err := filepath.Rel(k.Mount, path); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s, %s, is not on the volume, %s; want the path at which containers see it", role, path, k.Mount)
		}
	}
	return nil
}

//go:embed kubernetes.yaml.tmpl
var manifestText string

var manifestTemplate = template.Must(template.New("job").Funcs(template.FuncMap{
	"text":    scalar,
	"literal": func(text string) (string, error) { return scalar(strings.ReplaceAll(text, "$", "$$")) }, // $(NAME) would be replaced
}).Parse(manifestText))

// manifest is the data of an Indexed Job's object.
type manifest struct {
	*Job
	Cluster             *Kubernetes
	Args                []string
	Env                 []variable
	Parallel, MaxFailed int   // tasks
	Processors          int   // processors per task
	MiB                 int64 // memory per task; 0: the cluster's default
	Seconds             int64 // time per task; 0: no limit
}

// Text implements Scheduler. It returns the object of an Indexed Job, as YAML for `kubectl create`.
func (k *Kubernetes) Text(j *Job) ([]byte, error) {
	if err := k.Check(j); err != nil {
		return nil, err
	}
	m := manifest{Job: j, Cluster: k, Args: j.Line()[1:], Env: j.variables(), Parallel: j.Tasks,
		MaxFailed: min(j.Tasks, max(10, j.Tasks/10)), Processors: max(j.CPUs, 1), MiB: (j.Memory + (1 << 20) - 1) >> 20}
	if j.Limit > 0 {
		m.Parallel = min(j.Tasks, j.Limit)
	}
	if j.Time > 0 {
		m.Seconds = max(1, int64(j.Time.Seconds()))
	}
	for _, v := range m.Env {
		if !envName.MatchString(v.Name) {
			return nil, fmt.Errorf("the variable %q has a name that Kubernetes cannot hold", v.Name)
		}
	}
	var b bytes.Buffer
	err := manifestTemplate.Execute(&b, m)
	return b.Bytes(), err
}

// scalar returns a text as a YAML scalar on one line.
func scalar(text string) (string, error) {
	if strings.ContainsAny(text, "\n\r") {
		quoted, err := json.Marshal(text) // JSON is valid YAML
		return string(quoted), err
	}
	plain, err := yaml.Marshal(text)
	return strings.TrimSuffix(string(plain), "\n"), err
}

func (k *Kubernetes) kubectl(ctx context.Context, input []byte, args ...string) (string, error) {
	if k.Namespace != "" {
		args = append(args, "--namespace="+k.Namespace)
	}
	return call(ctx, input, "a machine with access to the cluster", "kubectl", args...)
}

var createdJob = regexp.MustCompile(`^job\.batch/([a-z0-9]([-a-z0-9]*[a-z0-9])?)$`)

func (k *Kubernetes) Submit(ctx context.Context, j *Job) (string, error) {
	text, err := k.Text(j)
	if err != nil {
		return "", err
	}
	out, err := k.kubectl(ctx, text, "create", "--filename=-", "--output=name")
	if err != nil {
		return "", err
	}
	match := createdJob.FindStringSubmatch(strings.TrimSpace(out))
	if match == nil {
		return "", fmt.Errorf("kubectl says %q; want the name of a job", strings.TrimSpace(out))
	}
	return match[1], nil
}

type kubernetesJob struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name     string  `json:"name"`
		Deletion *string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Completions *int `json:"completions"`
	} `json:"spec"`
	Status struct {
		Active        int    `json:"active"`
		Ready         int    `json:"ready"`
		Succeeded     int    `json:"succeeded"`
		FailedIndexes string `json:"failedIndexes"`
		Conditions    []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Reason  string `json:"reason"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

func (j *kubernetesJob) tasks() (t Tasks, err error) {
	if j.Kind != "Job" || j.Spec.Completions == nil {
		return t, fmt.Errorf("kubectl shows no Indexed Job, but %q", j.Kind)
	}
	s, all := &j.Status, *j.Spec.Completions
	t.Done = s.Succeeded
	if t.Lost, err = countIndexes(s.FailedIndexes); err != nil {
		return Tasks{}, err
	}
	if s.Succeeded < 0 || s.Active < 0 || s.Ready < 0 || t.Done+t.Lost > all {
		return Tasks{}, fmt.Errorf("kubectl says that %d of %d tasks succeeded and %d failed", s.Succeeded, all, t.Lost)
	}
	remaining := all - t.Done - t.Lost
	for _, c := range s.Conditions {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case "Complete", "Failed":
			t.Lost, remaining = t.Lost+remaining, 0
		case "Suspended", "FailureTarget":
		default:
			continue
		}
		if t.Why = c.Reason; c.Message != "" {
			t.Why = strings.TrimPrefix(t.Why+": "+c.Message, ": ")
		}
	}
	if j.Metadata.Deletion != nil {
		t.Cancelled, remaining = remaining+t.Lost, 0
		t.Lost = 0
	}
	t.Running = min(remaining, s.Ready)
	t.Waiting = remaining - t.Running
	return t, nil
}

// countIndexes counts the numbers in a text such as 1,3-5.
func countIndexes(text string) (n int, err error) {
	if text == "" {
		return 0, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.Atoi(first)
		b, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || a < 0 || b < a || b > kubernetesMaxTasks {
			return 0, fmt.Errorf("kubectl says that the tasks %q failed; want numbers such as 1,3-5", text)
		}
		n += b - a + 1
	}
	return n, nil
}

// Look implements Scheduler. If Kubernetes no longer has a job, the job was deleted, because an ended job is kept for a
// day.
func (k *Kubernetes) Look(ctx context.Context, id string) (Tasks, error) {
	out, err := k.kubectl(ctx, nil, "get", "job", id, "--output=json")
	if err != nil {
		if strings.Contains(err.Error(), "(NotFound)") {
			return Tasks{Cancelled: 1}, fmt.Errorf("%w: %s", ErrUnknown, id)
		}
		return Tasks{}, err
	}
	var j kubernetesJob
	if err := json.Unmarshal([]byte(out), &j); err != nil {
		return Tasks{}, fmt.Errorf("kubectl get job %s: %w", id, err)
	}
	return j.tasks()
}

func (k *Kubernetes) Find(ctx context.Context, name string) (string, error) {
	out, err := k.kubectl(ctx, nil, "get", "jobs", "--selector=unravel/job="+name, "--output=json")
	if err != nil {
		return "", err
	}
	var list struct {
		Items []kubernetesJob `json:"items"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return "", fmt.Errorf("kubectl get jobs: %w", err)
	}
	id := ""
	for _, j := range list.Items {
		j.Kind = "Job" // items of a list may omit it
		t, err := j.tasks()
		if err != nil {
			return "", err
		}
		if !t.Active() {
			continue
		}
		if id = j.Metadata.Name; !dnsSubdomain.MatchString(id) {
			return "", errors.New("kubectl shows a job without a name")
		}
	}
	return id, nil
}

// Cancel implements Scheduler. It deletes the job and tells running tasks to end.
func (k *Kubernetes) Cancel(ctx context.Context, id string) error {
	_, err := k.kubectl(ctx, nil, "delete", "job", id, "--wait=false")
	return err
}

func (k *Kubernetes) Commands(id string) (end, show string) {
	in := ""
	if k.Namespace != "" {
		in = " --namespace=" + k.Namespace
	}
	return "kubectl delete job " + id + in, "kubectl logs job/" + id + " --prefix" + in
}
