package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/results/tables/internal/codes"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Options are the options for computing a table.
type Options struct {
	Scale string // one of the table's scales; empty: quick

	// Progress, if set, is called before a metric of a row is computed, with the number of computed metrics and the
	// total.
	Progress func(done, all int, row, metric string)

	// Runs is the folder with the runs of trained rows. Compute only reads them: [sweep.Execute] trains the runs listed
	// by [Table.Runs]. If a run is missing, its cells are missing.
	Runs string

	// Folders maps the hashes of settings to further run folders. Compute only reads the folders that the table needs.
	Folders map[string]string

	// RunsOnly only computes cells from runs; cells of other rows are missing.
	RunsOnly bool

	// Ledger holds the recorded results for runs without a folder. It has a subfolder for each folder of runs, see
	// package ledger. nil means no ledger.
	Ledger fs.FS

	// Explore lets sources analyse the codes of finished runs, which may take minutes. The results are stored in the
	// folders of the runs.
	Explore bool
}

// Compute computes the table. The result only depends on the table, the scale and the existing runs of trained rows.
func (t *Table) Compute(ctx context.Context, o Options) (*Result, error) {
	f, err := t.newComputation(o)
	if err != nil {
		return nil, err
	}
	r := f.result
	for _, row := range f.table.Rows {
		cells, err := f.rowCells(ctx, row)
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			if c.Status.Reproduced() {
				r.Reproduced++
			}
		}
		r.Rows = append(r.Rows, ResultRow{row.Label, cells})
	}
	if f.table.Agree {
		r.agree()
	}
	return r, nil
}

type computation struct {
	table   *Table // reduced to the scale
	scale   *Scale
	views   []view
	options Options
	metrics []shownMetric
	runs    *runFinder // nil for a table without training
	others  *otherTables
	result  *Result
	done    int // number of computed metrics
}

func (t *Table) newComputation(o Options) (*computation, error) {
	scaled, scale, err := t.atScale(o.Scale)
	if err != nil {
		return nil, err
	}
	o.Scale = scale.Name
	f := &computation{table: scaled, scale: scale, views: scaled.views(), options: o}
	f.others = &otherTables{o, map[*Table]*Result{}}
	if f.metrics, err = scaled.distinctMetrics(); err != nil {
		return nil, err
	}
	if f.runs, err = scaled.runFinder(o); err != nil {
		return nil, err
	}
	f.result = &Result{Name: t.Name, Title: t.Title, Source: t.Source, Scale: scale.Name, Seeds: scale.Seeds,
		Table: scaled, Remark: scale.Remark, origin: t}
	if _, f.result.Printed = scaled.Coverage(); f.runs != nil {
		f.result.Damaged = f.runs.damaged
	}
	return f, nil
}

// rowCells computes the cells of a row, by column and then by data set.
func (f *computation) rowCells(ctx context.Context, row Row) ([]Cell, error) {
	cells := make([]Cell, len(f.table.Columns)*len(f.views))
	for i, p := range f.views {
		scaledRow := p.row(row, f.scale.Name)
		list, err := f.rowValues(ctx, p, scaledRow)
		if err != nil {
			return nil, err
		}
		for c, column := range f.table.Columns {
			cells[c*len(f.views)+i] = p.cell(scaledRow, column, list[c])
		}
	}
	return cells, nil
}

// cellValues holds the values behind a cell, by seed or by run.
type cellValues struct {
	err       error            // reason for no value
	results   []metrics.Result // results of the column's metric
	exact     bool             // the same result holds for all seeds
	fits      []*train.Fit     // fits of the runs
	timings   [][]models.Timing
	quoted    []float64 // values of another table's cells, instead of results
	unlearned int       // with quoted: number of runs that have not learned the images
	notes     []string  // remarks on missing, failed, stale or unconverged runs
	stale     []string  // a reason for each stale run
}

// rowValues returns the values of a row on a data set, by column.
func (f *computation) rowValues(ctx context.Context, p view, row Row) ([]cellValues, error) {
	source := row.From.Value
	if s, ok := source.(Trained); ok {
		return f.trainedValues(ctx, p, row, s)
	}
	if s, ok := source.(quoting); ok {
		return f.quotedValues(ctx, p, row, s)
	}
	reason := errNoRuns // in columns without a metric
	switch {
	case row.Missing != "":
		reason = errors.New(row.Missing)
	case f.options.RunsOnly:
		reason = errRunsOnly
	}
	list := slices.Repeat([]cellValues{{err: reason}}, len(f.table.Columns))
	if f.options.RunsOnly {
		return list, nil
	}
	score := scorer(source)
	for _, m := range f.metrics {
		f.reportProgress(row, m)
		if row.Missing != "" {
			continue
		}
		d := f.score(ctx, score, m.choice)
		if d.err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, c := range m.columns {
			list[c] = d
		}
	}
	return list, nil
}

var errRunsOnly = errors.New("computed by unravel table") // reason of cells that RunsOnly omits

var errNoRuns = errors.New("only rows with runs have a fit and times")

func (f *computation) reportProgress(row Row, m shownMetric) {
	if f.options.Progress != nil {
		f.options.Progress(f.done, len(f.table.Rows)*len(f.views)*len(f.metrics), row.Label, m.choice.Name)
	}
	f.done++
}

// shownMetric is a metric with the columns that show parts of its result.
type shownMetric struct {
	choice  metrics.Choice
	text    string
	columns []int
}

func (t *Table) distinctMetrics() ([]shownMetric, error) {
	var list []shownMetric
	for i, c := range t.Columns {
		if c.unmeasured() {
			continue
		}
		text, err := runconfig.MetricText(c.Metric)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Label, err)
		}
		index := slices.IndexFunc(list, func(m shownMetric) bool { return m.text == text })
		if index < 0 {
			index = len(list)
			list = append(list, shownMetric{choice: c.Metric, text: text})
		}
		list[index].columns = append(list[index].columns, i)
	}
	return list, nil
}

// scoring computes a metric for a seed. random reports whether other seeds can give other results.
type scoring func(ctx context.Context, c metrics.Choice, seed uint64) (r metrics.Result, random bool, err error)

// scorer returns the scoring function of a source without training.
func scorer(source Source) scoring {
	switch s := source.(type) {
	case Scored:
		return func(ctx context.Context, c metrics.Choice, seed uint64) (metrics.Result, bool, error) {
			r, err := s.Score(ctx, c, seed)
			return r, s.Random(), err
		}
	case Sampled:
		return (&sampleCache{s.Sample, s.Random(), map[uint64]*Sample{}}).score
	case codesSource:
		sample := func(ctx context.Context, seed uint64) (*Sample, error) {
			found, err := s.Sample(ctx, seed)
			return (*Sample)(found), err
		}
		return (&sampleCache{sample, s.Random(), map[uint64]*Sample{}}).score
	}
	return func(context.Context, metrics.Choice, uint64) (r metrics.Result, random bool, err error) {
		return r, false, fmt.Errorf("the source %T has no codes; want Sampled, Scored or Trained", source)
	}
}

// score computes a metric for every seed, or once if it is deterministic.
func (f *computation) score(ctx context.Context, score scoring, c metrics.Choice) (d cellValues) {
	var absent error
	for seed := range uint64(f.scale.Seeds) {
		if d.err = ctx.Err(); d.err != nil {
			return d
		}
		r, random, err := score(ctx, c, seed)
		if errors.Is(err, ErrNotRun) {
			absent = err
			continue
		}
		if d.err = err; err != nil {
			return d
		}
		d.results = append(d.results, r)
		if d.exact = !random; d.exact {
			return d
		}
	}
	if len(d.results) == 0 {
		d.err = absent
	}
	return d
}

// codesSource is a source in package codes.
type codesSource interface {
	Source
	Sample(ctx context.Context, seed uint64) (*codes.Sample, error)
}

type sampleCache struct {
	sample func(ctx context.Context, seed uint64) (*Sample, error)
	random bool // seeds give different samples
	bySeed map[uint64]*Sample
}

func (s *sampleCache) score(ctx context.Context, c metrics.Choice, seed uint64) (r metrics.Result, random bool, err error) {
	sampleSeed := seed
	if !s.random {
		sampleSeed = 0
	}
	sample := s.bySeed[sampleSeed]
	if sample == nil {
		if sample, err = s.sample(ctx, sampleSeed); err != nil {
			return r, false, err
		}
		if err := sample.Input.Validate(); err != nil {
			return r, false, err
		}
		s.bySeed[sampleSeed] = sample
	}
	r, usedRandom, err := sample.measure(ctx, c, seed)
	if err != nil {
		err = fmt.Errorf("metric %s: %w", c.Name, err)
	}
	return r, usedRandom || s.random, err
}

// measure computes a metric, or measures its time. usedRandom reports whether the metric drew random numbers.
func (s *Sample) measure(ctx context.Context, c metrics.Choice, seed uint64) (r metrics.Result, usedRandom bool, err error) {
	metric := c.Value
	if _, ok := metric.(metrics.SubCoded); ok && s.Codes != nil {
		metric = clone(metric)
		metric.(metrics.SubCoded).SetCodes(s.Codes, metrics.AssignAuto)
	}
	in := *s.Input
	in.Stream = rng.New(seed, "metric/"+c.Name)
	before, err := in.Stream.MarshalBinary()
	if err != nil {
		return r, false, err
	}
	start := time.Now()
	if r, err = metric.Compute(ctx, &in); err != nil {
		return r, false, err
	}
	if s.Timed {
		r = metrics.Result{Name: c.Name, Value: time.Since(start).Seconds(), Better: metrics.LowerIsBetter}
	}
	after, err := in.Stream.MarshalBinary()
	return r, !bytes.Equal(before, after), err
}

// clone copies a metric, because rows must not share sub-codes.
func clone(m metrics.Metric) metrics.Metric {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer {
		return m
	}
	copied := reflect.New(v.Type().Elem())
	copied.Elem().Set(v.Elem())
	return copied.Interface().(metrics.Metric)
}

type runFinder struct {
	options Options
	planner *Planner
	byHash  map[string]sweep.Entry
	ledger  *ledgerFinder
	damaged []string
	empty   bool // no run exists
}

func (t *Table) runFinder(o Options) (*runFinder, error) {
	if !t.Trains() {
		return nil, nil
	}
	p, err := t.planner(o.Scale)
	if err != nil {
		return nil, err
	}
	f := &runFinder{options: o, planner: p, byHash: map[string]sweep.Entry{}}
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
	f.ledger = &ledgerFinder{book: book, planned: p.planned, brief: o.RunsOnly}
	f.empty = !folders && book.Len() == 0
	p.outline = !folders
	return f, err
}

// entry returns the run with a hash. A missing run has no State.
func (f *runFinder) entry(hash string) sweep.Entry {
	e, ok := f.byHash[hash]
	if dir := f.options.Folders[hash]; !ok && dir != "" {
		if e = sweep.Read(dir); e.Hash != hash { // the folder has changed meanwhile
			e = sweep.Entry{}
		}
		f.byHash[hash] = e
	}
	return e
}

// trainedValues returns the values of a trained row, by column, and adds its runs to the result.
func (f *computation) trainedValues(ctx context.Context, p view, row Row, source Trained) ([]cellValues, error) {
	seeds := f.scale.Seeds
	results := make([][]metrics.Result, len(f.metrics))
	var all cellValues
	var missing tally
	for seed := range uint64(seeds) {
		if f.runs.empty { // the configs are not needed
			missing.add(ErrNotRun)
			continue
		}
		planner, runs, err := f.runs.planner.runsOf(source, p, row, seed)
		if err != nil {
			return nil, fmt.Errorf("row %q: %w", row.Label, err)
		}
		values, err := f.runs.values(ctx, source, planner, runs)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if missing.add(err); err != nil {
			continue
		}
		for i, r := range values.results {
			results[i] = append(results[i], r)
		}
		all.fits, all.timings = append(all.fits, values.fit), append(all.timings, values.timings)
		if why := f.runs.ledger.countShown(values.records); why != "" {
			all.stale = append(all.stale, why)
		}
	}
	f.result.Ledger = f.runs.ledger.origin()
	all.err = missing.rowError(seeds)
	all.notes = slices.Concat(missing.notes(seeds), staleNotes(all), unconvergedNotes(all))
	list := slices.Repeat([]cellValues{all}, len(f.table.Columns))
	for i, m := range f.metrics {
		f.reportProgress(row, m)
		for _, c := range m.columns {
			list[c].results = results[i]
		}
	}
	return list, nil
}

// seedValues holds the values of a row for a seed.
type seedValues struct {
	results []metrics.Result // by metric that columns show
	fit     *train.Fit
	timings []models.Timing
	records []ledgerRecord // records of runs without a finished folder
}

// values returns the values from the runs of a seed.
func (f *runFinder) values(ctx context.Context, source Trained, p *Planner, runs []sweep.Run) (v seedValues, err error) {
	entries, records, err := f.entries(runs)
	if err != nil {
		return v, err
	}
	results, fit, err := source.Results(ctx, entries, p.metrics, f.options)
	if err != nil {
		return v, err
	}
	return seedValues{p.columnResults(results), fit, timingsOf(entries), records}, nil
}

// entries returns the folders of runs, or their records, if all are finished.
func (f *runFinder) entries(runs []sweep.Run) (list []sweep.Entry, records []ledgerRecord, err error) {
	var failed error
	absent := 0
	for _, r := range runs {
		e := f.entry(r.Hash)
		if e.State != sweep.Finished {
			known, err := f.ledger.find(r)
			if err != nil {
				return nil, nil, err
			}
			if known.run != nil {
				e, records = known.entry, append(records, known)
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
		return nil, nil, failed
	case absent > 0 && len(runs) > 1:
		return nil, nil, fmt.Errorf("%w (%d of %d runs of a grid are there)", ErrNotRun, len(list), len(runs))
	case absent > 0:
		return nil, nil, ErrNotRun
	}
	return list, records, nil
}

type tally struct{ absent, failed []error }

func (m *tally) add(err error) {
	switch {
	case errors.Is(err, ErrNotRun):
		m.absent = append(m.absent, err)
	case err != nil:
		m.failed = append(m.failed, err)
	}
}

// rowError returns the error of a row without results, or nil if the row has results.
func (m *tally) rowError(seeds int) error {
	switch {
	case len(m.absent)+len(m.failed) < seeds:
		return nil
	case len(m.failed) > 0:
		return errors.New(m.failure(seeds))
	}
	return m.absent[0]
}

func (m *tally) failure(seeds int) string {
	reason, _, _ := strings.Cut(m.failed[0].Error(), "\n")
	return fmt.Sprintf("%d of %s failed: %s", len(m.failed), wording.Count(seeds, "run"), reason)
}

// notes returns remarks on missing and failed runs of a row with results.
func (m *tally) notes(seeds int) (list []string) {
	if m.rowError(seeds) != nil {
		return nil
	}
	if len(m.absent) > 0 {
		list = append(list, fmt.Sprintf("%d of %s made so far", seeds-len(m.absent)-len(m.failed),
			wording.Count(seeds, "run")))
	}
	if len(m.failed) > 0 {
		list = append(list, m.failure(seeds))
	}
	return list
}

// unconvergedNotes returns remarks on runs that did not converge: one for each kind of reason, with the range of its
// numbers. Black decoders come first.
func unconvergedNotes(d cellValues) (list []string) {
	for _, black := range []bool{true, false} {
		var kinds []string
		reasons := map[string][]string{}
		for _, f := range d.fits {
			if f != nil && !f.Converged && f.Black() == black {
				kind := numberPattern.ReplaceAllString(f.Why, "")
				if reasons[kind] == nil {
					kinds = append(kinds, kind)
				}
				reasons[kind] = append(reasons[kind], f.Why)
			}
		}
		for _, kind := range kinds {
			count := fmt.Sprintf("%d of %s", len(reasons[kind]), wording.Count(len(d.fits), "run"))
			list = append(list, count+" not converged: "+mergeReasons(reasons[kind]))
		}
	}
	return list
}

// numberPattern matches a number in a reason.
var numberPattern = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?`)

// mergeReasons joins reasons that differ in their first number: "1 to 3 % of it" for "3 % of it" and "1 % of it".
func mergeReasons(reasons []string) string {
	position := numberPattern.FindStringIndex(reasons[0])
	if position == nil {
		return reasons[0]
	}
	value := func(text string) float64 {
		v, _ := strconv.ParseFloat(text, 64) // it matches numberPattern
		return v
	}
	low := reasons[0][position[0]:position[1]]
	high := low
	for _, r := range reasons {
		switch text := numberPattern.FindString(r); {
		case value(text) < value(low):
			low = text
		case value(text) > value(high):
			high = text
		}
	}
	if low != high {
		low += " to " + high
	}
	return reasons[0][:position[0]] + low + reasons[0][position[1]:]
}
