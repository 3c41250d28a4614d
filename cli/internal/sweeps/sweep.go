// Package sweeps holds the command sweep with its processes, and flags for clusters and forecasts.
package sweeps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/cli/internal/serving"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/search"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Command is `unravel sweep FILE`.
type Command struct {
	File  string `arg:"" name:"config" help:"YAML file of the sweep (see docs/sweeps.md)."`
	Jobs  int    `default:"1" help:"Number of concurrent runs, which share the processors."`
	Retry bool   `help:"Also repeat failed runs."`
	DryRunFlags

	Simulate SimulateFlag `placeholder:"nodes=N,cores=N" help:"Print how long all runs would take on a cluster and what would limit them, without training." detail:"If no finished run shows how long a run takes, the command trains its first steps. Further keys are threads, start, spread, array, ops, latency, bandwidth, checkpoint, interval, run and folder. Missing keys get values of a typical cluster, which the command prints (see docs/cluster.md#how-large)."`

	Out  string `placeholder:"DIR" writes:"folder" help:"Folder of the runs (default: runs/NAME)."`
	JSON bool   `name:"json" help:"Print one JSON object on standard output."`

	serving.Flags
	ClusterFlags
}

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	if c.Jobs < 1 {
		return ui.Usagef("--jobs %d: want 1 or more", c.Jobs)
	}
	others := map[string]bool{"--retry": c.Retry, "--dry-run": c.DryRun, "--simulate": c.Simulate.Machines != nil,
		"--json": c.JSON, "--serve": c.Serve}
	if err := errors.Join(c.CheckCluster(c.Jobs, others), c.CheckRehearse()); err != nil {
		return err
	}
	plan, err := sweep.Open(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := configs.Read(c.File); err == nil {
			return ui.Usagef("%s is the config of one run, for unravel train %s; want the YAML file of a sweep", c.File, c.File)
		}
		return ui.Usagef("there is no sweep %s; want a YAML file", c.File)
	}
	if err != nil {
		return err
	}
	c.Out = cmp.Or(c.Out, filepath.Join("runs", plan.Name))
	if plan.Search.Value != nil {
		return c.search(ctx, s, plan)
	}
	runs, err := plan.Runs()
	if err != nil {
		return err
	}
	switch {
	case c.Simulate.Machines != nil:
		found, err := c.Simulate.Simulate(ctx, s.Log, c.Out, runs)
		if err != nil {
			return err
		}
		return c.Simulate.Show(s.Out, c.JSON, plan.Name, found)
	case c.DryRun:
		list, err := Forecasts(ctx, s.Log, c.Out, runs,
			Forecasting{Jobs: c.Jobs, Elsewhere: c.On != "", Check: true, Rehearse: c.Rehearse})
		if err != nil {
			return err
		}
		return ShowForecasts(s.Out, c.JSON, c.Out, list, c.Jobs)
	}
	execute := func() ([]sweep.Outcome, error) { return Execute(ctx, s, c.Out, runs, c.Jobs, c.Retry, &c.ClusterFlags) }
	if c.On != "" {
		job, err := c.Job(plan.Name, c.Out, "sweep", disk.Argument(c.File), "--out", disk.Argument(c.Out))
		if err != nil {
			return err
		}
		if c.Print {
			return c.ClusterFlags.PrintJob(ctx, s, job, runs)
		}
		execute = func() ([]sweep.Outcome, error) { return c.Submit(ctx, s, job, runs, c.Retry) }
	}
	return c.Serving(ctx, s, serving.Content{Dir: c.Out}, func() error {
		outcomes, err := execute()
		if outcomes == nil {
			return err
		}
		return errors.Join(c.print(s.Out, outcomes), err, Failures(outcomes, c.Out))
	})
}

// Execute makes each run in a separate process and shows progress.
func Execute(ctx context.Context, s *ui.Streams, dir string, runs []sweep.Run, jobs int, retry bool,
	f *ClusterFlags) ([]sweep.Outcome, error) {
	o, end, err := processes(ctx, s, jobs, retry)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := f.task(&o, len(runs)); err != nil {
		return nil, err
	}
	return sweep.Execute(ctx, dir, runs, o)
}

// processes returns options that make runs in processes and show progress until end is called.
func processes(ctx context.Context, s *ui.Streams, jobs int, retry bool) (o sweep.Options, end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return o, nil, err
	}
	ui.Allow(ctx, ui.SweepPatience)
	p := newProgress(s.Log)
	o = sweep.Options{Jobs: jobs, Retry: retry, Start: sweep.Processes(program, "worker"), Log: plain.Logger(p),
		Observe: p.observe}
	return o, p.clear, nil
}

// Failures returns the error of a sweep with failed runs; nil if none failed.
func Failures(outcomes []sweep.Outcome, dir string) error {
	var failed []string
	for _, o := range outcomes {
		if o.State == sweep.Failed {
			failed = append(failed, fmt.Sprintf("%s: %v", o.Run.Name, o.Problem))
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("runs failed in %s; --retry repeats them:\n%s", dir, ui.SomeLines(failed))
}

// Run is a run in the JSON output.
type Run struct {
	Name    string             `json:"name"`
	Dir     string             `json:"dir,omitempty"`
	State   sweep.State        `json:"state"`
	Error   string             `json:"error,omitempty"`
	Seconds float64            `json:"seconds,omitempty"`
	Unknown bool               `json:"unknown,omitempty"` // a dry run has no estimate
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Fit     *train.Fit         `json:"fit,omitempty"`
}

func (c *Command) print(w io.Writer, outcomes []sweep.Outcome) error {
	var list []Run
	for _, o := range outcomes {
		r := Run{Name: o.Run.Name, Dir: o.Dir, State: o.State, Fit: o.Fit}
		if o.Problem != nil {
			r.Error = o.Problem.Error()
		}
		if o.Record != nil {
			r.Seconds = o.Record.Seconds
		}
		for _, m := range o.Metrics {
			if r.Metrics == nil {
				r.Metrics = map[string]float64{}
			}
			r.Metrics[m.Name] = m.Value
		}
		list = append(list, r)
	}
	if c.JSON {
		return ui.WriteJSON(w, map[string]any{"dir": c.Out, "runs": list})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tSECONDS\tRESULT")
	for i, r := range list {
		result, seconds := "-", fmt.Sprintf("%.1f", r.Seconds)
		if r.State == sweep.Unfinished {
			seconds = "-"
		}
		switch {
		case r.State == sweep.Failed:
			result, _, _ = strings.Cut(r.Error, "\n")
		case len(outcomes[i].Metrics) > 0:
			var parts []string
			for _, m := range outcomes[i].Metrics {
				parts = append(parts, fmt.Sprintf("%s %.4g", m.Name, m.Value))
			}
			result = strings.Join(parts, "  ")
		}
		if r.Fit != nil && !r.Fit.Converged {
			result += "  (not converged: " + r.Fit.Why + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.Name, r.State, seconds, result)
	}
	return t.Flush()
}

func (c *Command) search(ctx context.Context, s *ui.Streams, plan *sweep.Plan) error {
	for flag, set := range map[string]bool{"--simulate": c.Simulate.Machines != nil, "--on": c.On != "",
		"--index": c.Index.Set, "--rehearse": c.Rehearse} {
		if set {
			return ui.Usagef("%s needs the runs beforehand, and a search draws them one by one; start unravel sweep %s on each machine", flag, c.File)
		}
	}
	search, err := plan.NewSearch()
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.previewSearch(ctx, s, search)
	}
	return c.Serving(ctx, s, serving.Content{Dir: c.Out}, func() error {
		o, end, err := processes(ctx, s, c.Jobs, c.Retry)
		if err != nil {
			return err
		}
		o.NoWait = c.NoWait
		trials, failure := search.Execute(ctx, c.Out, o)
		end()
		if trials == nil {
			return failure
		}
		if err := c.printTrials(s.Out, search, trials); err != nil {
			return err
		}
		if failure == nil && trials.Best() == nil && len(trials.List) > 0 {
			failure = fmt.Errorf("no trial in %s has a value of %s", c.Out, search.Method.Value.Common().Objective())
		}
		return failure
	})
}

type searchTrial struct {
	Trial    int               `json:"trial"`
	Name     string            `json:"name,omitempty"`
	Dir      string            `json:"dir,omitempty"`
	State    sweep.State       `json:"state"`
	Error    string            `json:"error,omitempty"`
	Seconds  float64           `json:"seconds,omitempty"`
	Epochs   int               `json:"epochs,omitempty"`
	Value    *float64          `json:"value,omitempty"`
	Settings map[string]string `json:"settings"`
}

func trialOf(t *sweep.Trial) searchTrial {
	r := searchTrial{Trial: t.Index, Name: t.Name, Dir: t.Dir, State: t.State, Epochs: t.Epochs,
		Settings: asMap(t.Settings)}
	if t.Problem != nil {
		r.Error = t.Problem.Error()
	}
	if t.Record != nil {
		r.Seconds = t.Record.Seconds
	}
	if !math.IsNaN(t.Value) {
		r.Value = &t.Value
	}
	return r
}

func asMap(list sweep.Settings) map[string]string {
	m := map[string]string{}
	for _, s := range list {
		m[s.Key] = s.Value
	}
	return m
}

// SearchOutput is the JSON output about a search.
type SearchOutput struct {
	Dir       string       `json:"dir"`
	Search    string       `json:"search"`
	Objective string       `json:"objective"`
	Better    string       `json:"better"` // higher or lower
	Budget    string       `json:"budget"`
	CoreHours float64      `json:"core_hours"`
	Best      *searchTrial `json:"best,omitempty"`
	Command   []string     `json:"command,omitempty"` // makes the best trial's run alone
	Ended     int          `json:"ended"`

	Trials []searchTrial       `json:"trials,omitempty"`
	Space  map[string]string   `json:"space,omitempty"` // only of a dry run, like the next fields
	Rungs  []int               `json:"rungs,omitempty"`
	Next   []map[string]string `json:"next,omitempty"`
}

func (c *Command) searchOutput(search *sweep.Search, trials *sweep.Trials) SearchOutput {
	common := search.Method.Value.Common()
	o := SearchOutput{Dir: c.Out, Search: search.Method.Name, Objective: common.Objective(),
		Better: trials.Better.String(),
		Budget: common.Budget(), CoreHours: trials.CoreHours, Ended: ended(trials)}
	if best := trials.Best(); best != nil {
		o.Best, o.Command = new(trialOf(best)), search.Command(best)
	}
	return o
}

func (c *Command) printTrials(w io.Writer, search *sweep.Search, trials *sweep.Trials) error {
	if c.JSON {
		all := c.searchOutput(search, trials)
		for i := range trials.List {
			all.Trials = append(all.Trials, trialOf(&trials.List[i]))
		}
		return ui.WriteJSON(w, all)
	}
	objective := search.Method.Value.Common().Objective()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "TRIAL\tSTATE\tSECONDS\tEPOCHS\t%s\tSETTINGS\n", strings.ToUpper(objective))
	for _, trial := range trials.List {
		seconds, epochs, value, settings := "-", "-", "-", trial.Settings.String()
		if trial.Record != nil {
			seconds = fmt.Sprintf("%.1f", trial.Record.Seconds)
		}
		if !math.IsNaN(trial.Value) {
			epochs, value = fmt.Sprint(trial.Epochs), fmt.Sprintf("%.4g", trial.Value)
		}
		if trial.State == sweep.Failed {
			reason, _, _ := strings.Cut(trial.Problem.Error(), "\n")
			settings += "  (" + reason + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", trial.Name, trial.State, seconds, epochs, value, settings)
	}
	t.Flush()
	if best := trials.Best(); best != nil {
		fmt.Fprintf(w, "best: %s, %s %.4g after %s (%s is better)\n%s\n", best.Name, objective, best.Value,
			wording.Count(best.Epochs, "epoch"), trials.Better, wording.Shell(search.Command(best)...))
	}
	return nil
}

const maxPreview = 8

func (c *Command) previewSearch(ctx context.Context, s *ui.Streams, sweepSearch *sweep.Search) error {
	trials, err := sweepSearch.Trials(ctx, c.Out)
	if err := cmp.Or(err, sweepSearch.Check()); err != nil {
		return err
	}
	method := sweepSearch.Method.Value
	next, common, rungs := sweepSearch.Preview(trials, maxPreview), method.Common(), method.Rungs()
	if c.JSON {
		all := c.searchOutput(sweepSearch, trials)
		all.Space, all.Rungs = map[string]string{}, rungs
		for _, r := range common.Space {
			all.Space[r.Key] = strings.TrimPrefix(r.String(), r.Key+": ")
		}
		for _, settings := range next {
			all.Next = append(all.Next, asMap(settings))
		}
		return ui.WriteJSON(s.Out, all)
	}
	fmt.Fprintf(s.Out, "%s, for a %s %s\n", sweepSearch.Method.Name, trials.Better, common.Objective())
	for _, r := range common.Space {
		fmt.Fprintf(s.Out, "  %s\n", r)
	}
	if rungs != nil {
		fmt.Fprintf(s.Out, "rungs of %s epochs\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(rungs), " ", ", "), "[]"))
	}
	for i, settings := range next {
		fmt.Fprintf(s.Out, "trial %d: %s\n", len(trials.List)+i, settings)
	}
	more := common.Runs == 0 || len(trials.List)+len(next) < common.Runs
	if _, ok := sweepSearch.Method.Value.(*search.TPE); ok && more && len(next) < maxPreview {
		fmt.Fprintln(s.Out, "further trials follow from results")
	}
	fmt.Fprintf(s.Out, "%s ended, %.3g core-hours used; budget: %s\n",
		wording.Count(ended(trials), "trial"), trials.CoreHours, common.Budget())
	return nil
}

func ended(trials *sweep.Trials) (n int) {
	for _, t := range trials.List {
		if t.State == sweep.Finished || t.State == sweep.Failed {
			n++
		}
	}
	return n
}

// Rehearse is the command of a process that estimates the time of a run.
type Rehearse struct {
	Dir     string `arg:""`
	Threads int    `arg:""`
	Alone   string `arg:"" enum:"true,false"`
}

func (c *Rehearse) Run(ctx context.Context, s *ui.Streams) error {
	text, err := sweep.WorkRehearsal(ctx, c.Dir, c.Threads, c.Alone == "true")
	if err == nil {
		_, err = s.Out.Write(text)
	}
	return err
}

// Worker is the command of a sweep's process for one run.
type Worker struct {
	Dir     string `arg:""`
	Threads int    `arg:""`
}

func (c *Worker) Run(ctx context.Context, s *ui.Streams) error {
	ui.Allow(ctx, ui.SavePatience)
	return sweep.Work(ctx, c.Dir, c.Threads, os.Stdin, s.Out, plain.Logger(s.Log))
}

// Prepare converts the public data sets of runs before the runs begin.
func Prepare(ctx context.Context, runs []sweep.Run, log io.Writer) error {
	var done []string
	for _, r := range runs {
		d := r.Config.Dataset
		text, err := config.Encode(d)
		if err != nil || slices.Contains(done, string(text)) {
			continue
		}
		done = append(done, string(text))
		if err := train.PrepareData(ctx, d, ui.Activity(log)); err != nil {
			if ctx.Err() != nil {
				return train.ErrStopped
			}
			return err
		}
	}
	return nil
}
