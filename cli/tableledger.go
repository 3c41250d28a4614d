package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables"
)

// exchanges reports whether a flag writes or accepts a contribution to the ledger.
func (c *tableCommand) exchanges() bool { return c.Contribute != "" || c.Accept != "" || c.Replace }

// exchange writes a contribution to the ledger, or accepts one.
func (c *tableCommand) exchange(t *tables.Table, s *streams) error {
	switch {
	case c.Contribute != "" && c.Accept != "":
		return usagef("--contribute and --accept: want one of the two")
	case c.Replace && c.Accept == "":
		return usagef("--replace belongs to --accept: want both")
	case !t.Trains():
		return usagef("--contribute, --accept: the table %s trains nothing", t.Name)
	case c.Contribute != "":
		return c.contribute(t, s)
	}
	return c.accept(t, s)
}

// contribute writes the runs that the ledger lacks.
func (c *tableCommand) contribute(t *tables.Table, s *streams) error {
	f, err := t.Contribution(c.options(t))
	if err != nil {
		return err
	}
	others, err := t.Others(c.options(t))
	if err != nil {
		return err
	}
	for _, other := range others {
		fmt.Fprintf(s.log, "note: %s\n", other)
	}
	if len(f.Runs) == 0 {
		return fmt.Errorf("the folder %s has no run that the table %s needs at the scale %s and the ledger lacks", c.Runs, t.Name, c.Scale)
	}
	if err := disk.WriteFile(c.Contribute, f.Write, false); err != nil {
		return err
	}
	fmt.Fprintf(s.log, "%s written to %s\n", runCount(len(f.Runs)), c.Contribute)
	return nil
}

// maxContribution is the largest size of a file of runs. A run takes some kilobytes.
const maxContribution = 256 << 20

func readContribution(name string) (*ledger.File, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close() // it was only read
	return ledger.Read(name, disk.Limited(in, name, maxContribution))
}

// accept adds the runs of a file to the ledger.
func (c *tableCommand) accept(t *tables.Table, s *streams) error {
	f, err := readContribution(c.Accept)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	if err := t.Accept(f); err != nil {
		return fmt.Errorf("%s: %w", c.Accept, err)
	}
	dir, own := t.LedgerFolder()
	if _, err := os.Stat(filepath.Join(dir, "results.go")); err != nil && !own {
		return fmt.Errorf("--accept: there is no ledger in the folder %s here; want the root of a checkout of Unravel", dir)
	}
	dir = filepath.Join(dir, t.RunsFolder())
	if err := disk.MakeDir(dir); err != nil {
		return err
	}
	names := ledger.Names(f, c.Real)
	if err := c.replaces(f, dir, names, s); err != nil {
		return err
	}
	for _, name := range names {
		path := ledger.Path(dir, name)
		added, replaced, err := ledger.Merge(path, f.Of(name, c.Real))
		if err != nil {
			return err
		}
		fmt.Fprintf(s.log, "%s: %s added, %d replaced\n", path, runCount(added), replaced)
	}
	return nil
}

// replaces prints the records that runs would replace, with the changed values. Without --replace, replacing any
// record is an error.
func (c *tableCommand) replaces(f *ledger.File, dir string, names []string, s *streams) error {
	n := 0
	for _, name := range names {
		path := ledger.Path(dir, name)
		list, err := ledger.Replacements(path, f.Of(name, c.Real))
		if err != nil {
			return err
		}
		for _, r := range list {
			fmt.Fprintf(s.log, "%s: %s replaces a record\n", path, r.Run)
			for _, change := range r.Changes {
				fmt.Fprintf(s.log, "  %s\n", change)
			}
		}
		n += len(list)
	}
	if n > 0 && !c.Replace {
		return fmt.Errorf("%s: %s would replace records of the ledger that differ, as listed; nothing is written; --replace takes them in", c.Accept, runCount(n))
	}
	return nil
}

func runCount(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprint(n, " runs")
}
