package tables

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/train/sweep"
)

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
