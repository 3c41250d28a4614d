package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/results/tables"
	"github.com/unravel-ml/unravel/train"
)

// listedTable is a table in the list, on twins or, where there is something of it, on public data sets.
type listedTable struct {
	Name   string          `json:"table"`
	Title  string          `json:"title"`
	Source string          `json:"source"`
	Trains bool            `json:"trains"`
	Data   string          `json:"data"`
	Scales []tables.Counts `json:"scales"`
}

// list lists the tables.
func (c *tableCommand) list(ctx context.Context, s *streams) error {
	all, err := listTables(ctx)
	if err != nil {
		return err
	}
	return printTables(s.out, all, c.JSON)
}

// printTables writes the list of tables, as JSON or for people.
func printTables(out io.Writer, all []listedTable, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(all)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TABLE\tSCALE\tDATA\tPRINTED\tCOMPUTABLE\tCOMPUTED\tREPRODUCED\tSTALE\tLEDGER\tWHAT\tSOURCE")
	for _, t := range all {
		what := t.Title + "\t" + t.Source
		for i, n := range t.Scales {
			name := t.Name
			if i > 0 {
				name, what = "", "\t"
			}
			reproduced := strconv.Itoa(n.Reproduced)
			if n.Computed == 0 { // nothing to compare: times, or no runs
				reproduced = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%d\t%d\t%s\n", name, n.Scale, t.Data, n.Printed, n.Computable, n.Computed, reproduced, n.Stale, n.Ledger, what)
		}
	}
	return w.Flush()
}

// listTables counts the cells of all tables by scale, of tables that train those of runs in the ledger and in the usual folders.
func listTables(ctx context.Context) ([]listedTable, error) {
	names := tables.Names()
	found, errs := make([][]listedTable, len(names)), make([]error, len(names))
	disk.Each(ctx, len(names), func(i int) { found[i], errs[i] = listTable(ctx, names[i]) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, train.ErrStopped
	}
	return slices.Concat(found...), nil
}

// listTable counts the cells of a table, on public data sets, too, where there is something of it.
func listTable(ctx context.Context, name string) ([]listedTable, error) {
	t, err := tables.Open(name)
	if err != nil {
		return nil, err
	}
	l, err := countTable(ctx, t, "-")
	if err != nil || !t.Trains() {
		return []listedTable{l}, err
	}
	if l.Data, err = standsOn(t); err != nil || l.Data != twinData {
		return []listedTable{l}, err
	}
	real, err := countTable(ctx, t.OnReal(), realData)
	if err != nil || !slices.ContainsFunc(real.Scales, func(n tables.Counts) bool { return n.Computed > 0 }) {
		return []listedTable{l}, err
	}
	return []listedTable{l, real}, nil
}

// standsOn returns twin for a table with runs on a twin of a public data set, else own.
func standsOn(t *tables.Table) (string, error) {
	twins, err := t.OnTwins()
	if err != nil || !twins {
		return "own", err
	}
	return twinData, nil
}

// countTable counts the cells of a table by scale.
func countTable(ctx context.Context, t *tables.Table, data string) (l listedTable, err error) {
	l = listedTable{Name: t.Name, Title: t.Title, Source: t.Source, Trains: t.Trains(), Data: data}
	l.Scales, err = t.Counts(ctx, tables.Options{Runs: runsOf(t), Ledger: t.Ledger()})
	return l, err
}
