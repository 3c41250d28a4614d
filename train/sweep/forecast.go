package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Forecast is the state of a run and its estimated time.
type Forecast struct {
	Run
	State   State         // state in the folder
	Dir     string        // empty: the run has no folder yet
	Takes   time.Duration // 0: the run is finished, or its time is unknown
	Unknown bool          // no run of equal cost has ended or was rehearsed
	Like    string        // rehearsed run whose time is used because the limit has passed; empty: a run of equal cost was timed
}

// Rehearser estimates the time of a run on a number of threads, with alone only of the training; see [train.Rehearse].
type Rehearser func(ctx context.Context, c train.Config, threads int, alone bool) (*train.Estimate, error)

// Forecasting are the options of [Forecasts].
type Forecasting struct {
	Jobs     int                               // concurrent runs
	Times    func(r Run) (time.Duration, bool) // looks up the time of a run elsewhere, such as in a ledger; nil: no lookup
	Rehearse Rehearser                         // nil: no rehearsals, so times stay unknown
	Limit    time.Duration                     // only the first rehearsal may begin later; 0: no limit
	Observe  func(run string, nth, most int)   // called when a rehearsal begins, with its number and the maximum number of rehearsals; nil: no calls
}

// Forecasts lists the state of each run. It estimates the times of the missing runs from finished runs of equal cost
// ([CostOf]), or by Times. With a Rehearser, it rehearses one run of each remaining cost, with one concurrent copy per
// job. Without a Rehearser, these times stay unknown.
//
// It rehearses the work after training once for runs with the same data, model and metrics. The next run to rehearse is
// always the run least similar to the rehearsed runs. After the limit, every other run takes the time of the most
// similar rehearsed run. Forecasts writes nothing to the folder. With a log, it checks the missing runs first.
func Forecasts(ctx context.Context, dir string, runs []Run, o Forecasting, log *slog.Logger) ([]Forecast, error) {
	if log != nil {
		if err := checkRuns(ctx, dir, runs, true, false, log); err != nil {
			return nil, err
		}
	}
	entries, err := Scan(dir)
	if err != nil {
		return nil, err
	}
	known := finishedTimes(entries)
	found := Find(entries)
	var list []Forecast
	unknown := &costClasses{}
	costs := make([]string, len(runs))
	missing := 0
	for i, r := range runs {
		f := Forecast{Run: r, State: Unfinished}
		if e, ok := found[r.Hash]; ok {
			f.State, f.Dir = e.State, e.Dir
		}
		if f.State != Finished {
			missing++
			if costs[i] = CostOf(r); !known.lookUp(costs[i], r, o.Times) {
				unknown.add(costs[i], r)
			}
		}
		list = append(list, f)
	}
	o.Jobs = max(1, min(o.Jobs, missing))
	if o.Rehearse != nil {
		if err := unknown.rehearse(ctx, &rehearsals{Forecasting: o, endEstimates: map[string]*train.Estimate{}}); err != nil {
			return nil, err
		}
	}
	for i := range list {
		f := &list[i]
		if f.State == Finished {
			continue
		}
		if k := unknown.find(costs[i]); k == nil {
			f.Takes = inSeconds(known[costs[i]].mean())
		} else if f.Unknown = o.Rehearse == nil; !f.Unknown {
			if f.Takes = inSeconds(k.seconds()); k.estimate == nil {
				f.Like = k.nearest.run.Name
			}
		}
	}
	return list, nil
}

func inSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

type meanTimes map[string]*average // holds the mean time of runs by cost

func (t meanTimes) add(cost string, seconds float64) {
	if t[cost] == nil {
		t[cost] = &average{}
	}
	t[cost].add(seconds)
}

// lookUp reports whether the time of a cost is known. If it is unknown, lookUp calls elsewhere, unless
// elsewhere is nil.
func (t meanTimes) lookUp(cost string, r Run, elsewhere func(r Run) (time.Duration, bool)) bool {
	if t[cost] == nil && elsewhere != nil {
		if takes, ok := elsewhere(r); ok {
			t.add(cost, takes.Seconds())
		}
	}
	return t[cost] != nil
}

func finishedTimes(entries []Entry) meanTimes {
	known := meanTimes{}
	for _, e := range entries {
		if e.State == Finished {
			known.add(CostOf(Run{Config: e.Config, Hash: e.Hash}), secondsOf(e.Record))
		}
	}
	return known
}

// secondsOf returns how long a finished run took: in several sessions, or from begin to end.
func secondsOf(r *rundir.Record) float64 { return max(r.Seconds, r.Ended.Sub(r.Begun).Seconds()) }

// rehearsals estimates runs without a finished run of their cost.
type rehearsals struct {
	Forecasting
	endEstimates map[string]*train.Estimate // by the settings of the work after training
}

func (r *rehearsals) estimate(ctx context.Context, run Run) (*train.Estimate, error) {
	c := run.Config
	c.Losses, c.Train.Optimizer = nil, train.Config{}.Train.Optimizer
	end := CostOf(Run{Config: c, Hash: run.Hash})
	known := r.endEstimates[end]
	e, err := r.slowestCopy(ctx, run, known != nil)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		return e.With(known), nil
	}
	r.endEstimates[end] = e
	return e, nil
}

// slowestCopy rehearses a run once per job at the same time, and returns the slowest rehearsal.
func (r *rehearsals) slowestCopy(ctx context.Context, run Run, alone bool) (slowest *train.Estimate, err error) {
	threads := max(1, runtime.GOMAXPROCS(0)/r.Jobs)
	var lock sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range r.Jobs {
		all.Go(func() {
			e, err := r.Rehearse(ctx, run.Config, threads, alone)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				failed = err
			case slowest == nil || e.Seconds() > slowest.Seconds():
				slowest = e
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, train.ErrStopped
	}
	if failed != nil {
		return nil, fmt.Errorf("run %s: %w", run.Name, failed)
	}
	return slowest, nil
}

// RehearseProcesses returns a Rehearser that works in a separate process, like [Processes]. It starts the program with
// args, a folder with the config, the number of threads, and a boolean: true for a rehearsal of the training alone. The
// program must call [WorkRehearsal]. The estimate includes the start of the process.
func RehearseProcesses(program string, args ...string) Rehearser {
	return func(ctx context.Context, c train.Config, threads int, alone bool) (*train.Estimate, error) {
		dir, err := os.MkdirTemp("", "unravel-rehearsal-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		text, err := c.Encode()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, rundir.Config), text, 0o600); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, program, append(args[:len(args):len(args)], disk.Argument(dir), strconv.Itoa(threads),
			strconv.FormatBool(alone))...)
		cmd.Cancel, cmd.WaitDelay = func() error { return interrupt(cmd.Process) }, saveWait
		last := &outputTail{}
		cmd.Stderr = last
		begin := time.Now()
		out, err := cmd.Output()
		if ctx.Err() != nil {
			return nil, train.ErrStopped
		}
		var found rehearsalMessage
		if decoding := json.Unmarshal(out, &found); decoding != nil {
			return nil, fmt.Errorf("the process of the rehearsal: %w%s", errors.Join(err, decoding), last)
		}
		if found.Error != "" {
			if err := train.Check(c); err != nil { // this error names the user's file; the error above does not
				return nil, err
			}
			return nil, errors.New(found.Error)
		}
		found.Begin += max(0, time.Since(begin).Seconds()-found.Inside)
		return &found.Estimate, nil
	}
}

// rehearsalMessage is the message of a process about its rehearsal.
type rehearsalMessage struct {
	train.Estimate
	Inside float64 `json:"inside_seconds"` // duration of the whole rehearsal
	Error  string  `json:"error,omitempty"`
}

// WorkRehearsal rehearses the run of the config in a folder, in a process started by [RehearseProcesses]. It returns
// the output that the process must print.
func WorkRehearsal(ctx context.Context, dir string, threads int, alone bool) ([]byte, error) {
	begin := time.Now()
	var r rehearsalMessage
	c, err := train.ReadConfig(dir)
	if err == nil {
		c.Train.Threads = threads
		var e *train.Estimate
		if e, err = train.Rehearse(ctx, c, alone); err == nil {
			r.Estimate = *e
		}
	}
	if err != nil {
		r.Error = err.Error()
	}
	r.Inside = time.Since(begin).Seconds()
	return json.Marshal(r)
}

// Span returns the total time of runs with these durations. Runs start in order, each when one of the jobs is free.
func Span(takes []time.Duration, jobs int) (longest time.Duration) {
	ends := make([]time.Duration, max(1, jobs))
	for _, d := range takes {
		next := slices.Index(ends, slices.Min(ends))
		ends[next] += d
		longest = max(longest, ends[next])
	}
	return longest
}
