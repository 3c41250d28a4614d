package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/train"
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
	runs, err := plan.Runs()
	if err != nil {
		return err
	}
	if c.Out == "" {
		c.Out = filepath.Join("runs", plan.Name)
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
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	allow(ctx, sweepPatience)
	p := newSweepProgress(s.log)
	defer p.clear()
	o := sweep.Options{Jobs: jobs, Retry: retry, Start: sweep.Processes(program, "worker"), Say: p.say, Observe: p.observe}
	if err := f.task(&o, len(runs)); err != nil {
		return nil, err
	}
	return sweep.Execute(ctx, dir, runs, o)
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
	return sweep.Work(ctx, c.Dir, c.Threads, os.Stdin, s.out, s.log)
}
