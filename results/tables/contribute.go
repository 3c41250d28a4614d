package tables

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train"
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
		err := accepted(f, r, planned)
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

// accepted checks a run against its plan.
func accepted(f *ledger.File, r *ledger.Run, planned sweep.Run) error {
	c, err := f.Load(r)
	if err != nil {
		return err
	}
	hash, err := c.Hash()
	switch {
	case err != nil:
		return err
	case hash != r.Hash:
		return fmt.Errorf("hash: the hash of its config is %s; got %s", hash, r.Hash)
	case hash != planned.Hash:
		return fmt.Errorf("config: the table plans another one; want the hash %s, got %s", planned.Hash, hash)
	case f.Changed(r) != "":
		return fmt.Errorf("generation: it is %d, and this code's generation is %d: %s", r.Generation, ledger.Generation(), f.Changed(r))
	case r.Machine == nil || r.Version == "" || r.Begun == nil:
		return errors.New("machine, version or begun: want the values of the run's folder")
	}
	if r.Finished() {
		if r.Codes == "" || r.Parameters == "" {
			return errors.New("codes or parameters: want their hashes")
		}
		if err := trained(r, c.Train); err != nil {
			return err
		}
		if err := complete(r.Metrics, planned.Config.Metrics.Final); err != nil {
			return err
		}
	}
	return ledger.Clean(ledger.Config{ID: r.Config, YAML: f.Config(r.Config)}, *r)
}

// trained checks that a finished run trained as long as its config says. Early stopping may have ended it sooner.
func trained(r *ledger.Run, s train.Settings) error {
	switch {
	case r.Epochs > s.Epochs || r.Epochs < s.Epochs && s.Stop == nil:
		return fmt.Errorf("epochs: there are %d; want the %d of its config", r.Epochs, s.Epochs)
	case r.Epochs == 0 && s.Epochs > 0:
		return fmt.Errorf("epochs: there are none; want 1 to %d", s.Epochs)
	case r.Steps < r.Epochs:
		return fmt.Errorf("steps: there are %d in %d epochs; want at least one in each", r.Steps, r.Epochs)
	}
	return nil
}

// complete checks that the results belong to the metrics, followed by the same metrics of averaged weights, if any.
func complete(results []metrics.Result, choices []metrics.Choice) error {
	names := metrics.ResultNames(choices)
	if len(results) < len(names) {
		return fmt.Errorf("metrics: there are %d; want %d", len(results), len(names))
	}
	if len(results) > len(names) { // the run also averaged its weights
		for _, name := range names {
			names = append(names, name+train.AverageSuffix)
		}
	}
	if len(results) != len(names) {
		return fmt.Errorf("metrics: there are %d; want the %d of the config", len(results), len(names))
	}
	for i, name := range names {
		if results[i].Name != name {
			return fmt.Errorf("metrics: number %d is %q; want %q", i+1, results[i].Name, name)
		}
		values := []float64{results[i].Value}
		for _, p := range results[i].Parts {
			values = append(values, p.Values...)
		}
		if slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			return fmt.Errorf("metrics: %s has an infinite or NaN number", name)
		}
	}
	return nil
}
