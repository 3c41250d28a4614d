package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/internal/parallel"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Starter trains or resumes the run in a folder, and calls report with the steps done and the steps of all epochs. The
// error is rundir.ErrLocked if another process holds the run, and train.ErrStopped if the context ended.
type Starter func(ctx context.Context, dir string, threads int, report func(done, all int)) error

// Options are the options of Execute.
type Options struct {
	Jobs    int          // concurrent runs, which share the processors; less than 1: one run
	Retry   bool         // train failed runs again
	NoWait  bool         // do not wait for runs that other processes train
	Index   int          // index of this task, from 0; the task starts with the runs Index, Index + Of, Index + 2 Of ...
	Of      int          // number of tasks; 0: not a task of a cluster
	Start   Starter      // trains a run; nil: [InProcess]
	Log     *slog.Logger // receives the events of the sweep; nil: silent
	Observe func(Status) // if set, periodically receives the overall progress; calls are serialised
}

// Outcome is the state of a run after Execute.
type Outcome struct {
	Run
	Entry
	Before bool // the run finished or failed before this call
}

const waitLocked = 500 * time.Millisecond // interval for checking a run that another process holds

// Execute trains the missing runs in a folder, and returns the outcomes of all runs in order. It records the error of a
// failed run and continues with the other runs. A config that cannot be trained gives an error before the first run
// starts. When the context ends, the error is train.ErrStopped, and Execute returns the outcomes so far.
func Execute(ctx context.Context, dir string, runs []Run, o Options) ([]Outcome, error) {
	if o.Start == nil {
		o.Start = InProcess
	}
	o.Log = plain.Or(o.Log)
	dirs, err := createFolders(ctx, dir, runs, o.Retry, o.Of > 0, o.Log)
	if err != nil {
		return nil, err
	}
	jobs := max(1, min(o.Jobs, len(runs)))
	e := &execution{Options: o, runs: runs, dirs: dirs, outcomes: make([]Outcome, len(runs)), meter: newMeter(runs)}
	e.threads, e.watch = max(1, runtime.GOMAXPROCS(0)/jobs), rundir.NewWatch()
	for missing := e.missing(ctx); len(missing) > 0 && ctx.Err() == nil; {
		missing = e.trainMissing(ctx, jobs, missing)
	}
	for i := range e.outcomes {
		if e.outcomes[i].Dir == "" { // not reached
			e.outcomes[i] = Outcome{Run: runs[i], Entry: Read(dirs[i])}
		}
	}
	if ctx.Err() != nil {
		return e.outcomes, train.ErrStopped
	}
	return e.outcomes, nil
}

type execution struct {
	Options
	runs     []Run
	dirs     []string
	outcomes []Outcome
	threads  int // threads per run
	queue    chan int
	watch    *rundir.Watch

	lock       sync.Mutex
	remaining  int   // unsettled runs in this pass
	settledAny bool  // this pass has settled a run
	skipped    []int // runs of this pass that other processes hold
	meter      *meter
}

// missing lists the runs to train: of this task, then the runs after them, and last the runs before them.
func (e *execution) missing(ctx context.Context) (list []int) {
	hasher := new(datasets.Hasher)
	for i, run := range e.runs {
		entry := Read(e.dirs[i])
		if entry.State == Finished || entry.State == Failed && !e.Retry {
			e.outcomes[i] = Outcome{Run: run, Entry: entry, Before: true}
			for _, change := range changedInputs(ctx, entry, hasher) {
				e.Log.Warn(run.Name+": "+change, "event", "data", "run", run.Name)
			}
			e.meter.end(i, e.outcomes[i])
			continue
		}
		list = append(list, i)
	}
	if e.Of < 1 {
		return list
	}
	var first, last, next []int
	for _, i := range list {
		switch {
		case i%e.Of == e.Index:
			first = append(first, i)
		case i < e.Index:
			last = append(last, i)
		default:
			next = append(next, i)
		}
	}
	return slices.Concat(first, next, last)
}

// changedInputs lists the user's files that have changed since a run read them, except deleted files.
func changedInputs(ctx context.Context, e Entry, h *datasets.Hasher) []string {
	if e.Record == nil || e.Record.Data == nil || len(e.Record.Data.Inputs) == 0 {
		return nil
	}
	now, err := e.Config.Inputs(ctx, h)
	if err != nil {
		return nil
	}
	return datasets.ChangedInputs(e.Record.Data.Inputs, now)
}

// trainMissing settles runs, jobs at a time. If it has settled a run, it returns the runs that other processes hold, to
// check again.
func (e *execution) trainMissing(ctx context.Context, jobs int, missing []int) (skipped []int) {
	e.queue, e.remaining, e.settledAny, e.skipped = make(chan int, len(missing)), len(missing), false, nil
	for _, i := range missing {
		e.queue <- i
	}
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() { e.work(ctx) })
	}
	workers.Wait()
	if !e.settledAny {
		return nil
	}
	return e.skipped
}

// work settles runs until the queue is empty or the context ends.
func (e *execution) work(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case i, ok := <-e.queue:
			if !ok {
				return
			}
			settled := e.trainRun(ctx, i)
			switch {
			case settled || e.NoWait:
				e.finishItem(i, settled)
			case ctx.Err() == nil:
				time.AfterFunc(waitLocked, func() { e.queue <- i })
			}
		}
	}
}

// finishItem ends the pass of a run.
func (e *execution) finishItem(i int, settled bool) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if settled {
		e.settledAny = true
	} else {
		e.skipped = append(e.skipped, i)
	}
	if e.remaining--; e.remaining == 0 {
		close(e.queue)
	}
}

// trainRun trains a run if it is missing. It returns false if another process holds the run, or if the run was stopped.
func (e *execution) trainRun(ctx context.Context, i int) (settled bool) {
	run, dir := e.runs[i], e.dirs[i]
	entry := Read(dir)
	if entry.State == Finished || entry.State == Failed && (!e.Retry || e.heldByOther(i)) {
		e.settle(i, Outcome{Run: run, Entry: entry}) // another process trained it
		return true
	}
	if entry.State == Unfinished && entry.Problem != nil {
		e.Log.Info(fmt.Sprintf("%s is finished again: %v", run.Name, entry.Problem), "event", "finish", "run", run.Name)
	}
	if entry.State != Damaged && isHeld(e.watch, dir) {
		e.updateMeter(func(m *meter) { m.elsewhere[i] = true })
		return false
	}
	begun := time.Now()
	e.updateMeter(func(m *meter) { m.begin(i, begun) })
	err := e.Start(ctx, dir, e.threads, func(done, all int) { e.updateMeter(func(m *meter) { m.step(i, done, all) }) })
	switch {
	case errors.Is(err, rundir.ErrLocked):
		e.updateMeter(func(m *meter) { m.elsewhere[i] = true })
		return false
	case errors.Is(err, train.ErrStopped), err != nil && ctx.Err() != nil:
		return false
	}
	entry = readOutcome(dir, run, err, begun, e.Log)
	e.settle(i, Outcome{Run: run, Entry: entry})
	return true
}

// readOutcome reads the folder of a run that ended with err, possibly nil, and records the error.
func readOutcome(dir string, run Run, err error, begun time.Time, log *slog.Logger) Entry {
	entry := Read(dir)
	if err == nil && entry.State != Finished {
		err = errors.Join(errors.New("it ended without an error, and is not finished"), entry.Problem)
	}
	if err != nil {
		// the run may have recorded the error already, with its history
		if entry.State != Failed || entry.Problem.Error() != err.Error() {
			if recording := rundir.RecordFailure(dir, err, begun); recording != nil {
				err = fmt.Errorf("%w (and it cannot be recorded: %w)", err, recording)
			}
		}
		log.Error(fmt.Sprintf("%s failed: %v", run.Name, err), "event", "failed", "run", run.Name, "error", err)
		entry = Read(dir)
		entry.State, entry.Problem = Failed, err // even if the run could not record it
	} else if entry.Hash != run.Hash { // keep the record of the other config
		entry.State, entry.Problem = Failed,
			fmt.Errorf("%s is not the run of the sweep any more: %s; the next sweep trains the run in another folder",
				dir, cmp.Or(entry.Other, "its config has changed"))
		log.Error(fmt.Sprintf("%s failed: %v", run.Name, entry.Problem), "event", "failed", "run", run.Name, "error",
			entry.Problem)
	}
	return entry
}

// heldByOther reports whether another process held the run at the last check.
func (e *execution) heldByOther(i int) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.meter.elsewhere[i]
}

func isHeld(w *rundir.Watch, dir string) bool {
	store, err := w.Open(dir)
	if err != nil {
		return errors.Is(err, rundir.ErrLocked)
	}
	return store.Close() != nil
}

func (e *execution) settle(i int, o Outcome) {
	e.outcomes[i] = o
	e.updateMeter(func(m *meter) { m.end(i, o) })
}

// updateMeter updates the meter and calls the observer.
func (e *execution) updateMeter(change func(*meter)) {
	e.lock.Lock()
	defer e.lock.Unlock()
	change(e.meter)
	if e.Observe != nil {
		e.Observe(e.meter.status(time.Now()))
	}
}

// InProcess trains a run in this process.
func InProcess(ctx context.Context, dir string, threads int, report func(done, all int)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = parallel.Recovered(p)
		}
	}()
	return resume(ctx, dir, threads, train.Options{Progress: report})
}

func resume(ctx context.Context, dir string, threads int, o train.Options) error {
	e := Read(dir)
	switch e.State {
	case Damaged:
		return e.Problem
	case Finished: // another process has just finished it
		return fmt.Errorf("%s: %w", dir, rundir.ErrLocked)
	}
	e.Config.Train.Threads = threads
	o.Dir, o.Resume, o.Once = dir, true, e.Record == nil
	_, err := train.Run(ctx, e.Config, o)
	return err
}
