package cluster

import (
	"bytes"
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/unravel-ml/unravel/internal/wording"
)

// Slurm submits job arrays with Slurm's commands, which must be on the path.
type Slurm struct{}

func (Slurm) Name() string { return "slurm" }

// UsualArray is the maximum number of tasks of a job array if Slurm does not report MaxArraySize.
const UsualArray = 1001

// slurm runs a command of Slurm and returns its output. The error contains Slurm's message.
func slurm(ctx context.Context, input []byte, command string, args ...string) (string, error) {
	return call(ctx, input, "a machine that submits jobs to Slurm", command, args...)
}

var arraySize = regexp.MustCompile(`(?m)^MaxArraySize\s*=\s*(\d+)\s*$`)

// Most implements Scheduler. It returns MaxArraySize from Slurm's settings.
func (Slurm) Most(ctx context.Context) (int, error) {
	text, err := slurm(ctx, nil, "scontrol", "show", "config")
	if err != nil {
		return 0, err
	}
	match := arraySize.FindStringSubmatch(text)
	if match == nil {
		return UsualArray, nil
	}
	n, err := strconv.Atoi(match[1])
	if err != nil || n < 2 {
		return 0, fmt.Errorf("Slurm allows no job arrays (MaxArraySize is %s)", match[1])
	}
	return n, nil
}

// Text implements Scheduler. It returns the script of a job array.
func (Slurm) Text(j *Job) ([]byte, error) {
	texts := slices.Concat(j.Command, j.Env, []string{j.Work, j.Dir, j.Partition})
	if strings.ContainsAny(strings.Join(texts, ""), "\n\r\x00") {
		return nil, errors.New("a path, a variable or an argument of the job has a line break; Slurm's scripts cannot hold it")
	}
	script := struct {
		*Job
		Env       []variable
		Last      int    // number of the last task
		Kilobytes int64  // memory per task
		Output    string // file for the output of a task
		Script    string // the command
	}{j, j.variables(), j.Tasks - 1, (j.Memory + 1023) / 1024,
		strings.ReplaceAll(filepath.Join(j.Dir, OutputDir, j.Name), "%", "%%") + "-%a.txt", wording.Shell(j.Line()...)}
	var b bytes.Buffer
	err := scriptTemplate.Execute(&b, script)
	return b.Bytes(), err
}

//go:embed slurm.sh.tmpl
var scriptText string

var scriptTemplate = template.Must(template.New("script").Funcs(template.FuncMap{
	"duration": slurmTime,
	"option":   scriptOption,
	"shell":    func(word string) string { return wording.Shell(word) },
}).Parse(scriptText))

// scriptOption quotes the value of an option if sbatch requires it.
func scriptOption(value string) string {
	if strings.ContainsAny(value, " \t\"'\\#$`") {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	return value
}

// slurmTime formats a time as D-HH:MM:SS.
func slurmTime(d time.Duration) string {
	s := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d-%02d:%02d:%02d", s/86400, s/3600%24, s/60%60, s%60)
}

var jobID = regexp.MustCompile(`^[0-9]+$`)

func (s Slurm) Submit(ctx context.Context, j *Job) (string, error) {
	text, err := s.Text(j)
	if err != nil {
		return "", err
	}
	out, err := slurm(ctx, text, "sbatch", "--parsable")
	if err != nil {
		return "", err
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the rest is the cluster
	if !jobID.MatchString(id) {
		return "", fmt.Errorf("sbatch says %q; want the number of a job", strings.TrimSpace(out))
	}
	return id, nil
}

func (Slurm) Find(ctx context.Context, name string) (string, error) {
	out, err := slurm(ctx, nil, "squeue", "--me", "--noheader", "--name="+name, "--format=%F")
	if err != nil {
		return "", err
	}
	id := ""
	for line := range strings.Lines(out) {
		if id = strings.TrimSpace(line); !jobID.MatchString(id) {
			return "", fmt.Errorf("squeue says %q; want the number of a job", id)
		}
	}
	return id, nil
}

// Look implements Scheduler. It asks the queue, which has jobs of the last minutes, and then the accounting.
func (Slurm) Look(ctx context.Context, id string) (Tasks, error) {
	out, err := slurm(ctx, nil, "squeue", "--array", "--noheader", "--states=all", "--jobs="+id, "--format=%T|%r")
	if err == nil && strings.TrimSpace(out) != "" {
		return countStates(out)
	}
	if err != nil && !strings.Contains(err.Error(), "Invalid job id") {
		return Tasks{}, err
	}
	out, err = slurm(ctx, nil, "sacct", "--allocations", "--noheader", "--parsable2", "--jobs="+id, "--format=State")
	if err != nil || strings.TrimSpace(out) == "" {
		return Tasks{}, fmt.Errorf("%w: %s", ErrUnknown, id) // also if Slurm keeps no accounts
	}
	return countStates(out)
}

// countStates counts tasks from lines of STATE or STATE|reason.
func countStates(text string) (t Tasks, err error) {
	for line := range strings.Lines(text) {
		state, reason, _ := strings.Cut(strings.TrimSpace(line), "|")
		first, _, _ := strings.Cut(state, " ") // CANCELLED by 1000
		switch first {
		case "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD":
			t.Waiting++
		case "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT":
			t.Running++
		case "COMPLETED":
			t.Done++
		case "CANCELLED", "REVOKED":
			t.Cancelled++
		case "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED",
			"RECONFIG_FAIL":
			t.Lost++
			reason = state
		default:
			return Tasks{}, fmt.Errorf("Slurm says %q of a task; want a state such as RUNNING", state)
		}
		if reason != "" && reason != "None" {
			t.Why = reason
		}
	}
	return t, nil
}

func (Slurm) Cancel(ctx context.Context, id string) error {
	_, err := slurm(ctx, nil, "scancel", "--state=PENDING", id)
	return err
}

func (Slurm) Commands(id string) (end, show string) { return "scancel " + id, "squeue --jobs=" + id }
