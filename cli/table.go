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
	Name  string `arg:"" optional:"" help:"Name of a table, or a .yaml file; if absent, the tables are listed."`
	Scale string `placeholder:"NAME" help:"Amount of computing: quick, full (at least as many draws and runs as in the paper), or one between these; see the list of tables. The missing runs of the scale are made; above quick the command asks first (see --yes). If absent, nothing is trained, and the largest scale is shown of which the ledger or the folder of runs has more than half of the runs."`
	Real  bool   `help:"Train on the public data sets instead of their twins."`
	Out   string `placeholder:"DIR" writes:"folder" help:"Write a folder: NAME.md, .csv, .tex and .html and, of some tables, box plots (NAME.png), curves (NAME-COLUMN.png) and ranks and Kendall's tau (NAME-ranks.csv, NAME-tau.csv) with a flow chart of the ranks (NAME-ranks.png)."`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output."`
	All   bool   `help:"Without a table: list every scale of each table, also on public data sets, with sources."`

	NoRun bool `help:"Train nothing: show the cells whose runs exist."`
	dryRunFlags
	Yes bool `short:"y" help:"Train the missing runs of a scale above quick without asking. Without a terminal such a scale needs it."`

	Simulate simulateFlag `placeholder:"nodes=N,cores=N" help:"Say how long all runs of the table, also those in the ledger, would take on the machines of a cluster, and what would be the limit; make none, but rehearse runs whose time no finished run tells. Without a table: of each table that trains. Further keys as of unravel sweep --simulate."`

	Runs  string    `placeholder:"DIR" help:"Folder of the runs; if absent, the one in runs/tables that the table names, or NAME there."`
	Jobs  countFlag `placeholder:"N" help:"Number of runs at a time, which share the processors; if absent, 1."`
	Retry bool      `help:"Repeat failed runs too."`
	Fresh bool      `aliases:"own" help:"Make all runs of the scale, also those in the ledger, and show these only."`

	Contribute string `placeholder:"FILE" help:"Train nothing: write a file with the runs of the folder that the table needs and the ledger lacks."`
	Accept     string `placeholder:"FILE" help:"Check such a file against the table's plan, and add its runs to the ledger of the checkout at hand."`
	Replace    bool   `help:"With --accept: take in runs that replace records of the ledger. Without it such records are listed, value by value, and nothing is written."`

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
