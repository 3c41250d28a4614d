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

// Ledger returns the ledger that the table's runs may be in: the folder results beside the file of a table of one's own, else the one
// that comes with Unravel.
func (t *Table) Ledger() fs.FS {
	if dir, own := t.LedgerFolder(); own {
		return os.DirFS(dir)
	}
	return results.Files()
}

// LedgerFolder returns where the files of the ledger are: of a table of one's own beside its file, else from the root of a checkout.
func (t *Table) LedgerFolder() (dir string, own bool) {
	const folder = "results"
	if t.isFile {
		return filepath.Join(t.folder, folder), true
	}
	return folder, false
}

// Unrecorded lists those of [Table.Runs] that the ledger has no results of, not even stale ones, or that were recorded for another table without a metric that
// a column shows.
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

// Digests lists the hashes of what the table says of its runs at all scales, by which the ledger knows them.
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

// Held returns the largest scale of which the ledger or the folder of runs has more than half of the runs, as half of them may be runs without
// training, which are those of all scales, or a larger one of which they have as many; else that of which they have the most, rather below full; empty without any.
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

// Planned is a run that a table needs, with the time of the ledger's record of it.
type Planned struct {
	Key     string  // of the run among all tables: its folder and the hash of its settings
	Kind    string  // its name without the seed
	Seconds float64 // of cores that it took, 0 if the ledger lacks it, or has it as a stale or failed one
	Wall    bool    // Seconds are of the clock, times the threads: what the cores did is not known
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

// CoreSeconds returns a function that tells how many seconds of a core a run of a scale takes: the mean of the ledger's runs of the same row.
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

// Counts are the cells of a table that has printed values, at one scale.
type Counts struct {
	Scale      string `json:"scale"`
	Printed    int    `json:"printed"`
	Computable int    `json:"computable"` // of rows that are not missing at the scale
	Computed   int    `json:"computed"`   // with a value of ours
	Reproduced int    `json:"reproduced"`
	Stale      int    `json:"stale"`  // computed from stale runs of the ledger
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

// count counts the printed cells at a scale, as far as runs fill them. Of a table that trains nothing, which has to be computed to know more, it counts
// those as reproduced that have no note.
func (t *Table) count(ctx context.Context, o Options) (Counts, error) {
	c := Counts{Scale: o.Scale}
	if !t.Trains() && !t.Quotes() {
		c.Reproduced, c.Printed = t.Coverage()
		c.Computable = t.computable(o.Scale)
		if c.Computed = c.Computable; t.Compare == Ratio {
			c.Computed = 0 // times are those of the machine
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

// computable counts the printed cells of rows that are not missing at a scale.
func (t *Table) computable(scale string) (n int) {
	named, err := t.scale(scale)
	if err != nil {
		return 0
	}
	t = t.scaled(named.Name)
	if named.Dataset != "" {
		other := *t
		other.Printed = named.printed(t.Printed)
		t = &other
	}
	for _, place := range t.places() {
		for _, row := range t.Rows {
			if row = place.row(row, named.Name); row.Missing != "" {
				continue
			}
			for _, c := range t.Columns {
				if p := place.printedCell(&row, c.Label); p != nil && p.Mean.Text != "" {
					n++
				}
			}
		}
	}
	return n
}
