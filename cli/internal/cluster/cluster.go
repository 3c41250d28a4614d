// Package cluster trains the missing runs of a sweep as tasks of a scheduler. It writes a job, submits it once and
// follows it. It resubmits lost work, and ends when every run has finished or failed.
//
// A task is the program itself (`unravel sweep FILE --index`), which takes runs from the plan until other tasks are
// training all remaining runs. Tasks coordinate through locks and claims in the run folders. A job therefore does not
// assign runs to tasks, and may have fewer tasks than runs. [Scheduler] lists the operations of a scheduler; slurm.go
// and kubernetes.go implement it.
package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrUnknown is matched by the error of [Scheduler.Look] for a job that the scheduler does not know, or has forgotten.
// Treat such a job as ended.
var ErrUnknown = errors.New("the scheduler does not know the job")

// Request holds the resources of each task of a job. A zero value leaves the choice to the scheduler.
type Request struct {
	Partition string        // queue of the job
	Time      time.Duration // the scheduler stops a task after this time
	CPUs      int           // processors of a task
	Memory    int64         // memory of a task, in bytes
	Limit     int           // maximum number of concurrent tasks
}

// Job is the work for a scheduler: tasks that run the same command, each with a different number.
type Job struct {
	// lower-case letters, digits and dashes, at most 63; equal runs give equal names, because Find finds a job by its
	// name
	Name    string
	Command []string // command of a task, the program first
	Env     []string // NAME=value, environment variables of the command
	Work    string   // working folder of the command; absolute, like Dir
	Dir     string   // folder of the runs; the output of tasks goes to [OutputDir] in it
	Tasks   int      // numbered from 0
	Request
}

// Line returns the command of a task, which reads its number from the scheduler's variable.
func (j *Job) Line() []string {
	return append(slices.Clone(j.Command), "--index", "--of", strconv.Itoa(j.Tasks), "--no-wait")
}

type variable struct{ Name, Value string }

func (j *Job) variables() (list []variable) {
	for _, e := range j.Env {
		name, value, _ := strings.Cut(e, "=")
		list = append(list, variable{name, value})
	}
	return list
}

// OutputDir is the folder, inside the folder of runs, for the output of jobs and the record of the last job.
const OutputDir = ".jobs"

// Tasks counts the tasks of a job by state.
type Tasks struct {
	Waiting   int    // in the queue for the first time or again
	Running   int    // includes tasks that are ending
	Done      int    // tasks that exited on their own
	Cancelled int    // tasks that a person cancelled
	Lost      int    // pre-empted, out of time or memory, or ended by an error or with their node
	Why       string // why tasks wait or were lost, in the scheduler's words; empty: unknown
}

// Active reports whether a waiting or running task may still train runs.
func (t Tasks) Active() bool { return t.Waiting+t.Running > 0 }

// Scheduler runs jobs. Errors contain the scheduler's own words. Errors of Look and Find may be temporary, unless they
// match [ErrUnknown].
type Scheduler interface {
	// Name is the value of the flag --on for this scheduler.
	Name() string
	// Most returns the maximum number of tasks of a job.
	Most(ctx context.Context) (int, error)
	// Text returns the script or object that Submit submits.
	Text(j *Job) ([]byte, error)
	// Submit submits a job and returns its identifier.
	Submit(ctx context.Context, j *Job) (id string, err error)
	// Find returns the identifier of the unfinished job with the given name, or "".
	Find(ctx context.Context, name string) (id string, err error)
	// Look counts the tasks of a job by state.
	Look(ctx context.Context, id string) (Tasks, error)
	// Cancel removes waiting tasks from the queue; running tasks continue to their end.
	Cancel(ctx context.Context, id string) error
	// Commands returns the scheduler's own commands to end a job and to show it.
	Commands(id string) (end, show string)
}

const answer = time.Minute // maximum time for a command of a scheduler

// call runs a command of a scheduler and returns its output. want tells the user how to get the command.
func call(ctx context.Context, input []byte, want, command string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.WaitDelay = time.Second
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &log
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("there is no command %s on the path; want %s", command, want)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: no answer: %w", command, ctx.Err())
	case errors.As(err, &ended):
		return "", fmt.Errorf("%s: %s", command, cmp.Or(strings.TrimSpace(log.String()+out.String()), ended.Error()))
	}
	return out.String(), err
}
