package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

// tableCommand is `unravel table [NAME]`.
type tableCommand struct {
	Name  string `arg:"" optional:"" help:"Name of a table, or a .yaml file (default: list the tables)."`
	Scale string `placeholder:"NAME" help:"Amount of computing: quick, full, or a scale between them that the table has." detail:"full has at least as many draws and runs as the paper. The command makes the missing runs of the scale; above quick it asks first (see --yes). By default it trains nothing, and shows the largest scale with more than half of its runs in the ledger or the folder of runs. unravel table --all lists the scales."`
	Real  bool   `help:"Train on the public data sets instead of their twins."`
	Out   string `placeholder:"DIR" writes:"folder" help:"Folder to write the table to, as .md, .csv, .tex and .html." detail:"Some tables also have box plots (NAME.png), curves (NAME-COLUMN.png), ranks (NAME-ranks.csv, with a flow chart in NAME-ranks.png) and Kendall's tau (NAME-tau.csv)."`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output."`
	All   bool   `help:"Without a table: list every scale of each table, also on public data sets, with sources."`

	NoRun bool `help:"Train nothing, and show the cells of existing runs."`
	dryRunFlags
	Yes bool `short:"y" help:"Train the missing runs of a scale above quick without asking." detail:"Without a terminal, such a scale needs this flag."`

	Simulate simulateFlag `placeholder:"nodes=N,cores=N" help:"Print how long all runs of the table would take on a cluster and what would limit them, but make no run." detail:"Runs in the ledger count, too. The command rehearses runs if no finished run tells their time. Without a table, it simulates each table that trains. Further keys are the same as for unravel sweep --simulate."`

	Runs  string    `placeholder:"DIR" help:"Folder of the runs (default: the folder in runs/tables that the table names, or runs/tables/NAME)."`
	Jobs  countFlag `placeholder:"N" help:"Number of runs at a time, which share the processors (default: 1)."`
	Retry bool      `help:"Repeat failed runs, too."`
	Fresh bool      `aliases:"own" help:"Make all runs of the scale, even if the ledger has them, and show only these."`

	Contribute string `placeholder:"FILE" help:"File to write with the runs that the table needs and the ledger lacks; nothing is trained."`
	Accept     string `placeholder:"FILE" help:"File of --contribute to check against the table's plan and to add to the ledger of this checkout."`
	Replace    bool   `help:"With --accept: let runs replace records of the ledger." detail:"Without it, the command lists such records value by value, and writes nothing."`

	checkFlags
	clusterFlags

	scaled bool // whether --scale is given
}

// tableRuns is the folder of the runs of tables.
const tableRuns = "runs/tables"

// printWidth is the width of a table without a terminal.
const printWidth = 100

// Run computes and prints a table, or lists the tables.
func (c *tableCommand) Run(ctx context.Context, s *streams) error {
	if c.Simulate.machines != nil {
		c.Scale = cmp.Or(c.Scale, tables.QuickScale)
		names := []string{c.Name}
		if c.Name == "" {
			names = tables.Names()
		}
		err := c.simulateTables(ctx, s, names...)
		if unknown := (*tables.UnknownError)(nil); errors.As(err, &unknown) {
			return usageError{err}
		}
		return err
	}
	if err := c.validCheck(); err != nil {
		return err
	}
	if c.Name == "" && c.Check > 0 {
		return c.checkAll(ctx, s)
	}
	if c.Name == "" {
		if c.Real || c.Out != "" || c.NoRun || c.DryRun || c.Yes || c.Runs != "" || c.Retry || c.Fresh || c.Contribute != "" || c.Accept != "" || c.Replace || c.clusterFlags != (clusterFlags{}) {
			return usagef("flags such as --out and --no-run belong to a table; want its name")
		}
		return c.list(ctx, s)
	}
	if c.All {
		return usagef("--all lists tables; want no name of one")
	}
	if err := errors.Join(c.check(c.jobs()), c.checkRehearse()); err != nil {
		return err
	}
	if err := c.checkPrint(map[string]bool{"--retry": c.Retry, "--dry-run": c.DryRun, "--json": c.JSON, "--no-run": c.NoRun, "--out": c.Out != ""}); err != nil {
		return err
	}
	t, err := tables.Open(c.Name)
	var unknown *tables.UnknownError
	if errors.As(err, &unknown) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if _, err := t.Scales.Find(cmp.Or(c.Scale, tables.QuickScale)); err != nil {
		return usagef("--scale %s: the table %s: %w", c.Scale, t.Name, err)
	}
	if c.Real {
		if err := onTwins(t, cmp.Or(c.Scale, tables.QuickScale)); err != nil {
			return err
		}
		t = t.OnReal()
	}
	if c.Out != "" { // a mistake in it should not cost the time of computing
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	if c.Runs == "" {
		c.Runs = runsOf(t)
	}
	if err := c.choose(t); err != nil {
		return err
	}
	if c.Check > 0 {
		return c.checkLedger(ctx, s, t)
	}
	if c.Contribute != "" || c.Accept != "" || c.Replace {
		return c.exchange(t, s)
	}
	start := time.Now()
	failed, err := c.train(ctx, t, s)
	if errors.Is(err, errDeclined) {
		return nil
	}
	if err != nil || c.DryRun || c.clusterFlags.Print {
		return err
	}
	if c.Index.set { // a task makes runs
		return failed
	}
	result, err := c.compute(ctx, t, s, patienceOf(s.log))
	if err != nil {
		return err
	}
	c.hint(t, s.log)
	fmt.Fprintf(s.log, "computed in %.1f s\n", time.Since(start).Seconds())
	if c.Out != "" {
		write := writeTable
		if t.Trains() {
			write = func(dir string, r *tables.Result) error { return writeShared(ctx, dir, c.Runs, r) }
		}
		if err := write(c.Out, result); err != nil {
			return err
		}
		fmt.Fprintf(s.log, "written to %s\n", filepath.Join(c.Out, t.Name+".{md,csv,tex,html}"))
	}
	if n := len(result.Damaged); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%s in %s cannot be read and does not count (unravel check says more):\n%s", counted(n, "run"), c.Runs, someLines(result.Damaged)))
	}
	if c.JSON {
		return errors.Join(result.WriteJSON(s.out), failed)
	}
	return errors.Join(result.Print(s.out, widthOf(s.out)), failed)
}

// compute computes a table. After the patience is over, it logs progress, at intervals of at least the patience.
func (c *tableCommand) compute(ctx context.Context, t *tables.Table, s *streams, patience time.Duration) (*tables.Result, error) {
	var lock sync.Mutex // progress comes from another goroutine
	var slow bool
	latest := "computing " + t.Name
	var said time.Time
	tell := func() {
		fmt.Fprintln(s.log, latest)
		said = time.Now()
	}
	options := c.options(t)
	if c.Fresh {
		options.Ledger = nil
	}
	options.Explore, options.Progress = !c.NoRun, func(done, all int, row, metric string) {
		lock.Lock()
		defer lock.Unlock()
		latest = fmt.Sprintf("computing %s of %s (%d of %d)", metric, row, done+1, all)
		if slow && time.Since(said) > patience {
			tell()
		}
	}
	return patiently(ctx, patience, func() (*tables.Result, error) {
		r, err := t.Compute(ctx, options)
		if ctx.Err() != nil && err != nil {
			err = train.ErrStopped
		}
		return r, err
	}, func() {
		lock.Lock()
		defer lock.Unlock()
		slow = true
		tell()
	})
}
