package papers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/cluster"
	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train/sweep"
)

// CheckRoot rejects `table --data real`, an older form of --real.
func (c *Command) CheckRoot(command, root string) error {
	if strings.HasPrefix(command, "table") && (root == realData || root == twinData) {
		return ui.Usagef("--data %[1]s: --data is a folder; want --real for the public data sets, nothing for their twins, or ./%[1]s for this folder", root)
	}
	return nil
}

// onTwins reports whether a run of the table is on a twin of a public data set.
func onTwins(t *tables.Table, scale string) (bool, error) {
	stands, err := t.Stands(scale)
	return slices.ContainsFunc(stands, func(s tables.Stand) bool { return s.Real != "" }), err
}

func runsOf(t *tables.Table) string {
	return filepath.Join(filepath.FromSlash(tableRuns), t.RunsFolder())
}

// train trains the missing runs. failed is the error for failed runs; the command returns it after showing the table.
func (c *Command) train(ctx context.Context, t *tables.Table, s *ui.Streams) (failed, err error) {
	switch {
	case !t.Trains() && c.DryRun:
		return nil, ui.Usagef("--dry-run: the table %s trains nothing", t.Name)
	case !t.Trains() && (c.On != "" || c.Index.Set):
		return nil, ui.Usagef("--on, --index: the table %s trains nothing", t.Name)
	case !t.Trains() || c.NoRun || !c.requestsRuns() && !c.DryRun:
		return nil, nil
	}
	o := c.options(t)
	if c.Fresh {
		o.Ledger = nil
	}
	runs, err := t.Unrecorded(o)
	if err != nil {
		return nil, err
	}
	switch {
	case len(runs) == 0 && c.DryRun && !c.JSON:
		_, err := fmt.Fprintf(s.Out, "the ledger has all runs of %s at the scale %s; --fresh lists them\n",
			t.Name, c.Scale)
		return nil, err
	case c.DryRun:
		if scales := t.Scales.Names(); !c.scaled && len(scales) > 1 {
			fmt.Fprintf(s.Log, "these are the runs of the scale %s; --scale takes %s\n", c.Scale, strings.Join(scales, ", "))
		}
		list, err := c.forecasts(ctx, t, s, runs)
		if err != nil {
			return nil, err
		}
		return nil, sweeps.ShowForecasts(s.Out, c.JSON, c.Runs, list, c.jobs())
	}
	if err := c.ask(ctx, t, s, runs); err != nil {
		return nil, err
	}
	execute := func() ([]sweep.Outcome, error) {
		return sweeps.Execute(ctx, s, c.Runs, runs, c.jobs(), c.Retry, &c.ClusterFlags)
	}
	if c.On != "" {
		job, err := c.job(t)
		if err != nil {
			return nil, err
		}
		if c.ClusterFlags.Print {
			return nil, c.ClusterFlags.PrintJob(ctx, s, job, runs)
		}
		execute = func() ([]sweep.Outcome, error) { return c.Submit(ctx, s, job, runs, c.Retry) }
	}
	if err := sweeps.Prepare(ctx, runs, s.Log); err != nil { // once, before tasks need the files
		return nil, err
	}
	outcomes, err := execute()
	return sweeps.Failures(outcomes, c.Runs), err
}

var errDeclined = errors.New("nothing was trained") // error after the user has declined training

func (c *Command) ask(ctx context.Context, t *tables.Table, s *ui.Streams, runs []sweep.Run) error {
	if c.Yes || c.Scale == tables.QuickScale || c.Index.Set || c.ClusterFlags.Print { // the user answered when submitting the task
		return nil
	}
	c.Rehearse = false
	list, err := c.forecasts(ctx, t, s, runs)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(f sweep.Forecast) bool {
		return f.State != sweep.Finished &&
			(f.State != sweep.Failed || c.Retry)
	}) {
		return nil
	}
	yes, err := ui.Confirm(ctx, s.Log, fmt.Sprintf("the table %s trains at the scale %s: %s",
		t.Name, c.Scale, sweeps.ToMake(list, c.jobs())), "--yes to train, or --dry-run to list the runs")
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

// forecasts estimates the times of runs of a table: by finished runs, by the ledger, and by rehearsals if the user
// wants them.
func (c *Command) forecasts(ctx context.Context, t *tables.Table, s *ui.Streams, runs []sweep.Run) ([]sweep.Forecast, error) {
	cores, err := t.CoreSeconds(c.Scale)
	if err != nil {
		return nil, err
	}
	threads := max(1, runtime.GOMAXPROCS(0)/c.jobs())
	times := func(r sweep.Run) (time.Duration, bool) {
		seconds, ok := cores(r)
		return time.Duration(seconds / float64(threads) * float64(time.Second)), ok
	}
	return sweeps.Forecasts(ctx, s.Log, c.Runs, runs,
		sweeps.Forecasting{Jobs: c.jobs(), Elsewhere: c.On != "", Rehearse: c.Rehearse, Times: times})
}

func (c *Command) job(t *tables.Table) (cluster.Job, error) {
	args := []string{"table", disk.Argument(c.Name), "--scale", c.Scale, "--runs", disk.Argument(c.Runs)} // a task must not ask
	if c.Fresh {
		args = append(args, "--fresh")
	}
	if c.Real {
		args = append(args, "--real")
	}
	return c.Job(t.Name, c.Runs, args...)
}

func (c *Command) jobs() int { return max(1, int(c.Jobs)) }

// requestsRuns reports whether a flag asks for runs. Without such a flag, a table shows existing results.
func (c *Command) requestsRuns() bool {
	return c.scaled || c.Fresh || c.Retry || c.Jobs > 0 || c.ClusterFlags != (sweeps.ClusterFlags{})
}

func (c *Command) options(t *tables.Table) tables.Options {
	return tables.Options{Scale: c.Scale, Runs: c.Runs, Ledger: t.Ledger()}
}

// chooseScale sets the scale if no flag does: the smallest to train runs, and otherwise the largest with results.
func (c *Command) chooseScale(t *tables.Table) error {
	if c.scaled = c.Scale != ""; c.scaled {
		return nil
	}
	c.Scale = tables.QuickScale
	if !t.Trains() && !t.Quotes() || c.requestsRuns() && !c.NoRun || c.DryRun {
		return nil
	}
	scale, err := t.Held(c.options(t))
	c.Scale = cmp.Or(scale, c.Scale)
	return err
}

// hint logs how to train the missing runs of a shown table.
func (c *Command) hint(t *tables.Table, log io.Writer) {
	if !t.Trains() || c.requestsRuns() || c.NoRun {
		return
	}
	name := disk.Argument(c.Name)
	fmt.Fprintf(log, "nothing was trained: unravel table %s --scale %s trains the missing runs, with --fresh all runs; add --dry-run to estimate the time\n", name, c.Scale)
}

// simulate simulates all runs of the table at a scale, or the runs of each table that trains.
func (c *Command) simulate(ctx context.Context, s *ui.Streams) error {
	c.Scale = cmp.Or(c.Scale, tables.QuickScale)
	if c.Name != "" {
		t, simulation, err := c.simulateTable(ctx, s, c.Name)
		if err == nil && simulation == nil {
			err = ui.Usagef("--simulate: the table %s trains nothing", t.Name)
		}
		if err != nil {
			return err
		}
		return c.Simulate.Show(s.Out, c.JSON, t.Name, simulation)
	}
	var lines strings.Builder
	for _, name := range tables.Names() {
		t, simulation, err := c.simulateTable(ctx, s, name)
		if err != nil {
			return err
		}
		if simulation == nil {
			continue
		}
		fmt.Fprintf(&lines, "%s\t%d\t%.4g\t%s\t%s\t%.3g %%\t%s\n", t.Name, simulation.Runs, simulation.CoreHours,
			sweeps.Rounded(simulation.Wall), sweeps.Rounded(simulation.Longest), 100*simulation.Use,
			simulation.Limit(c.Simulate.Machines))
		if c.JSON {
			if err := c.Simulate.Show(s.Out, true, t.Name, simulation); err != nil {
				return err
			}
		}
	}
	if c.JSON {
		return nil
	}
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "TABLE\tRUNS\tCORE-HOURS\tWALL\tLONGEST\tUSE\tLIMIT\n%sassumed: %s\n",
		&lines, strings.Join(c.Simulate.Machines.Assumed, ","))
	return w.Flush()
}

// simulateTable simulates the runs of a table. The simulation is nil if the table trains nothing.
func (c *Command) simulateTable(ctx context.Context, s *ui.Streams, name string) (*tables.Table, *sweep.Simulation, error) {
	t, err := c.open(name)
	if errors.As(err, new(*tables.UnknownError)) {
		err = ui.Usage(err)
	}
	if err != nil || !t.Trains() {
		return t, nil, err
	}
	if _, err := t.Scales.Find(c.Scale); err != nil {
		return t, nil, ui.Usagef("--scale %s: the table %s: %w", c.Scale, t.Name, err)
	}
	runs, err := t.Runs(c.Scale)
	if err != nil {
		return t, nil, err
	}
	simulation, err := c.Simulate.Simulate(ctx, s.Log, filepath.Clean(cmp.Or(c.Runs, runsOf(t))), runs)
	if err != nil {
		err = fmt.Errorf("table %s: %w", t.Name, err)
	}
	return t, simulation, err
}
