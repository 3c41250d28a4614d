package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/search"
	"github.com/unravel-ml/unravel/train/sweep"
)

// sweepCommand is `unravel sweep FILE`.
type sweepCommand struct {
	File  string `arg:"" name:"config" help:"YAML file of the sweep (see docs/sweeps.md)."`
	Jobs  int    `default:"1" help:"Number of runs at a time, which share the processors."`
	Retry bool   `help:"Repeat failed runs, too."`
	dryRunFlags

	Simulate simulateFlag `placeholder:"nodes=N,cores=N" help:"Print how long all runs would take on a cluster and what would limit them, but make no run." detail:"The command rehearses runs if no finished run tells their time. Further keys are threads, start, spread, array, ops, latency, bandwidth, checkpoint, interval, run and folder. Absent keys take assumptions about a usual cluster, which the command prints (see docs/scale.md)."`

	Out  string `placeholder:"DIR" writes:"folder" help:"Folder of the runs (default: runs/NAME)."`
	JSON bool   `name:"json" help:"Print one JSON object on standard output."`

	serveFlags
	clusterFlags
}

// Run makes the missing runs.
func (c *sweepCommand) Run(ctx context.Context, s *streams) error {
	if c.Jobs < 1 {
		return usagef("--jobs %d: want 1 or more", c.Jobs)
	}
	if err := errors.Join(c.check(c.Jobs), c.checkRehearse()); err != nil {
		return err
	}
	if err := c.checkPrint(map[string]bool{"--retry": c.Retry, "--dry-run": c.DryRun, "--simulate": c.Simulate.machines != nil, "--json": c.JSON, "--serve": c.Serve}); err != nil {
		return err
	}
	plan, err := sweep.Open(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := configs.Read(c.File); err == nil {
			return usagef("%s is the config of one run, for unravel train %s; want the YAML file of a sweep", c.File, c.File)
		}
		return usagef("there is no sweep %s; want a YAML file", c.File)
	}
	if err != nil {
		return err
	}
	if c.Out == "" {
		c.Out = filepath.Join("runs", plan.Name)
	}
	if plan.Search.Value != nil {
		return c.search(ctx, s, plan)
	}
	runs, err := plan.Runs()
	if err != nil {
		return err
	}
	if c.Simulate.machines != nil {
		return c.simulateSweep(ctx, s, plan.Name, runs)
	}
	if c.DryRun {
		return c.dryRun(ctx, s, runs)
	}
	make := func() ([]sweep.Outcome, error) { return execute(ctx, s, c.Out, runs, c.Jobs, c.Retry, &c.clusterFlags) }
	if c.On != "" {
		job, err := c.job(plan.Name, c.Out, "sweep", asArgument(c.File), "--out", asArgument(c.Out))
		if err != nil {
			return err
		}
		if c.Print {
			return c.clusterFlags.print(ctx, s, job, runs)
		}
		make = func() ([]sweep.Outcome, error) { return c.submit(ctx, s, job, runs, c.Retry) }
	}
	return c.serving(ctx, s, shown{dir: c.Out}, func() error {
		outcomes, err := make()
		if outcomes == nil {
			return err
		}
		return errors.Join(c.print(s.out, outcomes), err, failures(outcomes, c.Out))
	})
}

// execute makes each run in a separate process and shows progress.
func execute(ctx context.Context, s *streams, dir string, runs []sweep.Run, jobs int, retry bool, f *clusterFlags) ([]sweep.Outcome, error) {
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
func processes(ctx context.Context, s *streams, jobs int, retry bool) (o sweep.Options, end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return o, nil, err
	}
	allow(ctx, sweepPatience)
	p := newSweepProgress(s.log)
	o = sweep.Options{Jobs: jobs, Retry: retry, Start: sweep.Processes(program, "worker"), Log: plain.Logger(p), Observe: p.observe}
	return o, p.clear, nil
}

// failures returns the error of a sweep with failed runs; nil if none failed.
func failures(outcomes []sweep.Outcome, dir string) error {
	var failed []string
	for _, o := range outcomes {
		if o.State == sweep.Failed {
			failed = append(failed, fmt.Sprintf("%s: %v", o.Run.Name, o.Problem))
		}
	}
	if failed == nil {
		return nil
	}
	return fmt.Errorf("runs failed in %s, and are made again with --retry:\n%s", dir, someLines(failed))
}

// someLines writes the first three lines, and the number of further ones.
func someLines(list []string) string {
	more := ""
	if n := len(list); n > 3 {
		list, more = list[:3], fmt.Sprintf("\nand %d more", n-3)
	}
	return strings.Join(list, "\n") + more
}

// sweepRun is a run in the JSON output.
type sweepRun struct {
	Name    string             `json:"name"`
	Dir     string             `json:"dir,omitempty"`
	State   sweep.State        `json:"state"`
	Error   string             `json:"error,omitempty"`
	Seconds float64            `json:"seconds,omitempty"`
	Unknown bool               `json:"unknown,omitempty"` // whether a dry run has no estimate
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Fit     *train.Fit         `json:"fit,omitempty"`
}

// print lists the runs with their states and results.
func (c *sweepCommand) print(w io.Writer, outcomes []sweep.Outcome) error {
	var list []sweepRun
	for _, o := range outcomes {
		r := sweepRun{Name: o.Run.Name, Dir: o.Dir, State: o.State, Fit: o.Fit}
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
		return json.NewEncoder(w).Encode(map[string]any{"dir": c.Out, "runs": list})
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

// dryRun lists the runs that would be made.
func (c *sweepCommand) dryRun(ctx context.Context, s *streams, runs []sweep.Run) error {
	list, err := forecasts(ctx, s.log, c.Out, runs, forecasting{jobs: c.Jobs, elsewhere: c.On != "", rehearse: c.Rehearse})
	if err != nil {
		return err
	}
	return showForecasts(s.out, c.JSON, c.Out, list, c.Jobs)
}

// search makes the trials of a plan with a search.
func (c *sweepCommand) search(ctx context.Context, s *streams, plan *sweep.Plan) error {
	for flag, given := range map[string]bool{"--simulate": c.Simulate.machines != nil, "--on": c.On != "", "--index": c.Index.set,
		"--rehearse": c.Rehearse} {
		if given {
			return usagef("%s needs the runs beforehand, and a search draws them one by one; start unravel sweep %s on each machine",
				flag, c.File)
		}
	}
	found, err := plan.NewSearch()
	if err != nil {
		return err
	}
	if c.DryRun {
		return c.previewSearch(ctx, s, found)
	}
	return c.serving(ctx, s, shown{dir: c.Out}, func() error {
		o, end, err := processes(ctx, s, c.Jobs, c.Retry)
		if err != nil {
			return err
		}
		o.NoWait = c.NoWait
		trials, failure := found.Execute(ctx, c.Out, o)
		end()
		if trials == nil {
			return failure
		}
		if err := c.printTrials(s.out, found, trials); err != nil {
			return err
		}
		if failure == nil && trials.Best() == nil && len(trials.List) > 0 {
			failure = fmt.Errorf("no trial in %s has a value of %s", c.Out, found.Method.Value.Common().Objective())
		}
		return failure
	})
}

// searchTrial is a trial in the JSON output.
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
	r := searchTrial{Trial: t.Index, Name: t.Name, Dir: t.Dir, State: t.State, Epochs: t.Epochs, Settings: asMap(t.Settings)}
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

// searchOutput is the JSON output about a search.
type searchOutput struct {
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
	Space  map[string]string   `json:"space,omitempty"` // of a dry run, as the rest
	Rungs  []int               `json:"rungs,omitempty"`
	Next   []map[string]string `json:"next,omitempty"`
}

func (c *sweepCommand) searchOutput(found *sweep.Search, trials *sweep.Trials) searchOutput {
	own := found.Method.Value.Common()
	o := searchOutput{Dir: c.Out, Search: found.Method.Name, Objective: own.Objective(), Better: trials.Better.String(),
		Budget: own.Budget(), CoreHours: trials.CoreHours, Ended: ended(trials)}
	if best := trials.Best(); best != nil {
		one := trialOf(best)
		o.Best, o.Command = &one, found.Command(best)
	}
	return o
}

// printTrials lists the trials and the best one.
func (c *sweepCommand) printTrials(w io.Writer, found *sweep.Search, trials *sweep.Trials) error {
	if c.JSON {
		all := c.searchOutput(found, trials)
		for i := range trials.List {
			all.Trials = append(all.Trials, trialOf(&trials.List[i]))
		}
		return json.NewEncoder(w).Encode(all)
	}
	objective := found.Method.Value.Common().Objective()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "TRIAL\tSTATE\tSECONDS\tEPOCHS\t%s\tSETTINGS\n", strings.ToUpper(objective))
	for _, one := range trials.List {
		seconds, epochs, value, settings := "-", "-", "-", one.Settings.String()
		if one.Record != nil {
			seconds = fmt.Sprintf("%.1f", one.Record.Seconds)
		}
		if !math.IsNaN(one.Value) {
			epochs, value = fmt.Sprint(one.Epochs), fmt.Sprintf("%.4g", one.Value)
		}
		if one.State == sweep.Failed {
			why, _, _ := strings.Cut(one.Problem.Error(), "\n")
			settings += "  (" + why + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", one.Name, one.State, seconds, epochs, value, settings)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	best := trials.Best()
	if best == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "best: %s, %s %.4g after %s (%s is better)\n%s\n", best.Name, objective, best.Value,
		counted(best.Epochs, "epoch"), trials.Better, commandLine(found.Command(best)))
	return err
}

// commandLine joins the words of a command, in quotes where a shell needs them.
func commandLine(words []string) string {
	list := make([]string, len(words))
	for i, word := range words {
		if list[i] = word; strings.ContainsAny(word, " \t\"'`$\\[]{}()*?<>|&;#~!") {
			list[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}

// maxPreview bounds the trials that a dry run lists.
const maxPreview = 8

// previewSearch prints the space, the first trials and the budget.
func (c *sweepCommand) previewSearch(ctx context.Context, s *streams, found *sweep.Search) error {
	trials, err := found.Trials(ctx, c.Out)
	if err == nil {
		err = found.Check()
	}
	if err != nil {
		return err
	}
	next, own, rungs := found.Preview(trials, maxPreview), found.Method.Value.Common(), found.Method.Value.Rungs()
	if c.JSON {
		all := c.searchOutput(found, trials)
		all.Space, all.Rungs = map[string]string{}, rungs
		for _, r := range own.Space {
			all.Space[r.Key] = strings.TrimPrefix(r.String(), r.Key+": ")
		}
		for _, settings := range next {
			all.Next = append(all.Next, asMap(settings))
		}
		return json.NewEncoder(s.out).Encode(all)
	}
	fmt.Fprintf(s.out, "%s, for a %s %s\n", found.Method.Name, trials.Better, own.Objective())
	for _, r := range own.Space {
		fmt.Fprintf(s.out, "  %s\n", r)
	}
	if rungs != nil {
		fmt.Fprintf(s.out, "rungs of %s epochs\n", strings.Trim(strings.ReplaceAll(fmt.Sprint(rungs), " ", ", "), "[]"))
	}
	for i, settings := range next {
		fmt.Fprintf(s.out, "trial %d: %s\n", len(trials.List)+i, settings)
	}
	more := own.Runs == 0 || len(trials.List)+len(next) < own.Runs
	if _, ok := found.Method.Value.(*search.TPE); ok && more && len(next) < maxPreview {
		fmt.Fprintln(s.out, "further trials follow from results")
	}
	_, err = fmt.Fprintf(s.out, "%d trials ended, %.3g core-hours used; budget: %s\n", ended(trials), trials.CoreHours, own.Budget())
	return err
}

// ended counts the trials that have finished or failed.
func ended(trials *sweep.Trials) (n int) {
	for _, t := range trials.List {
		if t.State == sweep.Finished || t.State == sweep.Failed {
			n++
		}
	}
	return n
}

// rehearseCommand is the command of a process that estimates the time of a run.
type rehearseCommand struct {
	Dir     string `arg:""`
	Threads int    `arg:""`
	Alone   string `arg:"" enum:"true,false"`
}

// Run rehearses the run.
func (c *rehearseCommand) Run(ctx context.Context, s *streams) error {
	text, err := sweep.WorkRehearsal(ctx, c.Dir, c.Threads, c.Alone == "true")
	if err == nil {
		_, err = s.out.Write(text)
	}
	return err
}

// workerCommand is the command of a sweep's process for one run.
type workerCommand struct {
	Dir     string `arg:""`
	Threads int    `arg:""`
}

// Run makes the run.
func (c *workerCommand) Run(ctx context.Context, s *streams) error {
	allow(ctx, savePatience)
	return sweep.Work(ctx, c.Dir, c.Threads, os.Stdin, s.out, plain.Logger(s.log))
}
