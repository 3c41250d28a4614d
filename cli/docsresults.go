package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/cli/internal/findings"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results/tables"
)

// writeResults writes the page of results from the ledger.
func writeResults(ctx context.Context, s *streams, file string) error {
	page, err := resultsPage(ctx)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(page)
		return err
	}
	if err := disk.WriteFile(file, write, false); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.log, "written to %s\n", file)
	return err
}

// resultsPage makes the page of results for all tables. Trained tables use the ledger.
func resultsPage(ctx context.Context) ([]byte, error) {
	var all []*tables.Result
	for _, name := range tables.Names() {
		t, err := tables.Open(name)
		if err != nil {
			return nil, err
		}
		r, err := recorded(ctx, t)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	papers, err := findings.Papers()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = findings.Write(&b, all, papers)
	return b.Bytes(), err
}

// recorded computes a table. It skips times, because they depend on the machine. A trained table uses the largest
// scale in the ledger.
func recorded(ctx context.Context, t *tables.Table) (*tables.Result, error) {
	o := tables.Options{Ledger: t.Ledger(), RunsOnly: t.Timed()}
	if t.Trains() || t.Quotes() {
		held, err := t.Held(o)
		if err != nil {
			return nil, err
		}
		if o.Scale = held; held == "" {
			o.Scale = emptyScale(t)
		}
	}
	return t.Compute(ctx, o)
}

// emptyScale returns the scale for a table without runs: medium, if the table has it.
func emptyScale(t *tables.Table) string {
	if _, err := t.Scales.Find(tables.MediumScale); err != nil {
		return tables.QuickScale
	}
	return tables.MediumScale
}
