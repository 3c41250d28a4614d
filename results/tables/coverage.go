package tables

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Ledger returns the ledger for the table's runs: the folder results next to the file of your own table, otherwise
// the ledger of Unravel.
func (t *Table) Ledger() fs.FS {
	if dir, own := t.LedgerFolder(); own {
		return os.DirFS(dir)
	}
	return results.Files()
}

// LedgerFolder returns the folder of the ledger. own reports a table of your own, with its ledger next to its file.
// Otherwise the path starts at the root of a checkout.
func (t *Table) LedgerFolder() (dir string, own bool) {
	const folder = "results"
	if t.isFile {
		return filepath.Join(t.folder, folder), true
	}
	return folder, false
}

// Unrecorded lists the runs of [Table.Runs] without a result in the ledger; stale results count as results. It
// includes runs recorded by another table without a metric that a column shows.
func (t *Table) Unrecorded(o Options) ([]sweep.Run, error) {
	book, err := t.book(o)
	if err != nil {
		return nil, err
	}
	p, runs, err := t.plan(o.Scale, false)
	if err != nil || book.Len() == 0 {
		return runs, err
	}
	l := &recorded{book: book, plans: p.plans}
	var left []sweep.Run
	for _, r := range runs {
		e, err := l.entry(r)
		if err != nil {
			return nil, err
		}
		if e.State == "" || e.State == sweep.Finished && p.by[r.Hash].lacks(r, e) {
			left = append(left, r)
		}
	}
	return left, nil
}

// lacks reports whether a recorded run has not measured a metric that a column shows.
func (p *Planner) lacks(r sweep.Run, e sweep.Entry) bool {
	for i, m := range r.Config.Metrics.Final {
		shown := func(c metrics.Choice) bool { return m.Name == c.Name && reflect.DeepEqual(m.Value, c.Value) }
		if slices.ContainsFunc(p.columns, shown) && (i >= len(e.Metrics) || unmeasured(e.Metrics[i])) {
			return true
		}
	}
	return false
}

// Digests lists the hashes of the table's settings for its runs, at all scales. The ledger knows the runs by these
// hashes.
func (t *Table) Digests() ([]string, error) {
	var list []string
	for _, scale := range t.Scales.Names() {
		_, outlines, err := t.plan(scale, true)
		if err != nil {
			return nil, err
		}
		for _, o := range outlines {
			list = append(list, o.Hash)
		}
	}
	return list, nil
}

// Held returns the largest scale with more than half of its runs in the ledger or the folder, unless a larger scale
// has at least as many runs. Half would not suffice, because half of the runs may be untrained ones that all scales
// share. If no scale passes half, Held returns the scale with most runs and prefers others to full. Without runs the
// name is empty.
func (t *Table) Held(o Options) (string, error) {
	if t.Quotes() {
		return t.quotedHeld(o)
	}
	book, err := t.book(o)
	if err != nil {
		return "", err
	}
	var folders map[string]sweep.Entry
	if o.Runs != "" {
		entries, err := sweep.Scan(o.Runs)
		if err != nil {
			return "", err
		}
		folders = sweep.Find(entries)
	}
	if book.Len()+len(folders) == 0 {
		return "", nil
	}
	best, most := "", 0
	for _, scale := range slices.Backward(t.Scales.Names()) {
		p, runs, err := t.plan(scale, len(folders) == 0)
		if err != nil {
			return "", err
		}
		held := 0
		for _, r := range runs {
			if folders[r.Hash].State == sweep.Finished || book.Settings(p.plans.digests[r.Hash]) != nil {
				held++
			}
		}
		if held > most || held > 0 && held == most && best == FullScale {
			best, most = scale, held
		}
		if 2*held > len(runs) {
			return best, nil
		}
	}
	return best, nil
}

// quotedHeld returns the largest scale with results of a quoted table; empty without results.
func (t *Table) quotedHeld(o Options) (string, error) {
	quoted, err := t.quotedTables()
	if err != nil {
		return "", err
	}
	best := -1
	for _, other := range quoted {
		own := o
		own.Runs = other.beside(o.Runs)
		held, err := other.Held(own)
		if err != nil {
			return "", err
		}
		best = max(best, slices.Index(t.Scales.Names(), held))
	}
	if best < 0 {
		return "", nil
	}
	return t.Scales[best].Name, nil
}

// Planned is a run that a table needs, with the run time from the ledger.
type Planned struct {
	Key     string  // identifies the run across tables: its folder and the hash of its settings
	Kind    string  // its name without the seed
	Seconds float64 // core-seconds of the run; 0 if the ledger lacks the run, or has it as stale or failed
	Wall    bool    // Seconds are wall time times threads, for runs without a measured core time
}

// Planned lists the runs of the table at a scale.
func (t *Table) Planned(scale string) ([]Planned, error) {
	book, err := t.book(Options{Ledger: t.Ledger()})
	if err != nil {
		return nil, err
	}
	p, outlines, err := t.plan(scale, true)
	if err != nil {
		return nil, err
	}
	l := &recorded{book: book, plans: p.plans}
	var list []Planned
	for _, o := range outlines {
		one := Planned{Key: t.RunsFolder() + "/" + o.Hash, Kind: kindOf(o.Name, scale)}
		r, _, err := l.current(o)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Finished() {
			if one.Seconds, one.Wall = r.CPU, r.CPU == 0; one.Wall {
				one.Seconds = r.Seconds
				if r.Machine != nil {
					one.Seconds *= float64(max(1, r.Machine.Threads))
				}
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// CoreSeconds returns a function that estimates the core-seconds of a run at a scale: the mean of the recorded runs
// of the same row.
func (t *Table) CoreSeconds(scale string) (func(sweep.Run) (float64, bool), error) {
	list, err := t.Planned(scale)
	if err != nil {
		return nil, err
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, p := range list {
		if p.Seconds > 0 {
			sums[p.Kind] += p.Seconds
			counts[p.Kind]++
		}
	}
	return func(r sweep.Run) (float64, bool) {
		kind := kindOf(r.Name, scale)
		return sums[kind] / max(counts[kind], 1), counts[kind] > 0
	}, nil
}

// kindOf returns the name of a run without its scale and seed.
func kindOf(name, scale string) string {
	kind, _, _ := strings.Cut(name, "_"+scale+"_seed")
	return kind
}

// Counts counts the cells of a table with printed values, at one scale.
type Counts struct {
	Scale      string `json:"scale"`
	Printed    int    `json:"printed"`
	Computable int    `json:"computable"` // printed cells in rows that the scale computes
	Computed   int    `json:"computed"`   // cells with a value of ours
	Reproduced int    `json:"reproduced"`
	Stale      int    `json:"stale"`  // cells from stale runs of the ledger
	Ledger     int    `json:"ledger"` // runs from the ledger
}

// Counts counts the printed cells at all scales.
func (t *Table) Counts(ctx context.Context, o Options) (list []Counts, err error) {
	o.plans, o.RunsOnly = newPlans(), true
	for _, o.Scale = range t.Scales.Names() {
		c, err := t.count(ctx, o)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// count counts the printed cells at a scale, as far as runs fill them. A table without training would need a
// computation. There, count takes cells without a note as reproduced.
func (t *Table) count(ctx context.Context, o Options) (Counts, error) {
	c := Counts{Scale: o.Scale}
	if !t.Trains() && !t.Quotes() {
		c.Reproduced, c.Printed = t.Coverage()
		c.Computable = t.computable(o.Scale)
		if c.Computed = c.Computable; t.Timed() {
			c.Computed = 0 // times depend on the machine
		}
		return c, nil
	}
	r, err := t.Compute(ctx, o)
	if err != nil {
		return c, err
	}
	c.Printed, c.Reproduced, c.Computable, c.Stale = r.Printed, r.Reproduced, t.computable(o.Scale), r.Count(Outdated)
	if r.Ledger != nil {
		c.Ledger = r.Ledger.Runs
	}
	for _, row := range r.Rows {
		for _, cell := range row.Cells {
			if cell.Ours != nil && cell.Theirs != nil {
				c.Computed++
			}
		}
	}
	return c, nil
}

// computable counts the printed cells of the rows that a scale computes.
func (t *Table) computable(scale string) (n int) {
	t, named, err := t.at(scale)
	if err != nil {
		return 0
	}
	for _, p := range t.places() {
		for _, row := range t.Rows {
			if row = p.row(row, named.Name); row.Missing != "" {
				continue
			}
			for _, c := range t.Columns {
				if _, err := p.printedNumber(&row, c.Label); err == nil {
					n++
				}
			}
		}
	}
	return n
}
