package tables

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/train/sweep"
)

// Trains reports whether rows of the table come from runs.
func (t *Table) Trains() bool {
	return slices.ContainsFunc(t.Rows, func(r Row) bool { _, ok := r.From.Value.(Trained); return ok })
}

// Runs lists the table's distinct runs at a scale, starting with the first seed.
func (t *Table) Runs(scale string) ([]sweep.Run, error) {
	_, runs, err := t.plan(scale, false)
	return runs, err
}

// Unrecorded lists the runs of [Table.Runs] without a result in the ledger, where stale results count. It includes runs
// that another table has recorded without a metric that a column of this table shows.
func (t *Table) Unrecorded(o Options) ([]sweep.Run, error) {
	l, runs, err := t.ledgerFinder(o, false)
	if err != nil || l.book.Len() == 0 {
		return runs, err
	}
	var left []sweep.Run
	for _, r := range runs {
		record, err := l.find(r)
		if err != nil {
			return nil, err
		}
		if record.run == nil || record.run.Finished() && l.planners[r.Hash].lacks(r, record.entry) {
			left = append(left, r)
		}
	}
	return left, nil
}

// lacks reports whether a recorded run has not measured a metric that a column shows.
func (p *Planner) lacks(r sweep.Run, e sweep.Entry) bool {
	for i, m := range r.Config.Metrics.Final {
		if indexOf(p.columns, m) >= 0 && (i >= len(e.Metrics) || unmeasured(e.Metrics[i])) {
			return true
		}
	}
	return false
}

// Held returns the largest scale with more than half of its runs in the ledger or the folder, unless a larger scale has
// at least as many runs. Exactly half is not enough: all scales may share untrained runs, and these may be half of the
// runs. If no scale has more than half, Held returns the scale with the most runs, and prefers others to full. Without
// runs, it returns "".
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
			if folders[r.Hash].State == sweep.Finished || book.Settings(p.planned[r.Hash].digest) != nil {
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

// quotedHeld returns the largest scale with results of a quoted table, or "" if there are none.
func (t *Table) quotedHeld(o Options) (string, error) {
	quoted, err := t.quotedTables()
	if err != nil {
		return "", err
	}
	best := -1
	for _, other := range quoted {
		options := o
		options.Runs = other.siblingFolder(o.Runs)
		held, err := other.Held(options)
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

// Planned is a run that a table needs, with its duration from the ledger.
type Planned struct {
	Key     string  // identifies the run across tables: its folder and the hash of its settings
	Kind    string  // name without the seed
	Seconds float64 // core-seconds of the run; 0: the run is missing, stale or failed in the ledger
	Wall    bool    // Seconds are wall time times threads, for runs without a measured core time
}

// Planned lists the runs of the table at a scale.
func (t *Table) Planned(scale string) ([]Planned, error) {
	l, outlines, err := t.ledgerFinder(Options{Scale: scale, Ledger: t.Ledger()}, true)
	if err != nil {
		return nil, err
	}
	var list []Planned
	for _, o := range outlines {
		one := Planned{Key: t.RunsFolder() + "/" + o.Hash, Kind: kindOf(o.Name, scale)}
		record, err := l.find(o)
		if err != nil {
			return nil, err
		}
		if r := record.run; record.current() && r.Finished() {
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

// CoreSeconds returns a function that estimates the core-seconds of a run: the mean over the records of its row.
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
