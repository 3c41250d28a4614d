package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/results/tables/show"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
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

// Run prints a table, lists the tables, or does the other work that a flag names.
func (c *tableCommand) Run(ctx context.Context, s *streams) error {
	if c.Simulate.machines != nil {
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

// validate checks the flags alone.
func (c *tableCommand) validate() error {
	if err := c.validCheck(); err != nil {
		return err
	}
	ofTable := c.NoRun || c.DryRun || c.Yes || c.Real || c.Out != "" || c.Runs != "" || c.Retry || c.Fresh || c.exchanges() || c.clusterFlags != (clusterFlags{})
	switch {
	case c.Name == "" && c.Check == 0 && ofTable:
		return usagef("flags such as --out and --no-run belong to a table; want its name")
	case c.Name == "":
		return nil
	case c.All:
		return usagef("--all lists tables; want no name of one")
	}
	if err := errors.Join(c.check(c.jobs()), c.checkRehearse()); err != nil {
		return err
	}
	return c.checkPrint(map[string]bool{"--retry": c.Retry, "--dry-run": c.DryRun, "--json": c.JSON, "--no-run": c.NoRun, "--out": c.Out != ""})
}

// openTable opens the named table, makes the folder of --out, and fills in the folder of the runs and the scale.
func (c *tableCommand) openTable() (*tables.Table, error) {
	t, err := tables.Open(c.Name)
	var unknown *tables.UnknownError
	if errors.As(err, &unknown) || errors.Is(err, fs.ErrNotExist) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	scale := cmp.Or(c.Scale, tables.QuickScale)
	if _, err := t.Scales.Find(scale); err != nil {
		return nil, usagef("--scale %s: the table %s: %w", c.Scale, t.Name, err)
	}
	if c.Real {
		twins, err := onTwins(t, scale)
		if err != nil {
			return nil, err
		}
		if !twins {
			return nil, usagef("--real: no run of the table %s is on a twin of a public data set", t.Name)
		}
		t = t.OnReal()
	}
	if c.Out != "" { // a mistake in it should not cost the time of computing
		if err := disk.MakeDir(c.Out); err != nil {
			return nil, err
		}
	}
	c.Runs = cmp.Or(c.Runs, runsOf(t))
	return t, c.choose(t)
}

// open opens a table: with --real, on the public data sets.
func (c *tableCommand) open(name string) (*tables.Table, error) {
	t, err := tables.Open(name)
	if err == nil && c.Real {
		t = t.OnReal()
	}
	return t, err
}

// show makes the missing runs if the flags ask for them, then computes, writes and prints the table.
func (c *tableCommand) show(ctx context.Context, t *tables.Table, s *streams) error {
	start := time.Now()
	failed, err := c.train(ctx, t, s)
	switch {
	case errors.Is(err, errDeclined):
		return nil
	case err != nil || c.DryRun || c.clusterFlags.Print:
		return err
	case c.Index.set: // a task makes runs
		return failed
	}
	defer debug.SetGCPercent(debug.SetGCPercent(rareCollection))
	r, err := c.compute(ctx, t, s, patienceOf(s.log))
	if err != nil {
		return err
	}
	c.hint(t, s.log)
	fmt.Fprintf(s.log, "computed in %.1f s\n", time.Since(start).Seconds())
	if c.Out != "" {
		if err := c.write(ctx, t, r); err != nil {
			return err
		}
		fmt.Fprintf(s.log, "written to %s\n", filepath.Join(c.Out, t.Name+".{md,csv,tex,html}"))
	}
	if n := len(r.Damaged); n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%s in %s cannot be read and does not count (unravel check says more):\n%s", counted(n, "run"), c.Runs, someLines(r.Damaged)))
	}
	if c.JSON {
		return errors.Join(r.WriteJSON(s.out), failed)
	}
	return errors.Join(show.Text(s.out, r, widthOf(s.out)), failed)
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

// write writes the files of --out. Another process may share the runs and end at the same moment: write locks the
// folder of the runs.
func (c *tableCommand) write(ctx context.Context, t *tables.Table, r *tables.Result) (err error) {
	if t.Trains() {
		unlock, failed := rundir.Lock(ctx, c.Runs)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	return writeTable(c.Out, r)
}

// writeTable writes the files of --out.
func writeTable(dir string, r *tables.Result) error {
	for _, file := range show.Files(r) {
		if err := disk.WriteFile(filepath.Join(dir, file.Name), file.Write, false); err != nil {
			return err
		}
	}
	return nil
}

// widthOf returns the width of a terminal in letters; without a terminal, printWidth.
func widthOf(w io.Writer) int {
	if f := plain.Terminal(w); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return printWidth
}
