package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/ledger"
	"github.com/unravel-ml/unravel/tables"
)

// exchange writes a contribution to the ledger, or takes one in.
func (c *tableCommand) exchange(t *tables.Table, s *streams) error {
	switch {
	case c.Contribute != "" && c.Accept != "":
		return usagef("--contribute and --accept: want one of the two")
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
	if len(f.Runs) == 0 {
		return fmt.Errorf("the folder %s has no run that the table %s needs at the scale %s and the ledger lacks", c.Runs, t.Name, c.Scale)
	}
	if err := disk.WriteFile(c.Contribute, f.Write, false); err != nil {
		return err
	}
	fmt.Fprintf(s.log, "%s written to %s\n", runCount(len(f.Runs)), c.Contribute)
	return nil
}

// accept adds the runs of a file to the ledger.
func (c *tableCommand) accept(t *tables.Table, s *streams) error {
	f, err := ledger.ReadFile(c.Accept)
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
	for _, name := range ledger.Names(f, c.data == realData) {
		path := ledger.Path(dir, name)
		added, replaced, err := ledger.Merge(path, f.Of(name, c.data == realData))
		if err != nil {
			return err
		}
		fmt.Fprintf(s.log, "%s: %s added, %d replaced\n", path, runCount(added), replaced)
	}
	return nil
}

func runCount(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprint(n, " runs")
}
