// Package cluster makes the missing runs of a sweep as tasks of a scheduler: it writes a job and submits it once, follows it, submits
// again what was lost, and ends when every run has finished or failed.
//
// A task is the program itself (`unravel sweep FILE --index`), which takes runs from the plan until none is left that nobody holds. Tasks share
// runs by the locks and claims of their folders, so that a job says nothing of which task makes which run, and may have fewer tasks than
// there are runs. What a scheduler must be able to do is [Scheduler], with one file for each: slurm.go and kubernetes.go.
package cluster

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// ErrUnknown is matched by the error of [Scheduler.Look] for a job that the scheduler does not know, or no more.
var ErrUnknown = errors.New("the scheduler does not know the job")

// Request is what each task of a job is given. Zero values leave it to the scheduler.
type Request struct {
	Partition string        // queue of the job
	Time      time.Duration // after which a task is stopped
	CPUs      int           // of a task
	Memory    int64         // of a task, in bytes
	Limit     int           // tasks at a time
}

// Job is what a scheduler runs: tasks that are the same command, each with a number of its own.
type Job struct {
	Name    string   // lower-case letters, digits and dashes, at most 63; the same for the same runs, by which a job is found again
	Command []string // of a task, the program first
	Env     []string // NAME=value, variables of the command
	Work    string   // folder in which the command begins; absolute, as Dir is
	Dir     string   // folder of the runs; what tasks print goes to [OutputDir] in it
	Tasks   int      // numbered from 0
	Request
}

// Line returns the command of a task, which reads its number from the scheduler's variable.
func (j *Job) Line() []string {
	return append(slices.Clone(j.Command), "--index", "--of", strconv.Itoa(j.Tasks), "--no-wait")
}

// OutputDir is the folder, in that of the runs, of what jobs print and of what is known of them.
const OutputDir = ".jobs"

// Tasks counts the tasks of a job by what they do.
type Tasks struct {
	Waiting   int    // in the queue, also again
	Running   int    // also those that end
	Done      int    // that ended by themselves
	Cancelled int    // by a person
	Lost      int    // pre-empted, out of time or memory, or ended with an error or their node
	Why       string // why tasks wait or were lost, in the scheduler's words; empty: it says nothing
}

// Active reports whether a task is there that may still make runs.
func (t Tasks) Active() bool { return t.Waiting+t.Running > 0 }

// Scheduler runs jobs. Errors hold the scheduler's own words; those of Look and Find may pass, unless they match [ErrUnknown].
type Scheduler interface {
	// Name is the value of the flag --on.
	Name() string
	// Most returns the largest number of tasks of a job.
	Most(ctx context.Context) (int, error)
	// Text returns what Submit submits: a script or an object.
	Text(j *Job) ([]byte, error)
	// Submit submits a job and returns its identifier.
	Submit(ctx context.Context, j *Job) (id string, err error)
	// Find returns the identifier of a job by its name, if one has not ended; empty: there is none.
	Find(ctx context.Context, name string) (id string, err error)
	// Look returns what the tasks of a job do.
	Look(ctx context.Context, id string) (Tasks, error)
	// Cancel takes tasks that wait out of the queue; those that run end by themselves.
	Cancel(ctx context.Context, id string) error
	// Commands returns the scheduler's own commands that end a job and that show it.
	Commands(id string) (end, show string)
}
