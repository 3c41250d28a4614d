// Package papers has the command table, which computes a paper's tables next to the printed values.
package papers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/show"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Command is `unravel table [NAME]`.
type Command struct {
	Name  string `arg:"" optional:"" help:"Name of a table, or a .yaml file (default: list the tables)."`
	Scale string `placeholder:"NAME" help:"Scale of the runs: quick, full, or another scale of the table." detail:"full has at least as many draws and runs as the paper. The command trains the missing runs of the scale; above quick it asks first (see --yes). By default it trains nothing, and shows the largest scale with more than half of its runs in the ledger or the folder of runs. unravel table --all lists the scales."`
	Real  bool   `help:"Train on the public data sets instead of their twins."`
	Out   string `placeholder:"DIR" writes:"folder" help:"Folder to write the table to, as .md, .csv, .tex and .html." detail:"Some tables also have box plots (NAME.png), curves (NAME-COLUMN.png), ranks (NAME-ranks.csv, with a flow chart in NAME-ranks.png) and Kendall's tau (NAME-tau.csv)."`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output."`
	All   bool   `help:"Without a table: list every scale of each table, also on public data sets, with sources."`

	NoRun bool `help:"Show only the cells of existing runs, without training."`
	sweeps.DryRunFlags
	Yes bool `short:"y" help:"Train the missing runs of a scale above quick without asking." detail:"Without a terminal, such a scale needs this flag."`

	Simulate sweeps.SimulateFlag `placeholder:"nodes=N,cores=N" help:"Print how long all runs of the table would take on a cluster and what would limit them, without training." detail:"Runs in the ledger count, too. If no finished run shows how long a run takes, the command trains its first steps. Without a table, it simulates each table that trains. Further keys are the same as for unravel sweep --simulate."`

	Runs  string   `placeholder:"DIR" help:"Folder of the runs (default: the folder in runs/tables that the table names, or runs/tables/NAME)."`
	Jobs  ui.Count `placeholder:"N" help:"Number of concurrent runs, which share the processors (default: 1)."`
	Retry bool     `help:"Also repeat failed runs."`
	Fresh bool     `aliases:"own" help:"Train all runs of the scale, even if the ledger has them, and show only these."`

	Contribute string `placeholder:"FILE" help:"File to write with the finished runs that the table needs and the ledger lacks, without training."`
	Accept     string `placeholder:"FILE" help:"File of --contribute to check against the table's plan and to add to the ledger of this checkout."`
	Replace    bool   `help:"With --accept: let runs replace records of the ledger." detail:"Without it, the command lists such records value by value, and writes nothing."`

	checkFlags
	sweeps.ClusterFlags

	scaled bool // --scale is given
}

const tableRuns = "runs/tables"

func (c *Command) Run(ctx context.Context, s *ui.Streams) error {
	if c.Simulate.Machines != nil {
		return c.simulate(ctx, s)
	}
	if err := c.validate(); err != nil {
		return err
	}
	switch {
	case c.Name == "" && c.Check > 0:
		return c.checkAll(ctx, s)
	case c.Name == "":
		return c.list(ctx, s)
	}
	t, err := c.openTable()
	switch {
	case err != nil:
		return err
	case c.Check > 0:
		return c.checkLedger(ctx, s, t)
	case c.exchanges():
		return c.exchange(t, s)
	}
	return c.show(ctx, t, s)
}

func (c *Command) validate() error {
	if err := c.validCheck(); err != nil {
		return err
	}
	ofTable := c.NoRun || c.DryRun || c.Yes || c.Real || c.Out != "" || c.Runs != "" || c.Retry || c.Fresh ||
		c.exchanges() || c.ClusterFlags != (sweeps.ClusterFlags{})
	switch {
	case c.Name == "" && c.Check == 0 && ofTable:
		return ui.Usagef("flags such as --out and --no-run belong to a table; want its name")
	case c.Name == "":
		return nil
	case c.All:
		return ui.Usagef("--all lists tables; want no name of one")
	}
	others := map[string]bool{"--retry": c.Retry, "--dry-run": c.DryRun, "--json": c.JSON, "--no-run": c.NoRun,
		"--out": c.Out != ""}
	return errors.Join(c.CheckCluster(c.jobs(), others), c.CheckRehearse())
}

// openTable opens the named table, creates the folder of --out, and fills in the folder of the runs and the scale.
func (c *Command) openTable() (*tables.Table, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(rareCollection))
	t, err := tables.Open(c.Name)
	if errors.As(err, new(*tables.UnknownError)) || errors.Is(err, fs.ErrNotExist) {
		return nil, ui.Usage(err)
	}
	if err != nil {
		return nil, err
	}
	scale := cmp.Or(c.Scale, tables.QuickScale)
	if _, err := t.Scales.Find(scale); err != nil {
		return nil, ui.Usagef("--scale %s: the table %s: %w", c.Scale, t.Name, err)
	}
	if c.Real {
		twins, err := onTwins(t, scale)
		if err != nil {
			return nil, err
		}
		if !twins {
			return nil, ui.Usagef("--real: no run of the table %s is on a twin of a public data set", t.Name)
		}
		t = t.OnReal()
	}
	if c.Out != "" { // find mistakes in --out before computing
		if err := disk.MakeDir(c.Out); err != nil {
			return nil, err
		}
	}
	c.Runs = cmp.Or(c.Runs, runsOf(t))
	return t, c.chooseScale(t)
}

// open opens a table. With --real, the table is on the public data sets.
func (c *Command) open(name string) (*tables.Table, error) {
	t, err := tables.Open(name)
	if err == nil && c.Real {
		t = t.OnReal()
	}
	return t, err
}

// show trains the missing runs if the flags ask for it, then computes, writes and prints the table.
func (c *Command) show(ctx context.Context, t *tables.Table, s *ui.Streams) error {
	start := time.Now()
	failed, err := c.train(ctx, t, s)
	switch {
	case errors.Is(err, errDeclined):
		return nil
	case err != nil || c.DryRun || c.ClusterFlags.Print:
		return err
	case c.Index.Set: // a task only trains runs
		return failed
	}
	defer debug.SetGCPercent(debug.SetGCPercent(rareCollection))
	r, err := c.compute(ctx, t, s, ui.Patience(s.Log))
	if err != nil {
		return err
	}
	c.hint(t, s.Log)
	fmt.Fprintf(s.Log, "computed in %.1f s\n", time.Since(start).Seconds())
	if c.Out != "" {
		if err := c.write(ctx, t, r); err != nil {
			return err
		}
		fmt.Fprintf(s.Log, "written to %s\n", filepath.Join(c.Out, t.Name+".{md,csv,tex,html}"))
	}
	if n := len(r.Damaged); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%s in %s cannot be read and does not count (unravel check says more):\n%s",
			wording.Count(n, "run"), c.Runs, ui.SomeLines(r.Damaged)))
	}
	if c.JSON {
		return errors.Join(r.WriteJSON(s.Out), failed)
	}
	return errors.Join(show.Text(s.Out, r, ui.Width(s.Out)), failed)
}

// compute computes a table. After patience has passed, it logs progress, at intervals of at least patience.
func (c *Command) compute(ctx context.Context, t *tables.Table, s *ui.Streams, patience time.Duration) (*tables.Result, error) {
	var lock sync.Mutex // another goroutine reports the progress
	var slow bool
	latest := "computing " + t.Name
	var last time.Time
	report := func() {
		fmt.Fprintln(s.Log, latest)
		last = time.Now()
	}
	options := c.options(t)
	if c.Fresh {
		options.Ledger = nil
	}
	options.Explore, options.Progress = !c.NoRun, func(done, all int, row, metric string) {
		lock.Lock()
		defer lock.Unlock()
		latest = fmt.Sprintf("computing %s of %s (%d of %d)", metric, row, done+1, all)
		if slow && time.Since(last) > patience {
			report()
		}
	}
	return ui.Patiently(ctx, patience, func() (*tables.Result, error) {
		r, err := t.Compute(ctx, options)
		if ctx.Err() != nil && err != nil {
			err = train.ErrStopped
		}
		return r, err
	}, func() {
		lock.Lock()
		defer lock.Unlock()
		slow = true
		report()
	})
}

// write writes the files of --out, under the lock of the runs, because another process may write them at the same time.
func (c *Command) write(ctx context.Context, t *tables.Table, r *tables.Result) (err error) {
	if t.Trains() {
		unlock, failed := rundir.Lock(ctx, c.Runs)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	for _, file := range show.Files(r) {
		if err := disk.WriteFile(filepath.Join(c.Out, file.Name), file.Write, false); err != nil {
			return err
		}
	}
	return nil
}
