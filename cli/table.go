package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/rundir"
	"github.com/unravel-ml/unravel/sweep"
	"github.com/unravel-ml/unravel/tables"
	"github.com/unravel-ml/unravel/train"
)

// tableCommand is `unravel table [NAME]`.
type tableCommand struct {
	Name  string `arg:"" optional:"" help:"Name of a table, or a .yaml file; if absent, the tables are listed."`
	Scale string `placeholder:"NAME" default:"quick" help:"Amount of computing: quick, or full (at least as many draws and runs as in the paper). Some tables have scales between these; see the list of tables."`
	Out   string `placeholder:"DIR" help:"Write a folder: NAME.md, .csv, .tex and .html and, of some tables, box plots (NAME.png), curves (NAME-COLUMN.png), ranks and Kendall's tau (NAME-ranks.csv, NAME-tau.csv) and the results of runs (NAME-runs.csv)."`
	JSON  bool   `name:"json" help:"Print one JSON object on standard output."`

	NoRun  bool `help:"Train nothing: show the cells whose runs exist."`
	DryRun bool `help:"List the runs that would be made with an estimate of their time; make none."`

	Simulate simulateFlag `placeholder:"nodes=N,cores=N" help:"Say how long all runs of the table, also those whose results come with it, would take on the machines of a cluster, and what would be the limit; make none. Without a table: of each table that trains. Further keys as of unravel sweep --simulate."`

	Runs  string `placeholder:"DIR" help:"Folder of the runs; if absent, the one in runs/tables that the table names, or NAME there."`
	Jobs  int    `default:"1" help:"Number of runs at a time, which share the processors."`
	Retry bool   `help:"Repeat failed runs too."`
	Own   bool   `help:"Make the runs whose results come with the table, too."`

	clusterFlags

	data string // real, twin or empty: of --data, which is a flag of all commands
}

// tableRuns is the folder of the runs of tables.
const tableRuns = "runs/tables"

// printWidth is the width of a table where there is no terminal.
const printWidth = 100

// Run computes and prints a table, or lists the tables.
func (c *tableCommand) Run(ctx context.Context, s *streams) error {
	if c.Simulate.machines != nil {
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
	if c.Name == "" {
		if c.data != "" || c.Out != "" || c.JSON || c.NoRun || c.DryRun || c.Runs != "" || c.Retry || c.Own || c.clusterFlags != (clusterFlags{}) {
			return usagef("flags such as --out and --json belong to a table; want its name")
		}
		return listTables(ctx, s.out)
	}
	if c.Jobs < 1 {
		return usagef("--jobs %d: want 1 or more", c.Jobs)
	}
	if err := c.check(c.Jobs); err != nil {
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
	if c.data == realData {
		if err := onTwins(t, c.Scale); err != nil {
			return err
		}
		t = t.OnReal()
	}
	if _, err := t.Scales.Find(c.Scale); err != nil {
		return usagef("--scale %s: the table %s: %w", c.Scale, t.Name, err)
	}
	if c.Out != "" { // a mistake in it should not cost the time of computing
		if err := disk.MakeDir(c.Out); err != nil {
			return err
		}
	}
	if c.Runs == "" {
		c.Runs = runsOf(t)
	}
	start := time.Now()
	failed, err := c.train(ctx, t, s)
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
	if c.JSON {
		return errors.Join(result.WriteJSON(s.out), failed)
	}
	return errors.Join(result.Print(s.out, widthOf(s.out)), failed)
}

// The values of --data that choose, for a table, between public data sets and their twins.
const (
	realData = "real"
	twinData = "twin"
)

// takesData takes a value of --data that is meant for a table; false if it is a folder.
func (c *tableCommand) takesData(command, value string) bool {
	if !strings.HasPrefix(command, "table") || value != realData && value != twinData {
		return false
	}
	c.data = value
	return true
}

// onTwins reports a table none of whose runs is on a twin of a public data set.
func onTwins(t *tables.Table, scale string) error {
	stands, err := t.Stands(scale)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(stands, func(s tables.Stand) bool { return s.Real != "" }) {
		return usagef("--data real: no run of the table %s is on a twin of a public data set", t.Name)
	}
	return nil
}

// prepare converts the public data sets of runs before they begin.
func prepare(ctx context.Context, runs []sweep.Run, log io.Writer) error {
	var done []string
	for _, r := range runs {
		d := r.Config.Dataset
		text, err := config.Encode(d)
		if err != nil || slices.Contains(done, string(text)) {
			continue
		}
		done = append(done, string(text))
		if err := train.PrepareData(ctx, d, log); err != nil {
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
	return filepath.Join(filepath.FromSlash(tableRuns), cmp.Or(t.Folder, t.Name))
}

// train makes the missing runs. Failed runs are an error that is returned after the table is shown.
func (c *tableCommand) train(ctx context.Context, t *tables.Table, s *streams) (failed, err error) {
	if !t.Trains() && c.DryRun {
		return nil, usagef("--dry-run: the table %s trains nothing", t.Name)
	}
	if !t.Trains() && (c.On != "" || c.Index.set) {
		return nil, usagef("--on, --index: the table %s trains nothing", t.Name)
	}
	if !t.Trains() || c.NoRun {
		return nil, nil
	}
	wanted := t.Unshipped
	if c.Own {
		wanted = t.Runs
	}
	runs, err := wanted(c.Scale)
	if err != nil {
		return nil, err
	}
	if c.DryRun {
		list, err := forecasts(ctx, s.log, c.Runs, runs, c.Jobs, c.On != "")
		if err != nil {
			return nil, err
		}
		return nil, printForecasts(s.out, list, c.Jobs)
	}
	if c.On != "" {
		return c.onCluster(ctx, t, s, runs)
	}
	if err := prepare(ctx, runs, s.log); err != nil {
		return nil, err
	}
	outcomes, err := execute(ctx, s, c.Runs, runs, c.Jobs, c.Retry, &c.clusterFlags)
	return failures(outcomes, c.Runs), err
}

// onCluster makes the missing runs of a table as tasks.
func (c *tableCommand) onCluster(ctx context.Context, t *tables.Table, s *streams, runs []sweep.Run) (failed, err error) {
	args := []string{"table", asArgument(c.Name), "--scale", c.Scale, "--runs", asArgument(c.Runs)}
	if c.Own {
		args = append(args, "--own")
	}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	job, err := c.job(t.Name, c.Runs, args...)
	if err != nil {
		return nil, err
	}
	if c.clusterFlags.Print {
		return nil, c.clusterFlags.print(ctx, s, job, runs)
	}
	if err := prepare(ctx, runs, s.log); err != nil { // once, before tasks want them
		return nil, err
	}
	outcomes, err := c.submit(ctx, s, job, runs, c.Retry)
	return failures(outcomes, c.Runs), err
}

// compute computes a table. After the patience is over it logs progress, at intervals of at least the patience.
func (c *tableCommand) compute(ctx context.Context, t *tables.Table, s *streams, patience time.Duration) (*tables.Result, error) {
	var lock sync.Mutex // progress comes from another goroutine
	var slow bool
	latest := "computing " + t.Name
	var said time.Time
	tell := func() {
		fmt.Fprintln(s.log, latest)
		said = time.Now()
	}
	options := tables.Options{Scale: c.Scale, Runs: c.Runs, Explore: !c.NoRun, Progress: func(done, all int, row, metric string) {
		lock.Lock()
		defer lock.Unlock()
		latest = fmt.Sprintf("computing %s of %s (%d of %d)", metric, row, done+1, all)
		if slow && time.Since(said) > patience {
			tell()
		}
	}}
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

// listTables prints the tables with the cells that come out as printed: of tables that train, those of the runs that there are
// in the usual folder, at the largest scale that has any, and "-" without any.
func listTables(ctx context.Context, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TABLE\tREPRODUCED\tPRINTED\tSCALES\tWHAT\tSOURCE")
	for _, name := range tables.Names() {
		table, err := tables.Open(name)
		if err != nil {
			return err
		}
		reproduced, printed, computed, err := coverage(ctx, table)
		if err != nil {
			return err
		}
		count := strconv.Itoa(reproduced)
		if !computed || table.Compare == tables.Ratio { // times do not come out as printed
			count = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", name, count, printed, strings.Join(table.Scales.Names(), " "), table.Title, table.Source)
	}
	return t.Flush()
}

// coverage counts the cells that agree with the printed ones and all printed cells, and reports whether any value was computed
// that can.
func coverage(ctx context.Context, t *tables.Table) (reproduced, printed int, computed bool, err error) {
	if !t.Trains() {
		reproduced, printed = t.Coverage()
		return reproduced, printed, true, nil
	}
	if _, printed = t.Coverage(); printed == 0 {
		return 0, 0, false, nil
	}
	for _, scale := range slices.Backward(t.Scales.Names()) {
		r, err := t.Compute(ctx, tables.Options{Scale: scale, Runs: runsOf(t)})
		if err != nil {
			return 0, 0, false, err
		}
		computed = computed || r.Computed()
		if reproduced, printed = r.Reproduced, r.Printed; reproduced > 0 {
			break
		}
	}
	return reproduced, printed, computed, nil
}

// writeShared writes the files of --out under the lock of the runs, which another process may share and end at the same moment.
func writeShared(ctx context.Context, dir, folder string, r *tables.Result) (err error) {
	unlock, err := rundir.Lock(ctx, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return writeTable(dir, r)
}

// writeTable writes the files of --out.
func writeTable(dir string, r *tables.Result) error {
	type file struct {
		extension string
		write     func(io.Writer) error
	}
	files := []file{{".md", r.WriteMarkdown}, {".csv", r.WriteCSV}, {".tex", r.WriteLaTeX}, {".html", r.WriteHTML}}
	if r.Agreement != nil {
		files = append(files, file{"-ranks.csv", r.WriteRanks}, file{"-tau.csv", r.WriteTau})
	}
	if r.HasRuns() {
		files = append(files, file{"-runs.csv", r.WriteRuns})
	}
	for _, file := range files {
		if err := disk.WriteFile(filepath.Join(dir, r.Name+file.extension), file.write, false); err != nil {
			return err
		}
	}
	if r.HasFigure() {
		if err := disk.WriteFile(filepath.Join(dir, r.Name+".png"), r.WriteFigure, false); err != nil {
			return err
		}
	}
	for _, picture := range r.CurveFiles() {
		if err := disk.WriteFile(filepath.Join(dir, picture.Name), picture.Write, false); err != nil {
			return err
		}
	}
	return nil
}

// widthOf returns the width of a terminal in letters, or printWidth.
func widthOf(w io.Writer) int {
	if f := plain.Terminal(w); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return printWidth
}
