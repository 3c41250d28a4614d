package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Options are the options of Execute.
type Options struct {
	Retry   bool               // repeat failed runs
	Every   time.Duration      // interval between looks at the job, shorter at first; 0: 5 seconds
	Log     *slog.Logger       // receives the events of the job; nil: silent
	Observe func(sweep.Status) // if set, receives progress
}

const (
	defaultEvery = 5 * time.Second
	// firstWait is the time until the second look at a job; it doubles after each look.
	firstWait = 250 * time.Millisecond
	// maxIdle is the maximum number of consecutive jobs that end without a new run or a new checkpoint.
	maxIdle = 3
)

// Execute trains the missing runs of the folder job.Dir as tasks of jobs. It returns the outcomes of all runs in order,
// like [sweep.Execute]. If an earlier job has not ended, Execute follows that job. When the context ends, the error is
// train.ErrStopped, and the job continues. job.Tasks is the maximum number of tasks; 0 means one task per missing run.
func Execute(ctx context.Context, s Scheduler, job Job, runs []sweep.Run, o Options) ([]sweep.Outcome, error) {
	o.Log = plain.Or(o.Log)
	o.Every = cmp.Or(o.Every, defaultEvery)
	progress, err := sweep.Prepare(ctx, job.Dir, runs, o.Retry, o.Log)
	if err != nil {
		return nil, err
	}
	f := &follower{Options: o, scheduler: s, job: job, progress: progress, wait: min(firstWait, o.Every)}
	err = f.follow(ctx)
	if ctx.Err() != nil {
		err = train.ErrStopped
	}
	return progress.Outcomes(), err
}

type follower struct {
	Options
	scheduler Scheduler
	job       Job
	progress  *sweep.Progress

	id            string
	wait          time.Duration // time until the next look
	idle          int           // consecutive jobs without anything new
	submittedMark string        // state of the runs when the job was submitted
	lastProblem   string        // problem that was reported last
}

// jobFile is the content of a file in [OutputDir]: the job of a sweep.
type jobFile struct {
	Scheduler string    `json:"scheduler"`
	ID        string    `json:"id"`
	Tasks     int       `json:"tasks"`
	Submitted time.Time `json:"submitted"` // time of the submission, for people
}

func (f *follower) path() string { return filepath.Join(f.job.Dir, OutputDir, f.job.Name+".json") }

func (f *follower) follow(ctx context.Context) error {
	for {
		done, err := f.progress.Look()
		if f.Observe != nil {
			f.Observe(f.progress.Status())
		}
		if err != nil || done {
			return errors.Join(err, f.end(ctx))
		}
		if err := f.step(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			if f.id != "" {
				end, _ := f.scheduler.Commands(f.id)
				f.say("job %s goes on; the same command follows it again, and `%s` ends it", f.id, end)
			}
			return ctx.Err()
		case <-time.After(f.wait):
			f.wait = min(2*f.wait, f.Every)
		}
	}
}

func (f *follower) say(format string, args ...any) {
	f.Log.Info(fmt.Sprintf(format, args...), "event", "job", "job", f.id, "scheduler", f.scheduler.Name())
}

// step looks at the job, and submits one if none exists.
func (f *follower) step(ctx context.Context) error {
	if f.id == "" {
		return f.submit(ctx)
	}
	t, err := f.scheduler.Look(ctx, f.id)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil && !errors.Is(err, ErrUnknown) {
		f.reportProblem(err)
		return nil
	}
	f.lastProblem = ""
	if t.Active() {
		return nil
	}
	return f.resubmit(t)
}

// reportProblem reports a temporary problem, once.
func (f *follower) reportProblem(err error) {
	if text := err.Error(); text != f.lastProblem {
		f.lastProblem = text
		f.say("%v; asking again", err)
	}
}

// resubmit decides what to do after the last task of a job.
func (f *follower) resubmit(t Tasks) error {
	done, err := f.progress.Look() // the last run may have ended meanwhile
	if err != nil || done {
		return err
	}
	_, show := f.scheduler.Commands(f.id)
	if t.Cancelled > 0 {
		return fmt.Errorf("job %s was cancelled; the same command submits the runs that are missing", f.id)
	}
	reason := ""
	if t.Why != "" {
		reason = " (" + t.Why + ")"
	}
	if mark := f.progress.Mark(); mark != f.submittedMark {
		f.idle = 0
	} else if f.idle++; f.idle == maxIdle {
		return fmt.Errorf("job %s ended%s without a step of a run, like the jobs before it; see %s, and the output of its tasks in %s", f.id, reason, show,
			filepath.Join(f.job.Dir, OutputDir))
	}
	f.say("job %s ended%s with runs to make; submitting them", f.id, reason)
	f.id = ""
	return os.Remove(f.path())
}

// submit follows the existing job, or submits a new one, under a lock that stops other submissions.
func (f *follower) submit(ctx context.Context) (err error) {
	unlock, err := rundir.Lock(ctx, filepath.Join(f.job.Dir, OutputDir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	f.submittedMark = f.progress.Mark()
	if f.id, err = f.find(ctx); err != nil || f.id != "" {
		return err
	}
	maxTasks, err := f.scheduler.Most(ctx)
	if err != nil {
		return err
	}
	j := f.job
	j.Tasks = Size(f.job.Tasks, maxTasks, f.progress.Missing())
	if f.id, err = f.scheduler.Submit(ctx, &j); err != nil {
		return err
	}
	_, show := f.scheduler.Commands(f.id)
	f.wait = min(firstWait, f.Every)
	f.say("submitted job %s of %d tasks for %d runs (%s)", f.id, j.Tasks, f.progress.Missing(), show)
	return disk.WriteFile(f.path(),
		rundir.JSON(jobFile{f.scheduler.Name(), f.id, j.Tasks, time.Now().UTC().Round(time.Second)}), false)
}

// Size returns the number of tasks for missing runs: at most wanted, and at most maximum (0: no maximum).
func Size(wanted, maximum, missing int) int {
	n := missing
	for _, limit := range []int{wanted, maximum} {
		if limit > 0 {
			n = min(n, limit)
		}
	}
	return max(n, 1)
}

// find returns the unfinished job of an earlier call: the job in the file, or the job with this name.
func (f *follower) find(ctx context.Context) (string, error) {
	var k jobFile
	text, err := os.ReadFile(f.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	id := ""
	if err == nil && json.Unmarshal(text, &k) == nil && k.Scheduler == f.scheduler.Name() && k.ID != "" {
		t, err := f.scheduler.Look(ctx, k.ID)
		if err != nil && !errors.Is(err, ErrUnknown) {
			return "", err
		}
		if t.Active() {
			id = k.ID
		}
	}
	if id == "" {
		id, err = f.scheduler.Find(ctx, f.job.Name)
	}
	if id != "" {
		f.id = id
		f.say("job %s was submitted before; following it", id)
	}
	return id, err
}

// end removes tasks without work from the queue.
func (f *follower) end(ctx context.Context) error {
	if f.id == "" {
		return nil
	}
	if t, err := f.scheduler.Look(ctx, f.id); err == nil && t.Waiting > 0 {
		if err := f.scheduler.Cancel(ctx, f.id); err != nil {
			f.reportProblem(err)
		}
	}
	if err := os.Remove(f.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
