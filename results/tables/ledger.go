package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

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

// Checkable is a recorded run that can be repeated and compared.
type Checkable struct {
	Table  *Table
	Record *ledger.Run
	Run    sweep.Run

	in *recorded // records and plans of the table
}

// Choice says which recorded runs may be checked, and how to choose among them.
type Choice struct {
	Count  int
	Pick   uint64        // the seed of the choice
	Within time.Duration // leave out longer runs; 0: leave out none
	Stale  int           // set by Checkables: number of stale runs left out
	Of     int           // set by Checkables: number of runs to choose from, including stale ones
	Longer int           // set by Checkables: number of runs longer than Within
	Begun  int           // set by Checkables: number of runs left out because they begin with another run's weights
}

// Checkables chooses recorded runs of tables at random. It takes finished runs that are not stale and do not start
// from other runs. The choice depends only on the ledger and on Pick.
func Checkables(list []*Table, c *Choice) ([]Checkable, error) {
	var all []Checkable
	known := map[string]bool{}
	for _, t := range list {
		some, err := t.checkables(c, known)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b Checkable) int {
		return cmp.Or(cmp.Compare(a.Table.RunsFolder(), b.Table.RunsFolder()), cmp.Compare(a.Record.Settings, b.Record.Settings))
	})
	c.Of = len(all)
	rand.New(rand.NewPCG(c.Pick, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var chosen []Checkable
	for _, one := range all {
		if len(chosen) == c.Count {
			break
		}
		current, _, err := one.in.current(one.Run)
		if err != nil {
			return nil, err
		}
		if current == nil {
			c.Stale++
			continue
		}
		if one.Run, err = again(one.in.book, one.Record); err != nil {
			return nil, err
		}
		if one.Run.Config.Init != nil {
			c.Begun++
			continue
		}
		chosen = append(chosen, one)
	}
	return chosen, nil
}

// checkables lists the finished runs in the table's ledger, as outlines. known has the runs of earlier tables, by
// folder and settings.
func (t *Table) checkables(c *Choice, known map[string]bool) (all []Checkable, err error) {
	book, err := t.book(Options{Ledger: t.Ledger()})
	if err != nil || book.Len() == 0 {
		return nil, err
	}
	in := &recorded{book: book, planned: map[string]planned{}}
	for _, scale := range t.Scales.Names() {
		p, outlines, err := t.plan(scale, true)
		if err != nil {
			return nil, err
		}
		for _, o := range outlines {
			r, key := book.Settings(o.Hash), t.RunsFolder()+"/"+o.Hash
			if r == nil || !r.Finished() || known[key] {
				continue
			}
			known[key] = true
			if c.Within != 0 && r.Seconds > c.Within.Seconds() {
				c.Longer++
				continue
			}
			in.planned[o.Hash] = p.planned[o.Hash]
			all = append(all, Checkable{t, r, o, in})
		}
	}
	return all, nil
}

// again returns the run behind a record, from the config in the ledger.
func again(book *ledger.Book, r *ledger.Run) (sweep.Run, error) {
	c, err := book.Load(r)
	if err != nil {
		return sweep.Run{}, err
	}
	run, err := sweep.NewRun(r.Name, c)
	if err == nil && run.Hash != r.Hash {
		err = fmt.Errorf("run %s: the hash of its config is %s; its record says %s", r.Name, run.Hash, r.Hash)
	}
	return run, err
}

// Check compares a repeated run in a folder of runs with its record. It repeats the recorded analyses first.
func (c *Checkable) Check(ctx context.Context, dir string) (ledger.Comparison, error) {
	if len(c.Record.Stored) > 0 {
		if _, err := c.Table.Compute(ctx, Options{Scale: c.Record.Scale, Runs: dir, Explore: true, RunsOnly: true}); err != nil {
			return ledger.Comparison{}, err
		}
	}
	entries, err := sweep.Scan(dir)
	if err != nil {
		return ledger.Comparison{}, err
	}
	e, ok := sweep.Find(entries)[c.Record.Hash]
	if !ok {
		return ledger.Comparison{}, fmt.Errorf("run %s: %w", c.Record.Name, ErrNotRun)
	}
	_, got, err := ledger.Take(e, c.Record.Settings, c.Record.Scale)
	if err != nil {
		return ledger.Comparison{}, err
	}
	return ledger.Compare(c.Record, &got), nil
}
