package papers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/sweeps"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// exchanges reports whether a flag writes or accepts a contribution to the ledger.
func (c *Command) exchanges() bool { return c.Contribute != "" || c.Accept != "" || c.Replace }

func (c *Command) exchange(t *tables.Table, s *ui.Streams) error {
	switch {
	case c.Contribute != "" && c.Accept != "":
		return ui.Usagef("--contribute and --accept: want one of the two")
	case c.Replace && c.Accept == "":
		return ui.Usagef("--replace belongs to --accept: want both")
	case !t.Trains():
		return ui.Usagef("--contribute, --accept: the table %s trains nothing", t.Name)
	case c.Contribute != "":
		return c.contribute(t, s)
	}
	return c.accept(t, s)
}

func (c *Command) contribute(t *tables.Table, s *ui.Streams) error {
	f, err := t.Contribution(c.options(t))
	if err != nil {
		return err
	}
	notes, err := t.Others(c.options(t))
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(s.Log, "note: %s\n", note)
	}
	if len(f.Runs) == 0 {
		return fmt.Errorf("the folder %s has no run that the table %s needs at the scale %s and the ledger lacks",
			c.Runs, t.Name, c.Scale)
	}
	if err := disk.WriteFile(c.Contribute, f.Write, false); err != nil {
		return err
	}
	fmt.Fprintf(s.Log, "%s written to %s\n", wording.Count(len(f.Runs), "run"), c.Contribute)
	return nil
}

const maxContribution = 256 << 20 // maximum size of a file of runs. A run takes a few kilobytes.

func (c *Command) accept(t *tables.Table, s *ui.Streams) error {
	in, err := os.Open(c.Accept)
	if errors.Is(err, fs.ErrNotExist) {
		return ui.Usage(err)
	}
	if err != nil {
		return err
	}
	defer in.Close() // only read
	f, err := ledger.Read(c.Accept, disk.Limited(in, c.Accept, maxContribution))
	if err != nil {
		return err
	}
	if err := t.Accept(f); err != nil {
		return fmt.Errorf("%s: %w", c.Accept, err)
	}
	dir, isOwn := t.LedgerFolder()
	if _, err := os.Stat(filepath.Join(dir, "results.go")); err != nil && !isOwn {
		return fmt.Errorf("--accept: there is no ledger in the folder %s here; want the root of a checkout of Unravel", dir)
	}
	dir = filepath.Join(dir, t.RunsFolder())
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	updates, err := ledger.Updates(dir, f, c.Real)
	if err != nil {
		return err
	}
	if err := c.checkReplacements(updates, s); err != nil {
		return err
	}
	for _, u := range updates {
		if err := u.Write(); err != nil {
			return err
		}
		fmt.Fprintf(s.Log, "%s: %s added, %d replaced\n", u.Path, wording.Count(u.Added, "run"), len(u.Replaced))
	}
	return nil
}

// checkReplacements prints the records that runs would replace. Without --replace, any such record is an error.
func (c *Command) checkReplacements(updates []*ledger.Update, s *ui.Streams) error {
	n := 0
	for _, u := range updates {
		for _, r := range u.Replaced {
			fmt.Fprintf(s.Log, "%s: %s replaces a record\n", u.Path, r.Run)
			for _, change := range r.Changes {
				fmt.Fprintf(s.Log, "  %s\n", change)
			}
		}
		n += len(u.Replaced)
	}
	if n > 0 && !c.Replace {
		return fmt.Errorf("%s: %s would replace records of the ledger that differ, as listed; nothing is written; --replace accepts them", c.Accept, wording.Count(n, "run"))
	}
	return nil
}

type checkFlags struct {
	Check  ui.Count      `placeholder:"N" help:"Repeat N random runs of the ledger, and compare them with their records." detail:"The runs are from the table, or from all tables. On the recorded instruction set the comparison is bit for bit; otherwise metrics may differ by 0.1, or by 10 % above 1. Stale runs are left out. The exit code is 1 if a run differs."`
	Pick   *uint64       `placeholder:"SEED" help:"With --check: seed for choosing the runs (default: a new seed, which is printed)."`
	Within time.Duration `placeholder:"TIME" help:"With --check: maximum duration of a run, such as 20s or 10m; longer runs are left out."`
}

type checkedRun struct {
	Folder  string  `json:"folder"`
	Run     string  `json:"run"`
	Seconds float64 `json:"seconds"` // recorded seconds
	ledger.Comparison
}

func (c *Command) checkLedger(ctx context.Context, s *ui.Streams, list ...*tables.Table) (err error) {
	choice := &tables.Choice{Count: int(c.Check), Pick: rand.Uint64N(1 << 32), Within: c.Within}
	if c.Pick != nil {
		choice.Pick = *c.Pick
	}
	runsToCheck, err := tables.Checkables(list, choice)
	if err != nil {
		return err
	}
	if len(runsToCheck) == 0 {
		return nothingToCheck(choice)
	}
	fmt.Fprintf(s.Log, "%d of %s that the ledger has; --pick %d repeats the choice",
		len(runsToCheck), wording.Count(choice.Of, "run"), choice.Pick)
	if choice.Stale > 0 {
		fmt.Fprintf(s.Log, "; left out on the way, as stale: %d", choice.Stale)
	}
	fmt.Fprintln(s.Log)
	dir, err := os.MkdirTemp("", "unravel-check")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var runs []sweep.Run
	seen := map[string]bool{}
	for _, one := range runsToCheck {
		if !seen[one.Run.Hash] { // other folders of tables may also contain it
			seen[one.Run.Hash] = true
			runs = append(runs, one.Run)
		}
	}
	if err := sweeps.Prepare(ctx, runs, s.Log); err != nil {
		return err
	}
	if _, err := sweeps.Execute(ctx, s, dir, runs, c.jobs(), false, &sweeps.ClusterFlags{}); err != nil {
		return err
	}
	return c.compare(ctx, s.Out, runsToCheck, dir)
}

// nothingToCheck explains why no recorded run can be repeated, and suggests a remedy.
func nothingToCheck(c *tables.Choice) error {
	var reasons []string
	add := func(count int, what string) {
		if count > 0 {
			reasons = append(reasons, fmt.Sprintf("%d %s", count, what))
		}
	}
	add(c.Stale, "stale (--fresh and --contribute renew them)")
	add(c.Begun, "beginning with the weights of other runs")
	add(c.Longer, fmt.Sprintf("longer than --within %v", c.Within))
	if len(reasons) == 0 {
		return errors.New("--check: the ledger has no run to repeat")
	}
	return fmt.Errorf("--check: there is no run to repeat: of %s in the ledger, %s",
		wording.Count(c.Of+c.Longer, "run"), strings.Join(reasons, ", "))
}

func (c *Command) compare(ctx context.Context, w io.Writer, checkables []tables.Checkable, dir string) error {
	var list []checkedRun
	different := 0
	for _, one := range checkables {
		difference, err := one.Check(ctx, dir)
		if ctx.Err() != nil {
			return train.ErrStopped
		}
		if err != nil {
			return err
		}
		if !difference.Same() {
			different++
		}
		run := checkedRun{one.Table.RunsFolder(), one.Record.Name, one.Record.Seconds, difference}
		list = append(list, run)
		if !c.JSON {
			fmt.Fprintln(w, run.line(one.Record))
		}
	}
	if c.JSON {
		if err := ui.WriteJSON(w, list); err != nil {
			return err
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %s did not reproduce the ledger", different, wording.Count(len(checkables), "run"))
	}
	return nil
}

// line describes in one line how a run compares with its record.
func (r *checkedRun) line(record *ledger.Run) string {
	text := fmt.Sprintf("%s/%s: ", r.Folder, r.Run)
	switch {
	case !r.Same():
		text += "differs: " + strings.Join(r.Differences[:min(3, len(r.Differences))], "; ")
		if more := len(r.Differences) - 3; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
	case r.Exact:
		text += fmt.Sprintf("the same bits; numbers of metrics: %d", r.Metrics)
		if r.Analyses > 0 {
			text += fmt.Sprintf("; analyses: %d", r.Analyses)
		}
	default:
		text += fmt.Sprintf("within %g; metrics: %d, the largest difference %.2g", ledger.Tolerance, r.Metrics, r.Most)
	}
	if !r.Exact && record.Machine != nil {
		text += fmt.Sprintf("; another instruction set: %s recorded", record.Machine.Kernels)
	}
	if len(r.Left) > 0 {
		text += "; not compared: " + strings.Join(r.Left, ", ")
	}
	return fmt.Sprintf("%s (%.3g s recorded)", text, r.Seconds)
}

func (c *Command) validCheck() error {
	switch {
	case c.Check == 0 && (c.Pick != nil || c.Within != 0):
		return ui.Usagef("--pick and --within belong to --check")
	case c.Within < 0:
		return ui.Usagef("--within %v: want a time of more than 0, such as 20s", c.Within)
	case c.Check > 0 && (c.NoRun || c.DryRun || c.Fresh || c.Retry || c.Out != "" || c.Runs != "" || c.Scale != "" ||
		c.exchanges() || c.ClusterFlags != (sweeps.ClusterFlags{})):
		return ui.Usagef("--check makes runs in a separate folder; want --pick, --within, --jobs, --real, --data and --json as the only other flags")
	}
	return nil
}

func (c *Command) checkAll(ctx context.Context, s *ui.Streams) error {
	var list []*tables.Table
	for _, name := range tables.Names() {
		t, err := c.open(name)
		if err != nil {
			return err
		}
		list = append(list, t)
	}
	return c.checkLedger(ctx, s, list...)
}
