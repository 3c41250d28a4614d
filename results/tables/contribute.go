package tables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// current returns the fresh record of a planned run, and its entry; nil without a record or if it is stale.
func (l *recorded) current(r sweep.Run) (*ledger.Run, sweep.Entry, error) {
	e, err := l.entry(r)
	if err != nil || e.State == "" {
		return nil, e, err
	}
	last := l.taken[len(l.taken)-1]
	l.taken = nil
	if last.why != "" {
		return nil, e, nil
	}
	return last.run, e, nil
}

// Contribution collects the table's ended runs at a scale from a folder. It takes runs that the ledger lacks, has
// only as stale, or has without an analysis or metric measured since.
func (t *Table) Contribution(o Options) (*ledger.File, error) {
	p, runs, err := t.plan(o.Scale, false)
	if err != nil {
		return nil, err
	}
	book, err := t.book(o)
	if err != nil {
		return nil, err
	}
	entries, err := sweep.Scan(o.Runs)
	if err != nil {
		return nil, err
	}
	found, l, f := sweep.Find(entries), &recorded{book: book, planned: p.planned}, &ledger.File{}
	for _, r := range runs {
		e := found[r.Hash]
		if e.Dir == "" {
			continue
		}
		if edited, err := rundir.Edited(e.Dir); err != nil || edited != "" {
			return nil, cmp.Or(err, fmt.Errorf("%s: files changed after the run: %s; restore them, or make the run again in another folder", e.Dir, edited))
		}
		if e.State != sweep.Finished && e.State != sweep.Failed {
			continue
		}
		known, held, err := l.current(r)
		if err != nil {
			return nil, err
		}
		c, run, err := ledger.Take(e, p.planned[r.Hash].digest, o.Scale)
		if err != nil {
			return nil, err
		}
		if known != nil && (!run.Finished() || known.Finished() && !more(run, known) && !slices.ContainsFunc(held.Metrics, unmeasured)) {
			continue
		}
		if err := ledger.Clean(c, run); err != nil {
			return nil, err
		}
		f.Put(c, run)
	}
	return f, nil
}

// Others names folders with the config of a run at a scale but another history, see [sweep.Others].
func (t *Table) Others(o Options) ([]string, error) {
	_, runs, err := t.plan(o.Scale, false)
	if err != nil {
		return nil, err
	}
	entries, err := sweep.Scan(o.Runs)
	return sweep.Others(entries, runs), err
}

// more reports whether a run has an analysis that a record lacks.
func more(run ledger.Run, known *ledger.Run) bool {
	for file := range run.Stored {
		if known.Stored[file] == nil {
			return true
		}
	}
	return false
}

// Accept checks a contribution to the ledger against the table's plan. The table must need every run at the recorded
// scale, with today's config, hash and bits. A run must have all metrics and no machine paths.
func (t *Table) Accept(f *ledger.File) error {
	if len(f.Runs) == 0 {
		return errors.New("there is no run in it")
	}
	book, err := t.book(Options{Ledger: t.Ledger()})
	if err != nil {
		return err
	}
	plans, l := map[string]map[string]sweep.Run{}, &recorded{}
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Scale == "" { // an empty name would mean the scale quick
			return fmt.Errorf("run %s: scale: it is empty; want one of %s", r.Name, strings.Join(t.Scales.Names(), ", "))
		}
		if plans[r.Scale] == nil {
			p, runs, err := t.plan(r.Scale, false)
			if err != nil {
				return fmt.Errorf("run %s: %w", r.Name, err)
			}
			plans[r.Scale], l = map[string]sweep.Run{}, &recorded{book: book, planned: p.planned}
			for _, planned := range runs {
				plans[r.Scale][p.planned[planned.Hash].digest] = planned
			}
		}
		planned, ok := plans[r.Scale][r.Settings]
		if !ok {
			return fmt.Errorf("run %s: the table %s has no run with its settings (%s) at the scale %s", r.Name, t.Name, r.Settings, r.Scale)
		}
		err := f.Check(r, planned)
		if err == nil {
			err = l.keeps(r, planned)
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", r.Name, err)
		}
	}
	return nil
}

// keeps checks a run that would replace a record: it must be finished, and its plan must measure the record's
// metrics. Other tables may show these metrics.
func (l *recorded) keeps(r *ledger.Run, planned sweep.Run) error {
	old, _, err := l.current(planned)
	if err != nil || old == nil || !old.Finished() {
		return err
	}
	if !r.Finished() {
		return fmt.Errorf("error: it failed (%s), and the ledger's record of it is finished; want a finished run in its place", r.Error)
	}
	was, err := l.source(old)
	if err != nil {
		return err
	}
	var has []string
	for _, m := range planned.Config.Metrics.Final {
		text, err := runconfig.MetricText(m)
		if err != nil {
			return err
		}
		has = append(has, text)
	}
	for _, text := range was.metrics {
		if !slices.Contains(has, text) {
			return fmt.Errorf("metrics: it lacks one that the ledger's record has; want it in also of the table or of the row: %s", strings.Join(strings.Fields(text)[1:], " "))
		}
	}
	return nil
}
