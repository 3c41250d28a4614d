package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Trains reports whether rows of the table come from runs.
func (t *Table) Trains() bool {
	for _, r := range t.Rows {
		if _, ok := r.From.Value.(Trained); ok {
			return true
		}
	}
	return false
}

// Runs lists the table's distinct runs at a scale, starting with the first seed.
func (t *Table) Runs(scale string) ([]sweep.Run, error) {
	_, runs, err := t.plan(scale, false)
	return runs, err
}

// plan returns the runs, or their outlines, and their planner.
func (t *Table) plan(named string, outline bool) (*Planner, []sweep.Run, error) {
	scale, err := t.scale(named)
	if err != nil {
		return nil, nil, err
	}
	t = t.scaled(scale.Name)
	p, err := t.planner(scale)
	if err != nil {
		return nil, nil, err
	}
	p.outline = outline
	var all []sweep.Run
	known, names := map[string]bool{}, map[string]bool{}
	for seed := range uint64(scale.Seeds) {
		for _, row := range t.Rows {
			for _, place := range t.places() {
				source, ok := place.row(row, scale.Name).From.Value.(Trained)
				if !ok {
					continue
				}
				one, runs, err := p.runsOf(source, place, row, seed)
				if err != nil {
					return nil, nil, fmt.Errorf("row %q: %w", row.Label, err)
				}
				for _, r := range runs {
					if known[r.Hash] {
						continue
					}
					known[r.Hash] = true
					for n, name := 2, r.Name; names[r.Name]; n++ {
						r.Name = fmt.Sprintf("%s-%d", name, n)
					}
					names[r.Name], r.Config.Name, p.by[r.Hash] = true, r.Name, one
					all = append(all, r)
				}
			}
		}
	}
	return p, all, nil
}

// planner returns the Planner of a scale.
func (t *Table) planner(scale *Scale) (*Planner, error) {
	p := &Planner{folder: t.folder, scale: scale.Name, set: scale.Set, real: t.real, plans: newPlans()}
	p.compared, p.by = map[string]*comparedRuns{}, map[string]*Planner{}
	measured, err := t.distinct()
	if err != nil {
		return nil, err
	}
	for _, m := range measured {
		p.metrics = append(p.metrics, m.choice)
	}
	p.columns = p.metrics
	return p, p.add(t.Also)
}

// add adds metrics that no column shows, and sorts all metrics by their text. Tables that share runs then agree on
// the order.
func (p *Planner) add(also []metrics.Choice) error {
	if len(also) == 0 {
		return nil
	}
	texts := map[string]metrics.Choice{}
	for _, c := range slices.Concat(also, p.metrics) {
		text, err := p.plans.metricText(c)
		if err != nil {
			return err
		}
		texts[text] = c
	}
	p.metrics = nil
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		p.metrics = append(p.metrics, texts[text])
	}
	return nil
}

// shown selects the results of the columns' metrics.
func (p *Planner) shown(all []metrics.Result) []metrics.Result {
	var list []metrics.Result
	for _, c := range p.columns {
		list = append(list, all[slices.IndexFunc(p.metrics, func(m metrics.Choice) bool { return m.Name == c.Name && reflect.DeepEqual(m.Value, c.Value) })])
	}
	return list
}

// found holds the existing runs.
type found struct {
	options Options
	planner *Planner
	byHash  map[string]sweep.Entry
	ledger  *recorded
	damaged []string
	none    bool // no run exists
}

// find looks for the runs of a table.
func (t *Table) find(o Options) (*found, error) {
	if !t.Trains() {
		return nil, nil
	}
	scale, err := t.scale(o.Scale)
	if err != nil {
		return nil, err
	}
	p, err := t.planner(scale)
	if err != nil {
		return nil, err
	}
	if o.plans != nil {
		p.plans = o.plans
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
	f.ledger = &recorded{book: book, plans: p.plans, brief: o.RunsOnly}
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

// row fills the cells of a trained row for one data set, and adds its runs to the result.
func (f *found) row(ctx context.Context, r *Result, place *Table, row Row, measured []measured, line []Cell, tell func(metric string)) error {
	seeds := r.Seeds
	source := row.From.Value.(Trained)
	planner, err := f.planner.on(place.at).with(source)
	if err != nil {
		return fmt.Errorf("row %q: %w", row.Label, err)
	}
	all := make([]drawn, len(measured))
	var fits drawn
	var missing tally
	for seed := range uint64(seeds) {
		if f.none { // configs need not be read
			missing.add(ErrNotRun)
			continue
		}
		runs, err := source.Plan(planner, row.Label, seed)
		if err != nil {
			return fmt.Errorf("row %q: %w", row.Label, err)
		}
		results, fit, timings, err := f.results(ctx, source, planner, runs)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			for i := range all {
				all[i].results = append(all[i].results, results[i])
				all[i].fits = append(all[i].fits, fit)
			}
			fits.fits, fits.timings = append(fits.fits, fit), append(fits.timings, timings)
			fits.stale = f.ledger.note(fits.stale)
		}
		missing.add(err)
	}
	r.Ledger = f.ledger.origin()
	notes := slices.Concat(missing.notes(seeds), staleness(fits), unconverged(fits))
	for i, m := range measured {
		tell(m.choice.Name)
		all[i].notes, all[i].stale = notes, fits.stale
		for _, c := range m.columns {
			line[c] = place.cell(row, place.Columns[c], all[i], missing.all(seeds))
		}
	}
	fits.notes = notes
	for i, c := range place.Columns {
		if c.unmeasured() {
			line[i] = place.cell(row, c, fits, missing.all(seeds))
		}
	}
	return nil
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
	return fmt.Sprintf("%d of %s failed: %s", m.failed, plural(seeds, "run"), reason)
}

// notes returns remarks on missing and failed runs of a row with results.
func (m *tally) notes(seeds int) (list []string) {
	if m.all(seeds) != nil {
		return nil
	}
	if m.absent > 0 {
		list = append(list, fmt.Sprintf("%d of %s made so far", seeds-m.absent-m.failed, plural(seeds, "run")))
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
			list = append(list, fmt.Sprintf("%d of %s not converged: %s", count, plural(len(d.fits), "run"), why))
		}
	}
	return list
}
