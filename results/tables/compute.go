package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train"
)

// Options are settings for the computation of a table.
type Options struct {
	Scale string // one of the table's scales; empty: quick

	// Progress, if any, is called before a metric of a row is computed. It gets the number of computed metrics and of
	// all metrics.
	Progress func(done, all int, row, metric string)

	// Runs is the folder with the runs of trained rows. Compute only reads them: [sweep.Execute] makes the runs
	// listed by [Table.Runs]. Missing runs leave missing cells.
	Runs string

	// Folders are further folders of runs, by the hash of the settings. Compute reads the folders that the table
	// needs.
	Folders map[string]string

	plans *plans // shared by several scales; nil: each has its own

	// RunsOnly computes only cells from runs; cells of other rows are missing.
	RunsOnly bool

	// Ledger holds recorded results, shown for runs without a folder. It has a subfolder for each folder of runs, see
	// package ledger. Nil means no ledger.
	Ledger fs.FS

	// Explore lets sources analyse the codes of finished runs. This may take minutes. The runs' folders store the
	// results.
	Explore bool
}

// Compute computes the table. The result depends only on the table, the scale and the runs of trained rows that
// exist.
func (t *Table) Compute(ctx context.Context, o Options) (*Result, error) {
	scale, err := t.scale(o.Scale)
	if err != nil {
		return nil, err
	}
	origin := t
	o.Scale, t = scale.Name, t.scaled(scale.Name)
	if scale.Dataset != "" {
		other := *t
		other.Printed = scale.printed(t.Printed)
		t = &other
	}
	measured, err := t.distinct()
	if err != nil {
		return nil, err
	}
	runs, err := t.find(o)
	if err != nil {
		return nil, err
	}
	r := &Result{Name: t.Name, Title: t.Title, Source: t.Source, Scale: scale.Name, Seeds: scale.Seeds, table: t, origin: origin, remark: scale.Remark}
	if r.Printed = t.printed(); runs != nil {
		r.Damaged = runs.damaged
	}
	done, places := 0, t.places()
	others := newOthers(o)
	for _, row := range t.Rows {
		line := make([]Cell, len(t.Columns)*len(places))
		tell := func(metric string) {
			if o.Progress != nil {
				o.Progress(done, len(t.Rows)*len(places)*len(measured), row.Label, metric)
			}
			done++
		}
		for p, place := range places {
			part := make([]Cell, len(t.Columns))
			here := place.row(row, scale.Name)
			if _, ok := here.From.Value.(Trained); ok {
				err = runs.row(ctx, r, place, here, measured, part, tell)
			} else if _, ok := here.From.Value.(quoting); ok {
				err = place.quotedRow(ctx, others, here, part)
			} else if o.RunsOnly {
				place.leaveOut(here, part)
			} else {
				err = place.sampledRow(ctx, here, scale.Seeds, measured, part, tell)
			}
			if err != nil {
				return nil, err
			}
			for c, cell := range part {
				line[c*len(places)+p] = cell
			}
		}
		for _, c := range line {
			if c.Status.Reproduced() {
				r.Reproduced++
			}
		}
		r.Rows = append(r.Rows, ResultRow{row.Label, line})
	}
	if t.Agree {
		r.agree()
	}
	return r, nil
}

// errLeftOut is the reason in cells that RunsOnly leaves out.
var errLeftOut = errors.New("computed by unravel table")

// leaveOut makes the cells of a row missing.
func (t *Table) leaveOut(row Row, line []Cell) {
	reason := errLeftOut
	if row.Missing != "" {
		reason = errors.New(row.Missing)
	}
	for i, c := range t.Columns {
		line[i] = t.cell(row, c, drawn{}, reason)
	}
}

var errNoFit = errors.New("only runs have fitted something, and taken time")

// sampledRow fills the cells of a row without training.
func (t *Table) sampledRow(ctx context.Context, row Row, seeds int, measured []measured, line []Cell, tell func(metric string)) error {
	samples := &sampler{table: t, row: row, known: map[uint64]*Sample{}}
	for _, m := range measured {
		tell(m.choice.Name)
		values, err := samples.measure(ctx, m, seeds)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, c := range m.columns {
			line[c] = t.cell(row, t.Columns[c], values, err)
		}
	}
	for i, c := range t.Columns {
		if c.unmeasured() {
			reason := errNoFit
			if row.Missing != "" {
				reason = errors.New(row.Missing)
			}
			line[i] = t.cell(row, c, drawn{}, reason)
		}
	}
	return nil
}

// printed counts the cells that the paper prints.
func (t *Table) printed() int {
	_, n := t.Coverage()
	return n
}

// measured is a metric and the columns that show parts of its result.
type measured struct {
	choice  metrics.Choice
	columns []int
}

// distinct lists the distinct metrics of the columns.
func (t *Table) distinct() ([]measured, error) {
	var list []measured
	var texts []string
	for i, c := range t.Columns {
		if c.unmeasured() {
			continue
		}
		text, err := metricText(c.Metric)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Label, err)
		}
		at := slices.Index(texts, text)
		if at < 0 {
			at = len(list)
			list, texts = append(list, measured{choice: c.Metric}), append(texts, text)
		}
		list[at].columns = append(list[at].columns, i)
	}
	return list, nil
}

// metricText writes a metric with all its options.
func metricText(c metrics.Choice) (string, error) {
	text, err := config.Encode(struct{ Metric metrics.Choice }{c})
	return string(text), err
}

// drawn holds the results of a metric by seed; exact means that one result holds for all seeds.
type drawn struct {
	results []metrics.Result
	exact   bool
	fits    []*train.Fit      // fits of the runs, by result
	timings [][]models.Timing // likewise
	notes   []string          // remarks on missing, failed, stale or unconverged runs
	stale   []string          // a reason for each stale run
}

// sampler caches the samples of a row.
type sampler struct {
	table *Table
	row   Row
	known map[uint64]*Sample
}

// fixed reports whether all seeds have the same sample.
func (s *sampler) fixed() bool { return !s.row.From.Value.Random() && s.table.Subset == 0 }

// sample returns the codes of a seed.
func (s *sampler) sample(ctx context.Context, seed uint64) (*Sample, error) {
	if s.fixed() {
		seed = 0
	}
	if known := s.known[seed]; known != nil {
		return known, nil
	}
	sample, err := s.row.From.Value.(Sampled).Sample(ctx, seed)
	if err != nil {
		return nil, err
	}
	if err := sample.Input.Validate(); err != nil {
		return nil, err
	}
	if n := sample.Input.Codes.Rows; s.table.Subset > n {
		return nil, fmt.Errorf("there are %d rows of codes; want at least the %d of a subset", n, s.table.Subset)
	}
	if s.table.Subset > 0 {
		sample = sample.subset(s.table.Subset, seed)
	}
	s.known[seed] = sample
	return sample, nil
}

// subset keeps random rows. All sources with the same number of rows keep the same ones.
func (s *Sample) subset(rows int, seed uint64) *Sample {
	in := s.Input
	chosen := rng.New(seed, "table/subset").Perm(in.Codes.Rows)[:rows]
	slices.Sort(chosen)
	k := len(in.Factors)
	part := &metrics.Input{Factors: in.Factors, Codes: matrix.Matrix{Rows: rows, Cols: in.Codes.Cols}}
	for _, i := range chosen {
		part.Codes.Data = append(part.Codes.Data, in.Codes.Row(i)...)
		part.Levels = append(part.Levels, in.Levels[i*k:(i+1)*k]...)
	}
	for _, values := range in.Exact {
		var exact []float64
		for _, i := range chosen {
			if values != nil {
				exact = append(exact, values[i])
			}
		}
		part.Exact = append(part.Exact, exact)
	}
	return &Sample{Input: part, Codes: s.Codes, Timed: s.Timed}
}

// measure computes a metric for every seed, or once if it is deterministic.
func (s *sampler) measure(ctx context.Context, m measured, seeds int) (drawn, error) {
	var d drawn
	if s.row.Missing != "" {
		return d, errors.New(s.row.Missing)
	}
	if source, ok := s.row.From.Value.(Assumed); ok {
		result, err := source.Score(m.choice)
		return drawn{results: []metrics.Result{result}, exact: true}, err
	}
	if source, ok := s.row.From.Value.(Redrawn); ok {
		for seed := range uint64(seeds) {
			result, err := source.Draw(ctx, m.choice, seed)
			if err != nil || ctx.Err() != nil {
				return d, errors.Join(err, ctx.Err())
			}
			d.results = append(d.results, result)
		}
		return d, nil
	}
	var absent error
	for seed := range uint64(seeds) {
		if err := ctx.Err(); err != nil {
			return d, err
		}
		sample, err := s.sample(ctx, seed)
		if errors.Is(err, ErrNotRun) {
			absent = err
			continue
		}
		if err != nil {
			return d, err
		}
		result, touched, err := compute(ctx, m.choice, sample, seed)
		if err != nil {
			return d, fmt.Errorf("metric %s: %w", m.choice.Name, err)
		}
		d.results = append(d.results, result)
		if s.fixed() && !touched {
			d.exact = true
			return d, nil
		}
	}
	if len(d.results) == 0 {
		return d, absent
	}
	return d, nil
}

// compute computes a metric as metrics.Evaluate does, or times it. It also reports whether the metric drew random
// numbers.
func compute(ctx context.Context, c metrics.Choice, s *Sample, seed uint64) (r metrics.Result, touched bool, err error) {
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
	fresh := reflect.New(v.Type().Elem())
	fresh.Elem().Set(v.Elem())
	return fresh.Interface().(metrics.Metric)
}
