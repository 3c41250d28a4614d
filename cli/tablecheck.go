package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/sweep"
)

// checkFlags are the flags for repeating recorded runs.
type checkFlags struct {
	Check  countFlag     `placeholder:"N" help:"Make N random runs of the ledger again, and compare them with their records." detail:"The runs are from the table, or from all tables. On the recorded instruction set the comparison is bit for bit; otherwise metrics may differ by 0.1. Stale runs are left out. The exit code is 1 if a run differs."`
	Pick   *uint64       `placeholder:"SEED" help:"With --check: seed of the choice (default: a new seed, which is printed)."`
	Within time.Duration `placeholder:"TIME" help:"With --check: leave out runs that took longer, such as 20s or 10m."`
}

// checkedRun is a run in the JSON output.
type checkedRun struct {
	Folder  string  `json:"folder"`
	Run     string  `json:"run"`
	Seconds float64 `json:"seconds"` // recorded
	ledger.Comparison
}

// checkLedger repeats random runs of the ledger.
func (c *tableCommand) checkLedger(ctx context.Context, s *streams, list ...*tables.Table) (err error) {
	choice := &tables.Choice{Count: int(c.Check), Pick: rand.Uint64N(1 << 32), Within: c.Within}
	if c.Pick != nil {
		choice.Pick = *c.Pick
	}
	chosen, err := tables.Checkables(list, choice)
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		return nothingToCheck(choice)
	}
	fmt.Fprintf(s.log, "%d of %s that the ledger has; --pick %d repeats the choice", len(chosen), runCount(choice.Of), choice.Pick)
	if choice.Stale > 0 {
		fmt.Fprintf(s.log, "; left out on the way, as stale: %d", choice.Stale)
	}
	fmt.Fprintln(s.log)
	dir, err := os.MkdirTemp("", "unravel-check")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var runs []sweep.Run
	known := map[string]bool{}
	for _, one := range chosen {
		if !known[one.Run.Hash] { // folders of tables may share it
			known[one.Run.Hash] = true
			runs = append(runs, one.Run)
		}
	}
	if err := prepare(ctx, runs, s.log); err != nil {
		return err
	}
	if _, err := execute(ctx, s, dir, runs, c.jobs(), false, &clusterFlags{}); err != nil {
		return err
	}
	return c.compare(ctx, s.out, chosen, dir)
}

// nothingToCheck says why no recorded run can be repeated, and gives a remedy.
func nothingToCheck(c *tables.Choice) error {
	var why []string
	for _, one := range []struct {
		count int
		what  string
	}{{c.Stale, "stale (--fresh and --contribute renew them)"}, {c.Begun, "beginning with the weights of other runs"}, {c.Longer, fmt.Sprintf("longer than --within %v", c.Within)}} {
		if one.count > 0 {
			why = append(why, fmt.Sprintf("%d %s", one.count, one.what))
		}
	}
	if len(why) == 0 {
		return errors.New("--check: the ledger has no run to make again")
	}
	return fmt.Errorf("--check: there is no run to make again: of %s in the ledger, %s", runCount(c.Of+c.Longer), strings.Join(why, ", "))
}

// compare prints a line for each run.
func (c *tableCommand) compare(ctx context.Context, w io.Writer, chosen []tables.Checkable, dir string) error {
	var list []checkedRun
	different := 0
	for _, one := range chosen {
		found, err := one.Check(ctx, dir)
		if ctx.Err() != nil {
			return train.ErrStopped
		}
		if err != nil {
			return err
		}
		if !found.Same() {
			different++
		}
		run := checkedRun{one.Table.RunsFolder(), one.Record.Name, one.Record.Seconds, found}
		list = append(list, run)
		if !c.JSON {
			fmt.Fprintln(w, run.line(one.Record))
		}
	}
	if c.JSON {
		if err := json.NewEncoder(w).Encode(list); err != nil {
			return err
		}
	}
	if different > 0 {
		return fmt.Errorf("%d of %s made again are not as the ledger has them", different, runCount(len(chosen)))
	}
	return nil
}

// line says in one line how a run agrees with its record.
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

// validCheck checks the flags of --check.
func (c *tableCommand) validCheck() error {
	switch {
	case c.Check == 0 && (c.Pick != nil || c.Within != 0):
		return usagef("--pick and --within belong to --check")
	case c.Within < 0:
		return usagef("--within %v: want a time of more than 0, such as 20s", c.Within)
	case c.Check > 0 && (c.NoRun || c.DryRun || c.Fresh || c.Retry || c.Out != "" || c.Runs != "" || c.Scale != "" || c.exchanges() || c.clusterFlags != (clusterFlags{})):
		return usagef("--check makes runs in a separate folder; want --pick, --within, --jobs, --real, --data and --json as the only other flags")
	}
	return nil
}

// checkAll repeats random runs of all tables.
func (c *tableCommand) checkAll(ctx context.Context, s *streams) error {
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
