package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// checkRoot refuses `table --data real`, an older form of --real.
func (c *tableCommand) checkRoot(command, root string) error {
	if strings.HasPrefix(command, "table") && (root == realData || root == twinData) {
		return usagef("--data %[1]s: --data is a folder; want --real for the public data sets, nothing for their twins, or ./%[1]s for this folder", root)
	}
	return nil
}

// onTwins reports whether a run of the table is on a twin of a public data set.
func onTwins(t *tables.Table, scale string) (bool, error) {
	stands, err := t.Stands(scale)
	return slices.ContainsFunc(stands, func(s tables.Stand) bool { return s.Real != "" }), err
}

// prepare converts the public data sets of runs before the runs begin.
func prepare(ctx context.Context, runs []sweep.Run, log io.Writer) error {
	var done []string
	for _, r := range runs {
		d := r.Config.Dataset
		text, err := config.Encode(d)
		if err != nil || slices.Contains(done, string(text)) {
			continue
		}
		done = append(done, string(text))
		if err := train.PrepareData(ctx, d, activityOn(log)); err != nil {
			if ctx.Err() != nil {
				return train.ErrStopped
			}
			return err
		}
	}
	return nil
}

// runsOf returns the folder of a table's runs.
func runsOf(t *tables.Table) string {
	return filepath.Join(filepath.FromSlash(tableRuns), t.RunsFolder())
}

// train makes the missing runs. failed is the error for failed runs; the command returns it after showing the table.
func (c *tableCommand) train(ctx context.Context, t *tables.Table, s *streams) (failed, err error) {
	if !t.Trains() && c.DryRun {
		return nil, usagef("--dry-run: the table %s trains nothing", t.Name)
	}
	if !t.Trains() && (c.On != "" || c.Index.set) {
		return nil, usagef("--on, --index: the table %s trains nothing", t.Name)
	}
	if !t.Trains() || c.NoRun || !c.asked() && !c.DryRun {
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
	if c.DryRun {
		list, err := c.forecasts(ctx, t, s, runs)
		if err != nil {
			return nil, err
		}
		return nil, showForecasts(s.out, c.JSON, c.Runs, list, c.jobs())
	}
	if err := c.ask(ctx, t, s, runs); err != nil {
		return nil, err
	}
	if c.On != "" {
		return c.onCluster(ctx, t, s, runs)
	}
	if err := prepare(ctx, runs, s.log); err != nil {
		return nil, err
	}
	outcomes, err := execute(ctx, s, c.Runs, runs, c.jobs(), c.Retry, &c.clusterFlags)
	return failures(outcomes, c.Runs), err
}

// errDeclined is the error after the user has declined training.
var errDeclined = errors.New("nothing was trained")

// ask asks whether to train the missing runs of a scale above quick.
func (c *tableCommand) ask(ctx context.Context, t *tables.Table, s *streams, runs []sweep.Run) error {
	if c.Yes || c.Scale == tables.QuickScale || c.Index.set || c.clusterFlags.Print { // the user answered when submitting the task
		return nil
	}
	c.Rehearse = false
	list, err := c.forecasts(ctx, t, s, runs)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(f sweep.Forecast) bool { return f.State != sweep.Finished && (f.State != sweep.Failed || c.Retry) }) {
		return nil
	}
	yes, err := confirm(ctx, s.log, fmt.Sprintf("the table %s trains at the scale %s: %s", t.Name, c.Scale, toMake(list, c.jobs())), "--yes to train, or --dry-run to list the runs")
	if err == nil && !yes {
		err = errDeclined
	}
	return err
}

// forecasts estimates the times of runs of a table: by finished runs, by the ledger, and by rehearsals if the user wants them.
func (c *tableCommand) forecasts(ctx context.Context, t *tables.Table, s *streams, runs []sweep.Run) ([]sweep.Forecast, error) {
	cores, err := t.CoreSeconds(c.Scale)
	if err != nil {
		return nil, err
	}
	threads := max(1, runtime.GOMAXPROCS(0)/c.jobs())
	times := func(r sweep.Run) (time.Duration, bool) {
		seconds, ok := cores(r)
		return time.Duration(seconds / float64(threads) * float64(time.Second)), ok
	}
	return forecasts(ctx, s.log, c.Runs, runs, forecasting{jobs: c.jobs(), elsewhere: c.On != "", rehearse: c.Rehearse, times: times})
}

// onCluster makes the missing runs of a table as tasks.
func (c *tableCommand) onCluster(ctx context.Context, t *tables.Table, s *streams, runs []sweep.Run) (failed, err error) {
	args := []string{"table", asArgument(c.Name), "--scale", c.Scale, "--runs", asArgument(c.Runs)} // a task must not ask
	if c.Fresh {
		args = append(args, "--fresh")
	}
	if c.Real {
		args = append(args, "--real")
	}
	job, err := c.job(t.Name, c.Runs, args...)
	if err != nil {
		return nil, err
	}
	if c.clusterFlags.Print {
		return nil, c.clusterFlags.print(ctx, s, job, runs)
	}
	if err := prepare(ctx, runs, s.log); err != nil { // once, before tasks need the files
		return nil, err
	}
	outcomes, err := c.submit(ctx, s, job, runs, c.Retry)
	return failures(outcomes, c.Runs), err
}

// jobs returns the number of runs at a time.
func (c *tableCommand) jobs() int { return max(1, int(c.Jobs)) }

// asked reports whether a flag asks for runs. Without such a flag, a table shows existing results.
func (c *tableCommand) asked() bool {
	return c.scaled || c.Fresh || c.Retry || c.Jobs > 0 || c.clusterFlags != (clusterFlags{})
}

// options returns the places where a table finds results.
func (c *tableCommand) options(t *tables.Table) tables.Options {
	return tables.Options{Scale: c.Scale, Runs: c.Runs, Ledger: t.Ledger()}
}

// choose picks the scale when no flag does: the smallest if runs must be trained, otherwise the largest with results.
func (c *tableCommand) choose(t *tables.Table) error {
	if c.scaled = c.Scale != ""; c.scaled {
		return nil
	}
	c.Scale = tables.QuickScale
	if !t.Trains() && !t.Quotes() || c.asked() && !c.NoRun || c.DryRun {
		return nil
	}
	held, err := t.Held(c.options(t))
	if held != "" {
		c.Scale = held
	}
	return err
}

// hint says how to train the missing runs of a shown table.
func (c *tableCommand) hint(t *tables.Table, log io.Writer) {
	if !t.Trains() || c.asked() || c.NoRun {
		return
	}
	name := asArgument(c.Name)
	fmt.Fprintf(log, "nothing was trained: unravel table %s --scale %s makes the runs that are missing, --fresh all of them again (--dry-run says how long that takes)\n", name, c.Scale)
}
