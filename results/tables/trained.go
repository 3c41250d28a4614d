package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// found holds the existing runs.
type found struct {
	options Options
	planner *Planner
	byHash  map[string]sweep.Entry
	ledger  *recorded
	damaged []string
	none    bool // no run exists
}

// find looks for the runs of a table at a scale.
func (t *Table) find(o Options) (*found, error) {
	if !t.Trains() {
		return nil, nil
	}
	p, err := t.planner(o.Scale)
	if err != nil {
		return nil, err
	}
	f := &found{options: o, planner: p, byHash: map[string]sweep.Entry{}}
	if o.Runs != "" {
		entries, err := sweep.Scan(o.Runs)
		if err != nil {
			return f, err
		}
		f.byHash = sweep.Find(entries)
		for _, e := range entries {
			if e.Damaged() || errors.Is(e.Problem, rundir.ErrChanged) {
				f.damaged = append(f.damaged, fmt.Sprintf("%s: %v", e.Dir, e.Problem))
			}
		}
	}
	folders := len(f.byHash)+len(o.Folders) > 0
	book, err := t.book(o)
	f.ledger = &recorded{book: book, planned: p.planned, brief: o.RunsOnly}
	f.none = !folders && book.Len() == 0
	p.outline = !folders
	return f, err
}

// entry returns the run with a hash; a missing run has no state.
func (f *found) entry(hash string) sweep.Entry {
	e, ok := f.byHash[hash]
	if dir := f.options.Folders[hash]; !ok && dir != "" {
		if e = sweep.Read(dir); e.Hash != hash { // it has changed meanwhile
			e = sweep.Entry{}
		}
		f.byHash[hash] = e
	}
	return e
}

// trained returns the values of a trained row, by column, and adds its runs to the result.
func (f *filling) trained(ctx context.Context, p place, row Row, source Trained) ([]drawn, error) {
	seeds := f.scale.Seeds
	planner, err := f.runs.planner.on(p.data).with(source)
	if err != nil {
		return nil, fmt.Errorf("row %q: %w", row.Label, err)
	}
	results := make([][]metrics.Result, len(f.measured))
	var all drawn
	var missing tally
	for seed := range uint64(seeds) {
		if f.runs.none { // configs need not be read
			missing.add(ErrNotRun)
			continue
		}
		runs, err := source.Plan(planner, row.Label, seed)
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", row.Label, err)
		}
		values, fit, timings, err := f.runs.results(ctx, source, planner, runs)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if missing.add(err); err != nil {
			continue
		}
		for i, r := range values {
			results[i] = append(results[i], r)
		}
		all.fits, all.timings = append(all.fits, fit), append(all.timings, timings)
		all.stale = f.runs.ledger.note(all.stale)
	}
	f.result.Ledger = f.runs.ledger.origin()
	all.failed, all.notes = missing.all(seeds), slices.Concat(missing.notes(seeds), staleness(all), unconverged(all))
	list := slices.Repeat([]drawn{all}, len(f.table.Columns))
	for i, m := range f.measured {
		f.tell(row, m)
		for _, c := range m.columns {
			list[c].results = results[i]
		}
	}
	return list, nil
}

// results returns the results of the columns' metrics from the runs of a seed. It also returns their fit and the
// seconds of their parts.
func (f *found) results(ctx context.Context, source Trained, p *Planner, runs []sweep.Run) ([]metrics.Result, *train.Fit, []models.Timing, error) {
	entries, err := f.entries(runs)
	if err != nil {
		return nil, nil, nil, err
	}
	results, fit, err := source.Results(ctx, entries, p.metrics, f.options)
	if err != nil {
		return nil, nil, nil, err
	}
	return p.shown(results), fit, timingsOf(entries), nil
}

// entries returns the folders of runs if all are finished.
func (f *found) entries(runs []sweep.Run) ([]sweep.Entry, error) {
	var list []sweep.Entry
	var failed error
	absent := 0
	f.ledger.taken = nil
	for _, r := range runs {
		e := f.entry(r.Hash)
		if e.State != sweep.Finished {
			known, err := f.ledger.entry(r)
			if err != nil {
				return nil, err
			}
			if known.State != "" {
				e = known
			}
		}
		switch e.State {
		case sweep.Finished:
			list = append(list, e)
		case sweep.Failed:
			failed = e.Problem
		case sweep.Unfinished:
			if errors.As(e.Problem, new(*rundir.DamagedError)) {
				failed = e.Problem
			}
			absent++
		default:
			absent++
		}
	}
	switch {
	case failed != nil:
		return nil, failed
	case absent > 0 && len(runs) > 1:
		return nil, fmt.Errorf("%w (%d of %d runs of a grid are there)", ErrNotRun, len(list), len(runs))
	case absent > 0:
		return nil, ErrNotRun
	}
	return list, nil
}

// tally counts seeds without a result.
type tally struct {
	absent, failed      int
	isAbsent, isFailure error // the first of each
}

func (m *tally) add(err error) {
	switch {
	case err == nil:
	case errors.Is(err, ErrNotRun):
		if m.absent++; m.absent == 1 {
			m.isAbsent = err
		}
	default:
		if m.failed++; m.failed == 1 {
			m.isFailure = err
		}
	}
}

// all returns the error of a row without results; nil if it has some.
func (m *tally) all(seeds int) error {
	switch {
	case m.absent+m.failed < seeds:
		return nil
	case m.failed > 0:
		return errors.New(m.failure(seeds))
	}
	return m.isAbsent
}

func (m *tally) failure(seeds int) string {
	reason, _, _ := strings.Cut(m.isFailure.Error(), "\n")
	return fmt.Sprintf("%d of %s failed: %s", m.failed, wording.Count(seeds, "run"), reason)
}

// notes returns remarks on missing and failed runs of a row with results.
func (m *tally) notes(seeds int) (list []string) {
	if m.all(seeds) != nil {
		return nil
	}
	if m.absent > 0 {
		list = append(list, fmt.Sprintf("%d of %s made so far", seeds-m.absent-m.failed, wording.Count(seeds, "run")))
	}
	if m.failed > 0 {
		list = append(list, m.failure(seeds))
	}
	return list
}

// unconverged returns remarks on runs that did not converge: one on runs with a black decoder and one on the others.
func unconverged(d drawn) (list []string) {
	for _, black := range []bool{true, false} {
		count, why := 0, ""
		for _, f := range d.fits {
			if f != nil && !f.Converged && f.Black() == black {
				if count++; count == 1 {
					why = f.Why
				}
			}
		}
		if count > 0 {
			list = append(list, fmt.Sprintf("%d of %s not converged: %s", count, wording.Count(len(d.fits), "run"), why))
		}
	}
	return list
}
