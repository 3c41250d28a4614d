package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Contribution collects the table's ended runs at a scale from a folder. It takes runs that the ledger lacks or has
// only as stale, and runs with a record that lacks an analysis or a metric.
func (t *Table) Contribution(o Options) (*ledger.File, error) {
	l, runs, err := t.ledgerFinder(o, false)
	if err != nil {
		return nil, err
	}
	entries, err := sweep.Scan(o.Runs)
	if err != nil {
		return nil, err
	}
	byHash, f := sweep.Find(entries), &ledger.File{}
	for _, r := range runs {
		e := byHash[r.Hash]
		if e.Dir == "" {
			continue
		}
		if edited, err := rundir.Edited(e.Dir); err != nil || edited != "" {
			return nil, cmp.Or(err, fmt.Errorf("%s: files changed after the run: %s; restore them, or make the run again in another folder", e.Dir, edited))
		}
		if e.State != sweep.Finished && e.State != sweep.Failed {
			continue
		}
		record, err := l.find(r)
		if err != nil {
			return nil, err
		}
		c, run, err := ledger.Take(e, l.planned[r.Hash].digest, o.Scale)
		if err != nil {
			return nil, err
		}
		if record.current() && !improves(run, record) {
			continue
		}
		if err := ledger.Clean(c, run); err != nil {
			return nil, err
		}
		f.Put(c, run)
	}
	return f, nil
}

// Others lists the folders that have the config of a run at a scale but another history, see [sweep.Others].
func (t *Table) Others(o Options) ([]string, error) {
	_, runs, err := t.plan(o.Scale, false)
	if err != nil {
		return nil, err
	}
	entries, err := sweep.Scan(o.Runs)
	return sweep.Others(entries, runs), err
}

// improves reports whether a run has results that its record lacks.
func improves(run ledger.Run, record ledgerRecord) bool {
	if !run.Finished() || !record.run.Finished() {
		return run.Finished()
	}
	for file := range run.Stored {
		if record.run.Stored[file] == nil {
			return true
		}
	}
	return slices.ContainsFunc(record.entry.Metrics, unmeasured)
}

// Accept checks a contribution to the ledger against the table's plan. The table must need every run at the recorded
// scale, with today's config, hash and bits. A run must have all metrics and no machine paths.
func (t *Table) Accept(f *ledger.File) error {
	if len(f.Runs) == 0 {
		return errors.New("there is no run in it")
	}
	plans, l := map[string]map[string]sweep.Run{}, &ledgerFinder{}
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Scale == "" { // "" would mean the scale quick
			return fmt.Errorf("run %s: scale: it is empty; want one of %s", r.Name, strings.Join(t.Scales.Names(), ", "))
		}
		if plans[r.Scale] == nil {
			var runs []sweep.Run
			var err error
			if l, runs, err = t.ledgerFinder(Options{Scale: r.Scale, Ledger: t.Ledger()}, false); err != nil {
				return fmt.Errorf("run %s: %w", r.Name, err)
			}
			plans[r.Scale] = map[string]sweep.Run{}
			for _, planned := range runs {
				plans[r.Scale][l.planned[planned.Hash].digest] = planned
			}
		}
		planned, ok := plans[r.Scale][r.Settings]
		if !ok {
			return fmt.Errorf("run %s: the table %s has no run with its settings (%s) at the scale %s",
				r.Name, t.Name, r.Settings, r.Scale)
		}
		err := f.Check(r, planned)
		if err == nil {
			err = l.checkReplacement(r, planned)
		}
		if err != nil {
			return fmt.Errorf("run %s: %w", r.Name, err)
		}
	}
	return nil
}

// checkReplacement checks a run that would replace a record. The run must be finished, and its plan must measure the
// metrics of the record, because other tables may show these metrics.
func (l *ledgerFinder) checkReplacement(r *ledger.Run, planned sweep.Run) error {
	old, err := l.find(planned)
	if err != nil || !old.current() || !old.run.Finished() {
		return err
	}
	if !r.Finished() {
		return fmt.Errorf("error: it failed (%s), and the ledger's record of it is finished; want a finished run in its place", r.Error)
	}
	oldConfig, err := l.config(old.run)
	if err != nil {
		return err
	}
	plannedMetrics, err := runconfig.MetricTexts(planned.Config.Metrics.Final)
	if err != nil {
		return err
	}
	for _, text := range oldConfig.metrics {
		if !slices.Contains(plannedMetrics, text) {
			return fmt.Errorf("metrics: it lacks a metric of the ledger's record; want this metric in the key also of the table or the row: %s", strings.Join(strings.Fields(text)[1:], " "))
		}
	}
	return nil
}

// Checkable is a recorded run that can be repeated and compared.
type Checkable struct {
	Table  *Table
	Record *ledger.Run
	Run    sweep.Run

	ledger *ledgerFinder // records and plans of the table
}

// Choice specifies which recorded runs may be checked, and how to choose among them.
type Choice struct {
	Count  int
	Pick   uint64        // seed of the choice
	Within time.Duration // maximum duration of a run; 0: no limit
	Stale  int           // set by Checkables: number of skipped stale runs
	Of     int           // set by Checkables: number of runs to choose from, including stale runs
	Longer int           // set by Checkables: number of runs longer than Within
	Begun  int           // set by Checkables: number of runs skipped because they start from another run's weights
}

// Checkables chooses recorded runs of tables at random, among finished runs that are not stale and do not start from
// other runs. The choice only depends on the ledger and on Pick.
func Checkables(list []*Table, c *Choice) ([]Checkable, error) {
	var all []Checkable
	known := map[string]bool{}
	for _, t := range list {
		tableRuns, err := t.checkables(c, known)
		if err != nil {
			return nil, err
		}
		all = append(all, tableRuns...)
	}
	slices.SortFunc(all, func(a, b Checkable) int {
		return cmp.Or(cmp.Compare(a.Table.RunsFolder(), b.Table.RunsFolder()),
			cmp.Compare(a.Record.Settings, b.Record.Settings))
	})
	c.Of = len(all)
	rand.New(rand.NewPCG(c.Pick, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var chosen []Checkable
	for _, candidate := range all {
		if len(chosen) == c.Count {
			break
		}
		record, err := candidate.ledger.find(candidate.Run)
		if err != nil {
			return nil, err
		}
		if !record.current() {
			c.Stale++
			continue
		}
		if candidate.Run, err = recordedRun(candidate.ledger.book, candidate.Record); err != nil {
			return nil, err
		}
		if candidate.Run.Config.Init != nil {
			c.Begun++
			continue
		}
		chosen = append(chosen, candidate)
	}
	return chosen, nil
}

// checkables lists the finished runs in the ledger, as outlines. known has the runs of earlier tables.
func (t *Table) checkables(c *Choice, known map[string]bool) (all []Checkable, err error) {
	book, err := t.book(Options{Ledger: t.Ledger()})
	if err != nil || book.Len() == 0 {
		return nil, err
	}
	ledgerRuns := &ledgerFinder{book: book, planned: map[string]plannedRun{}}
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
			ledgerRuns.planned[o.Hash] = p.planned[o.Hash]
			all = append(all, Checkable{t, r, o, ledgerRuns})
		}
	}
	return all, nil
}

// recordedRun returns the run of a record, using the config in the ledger.
func recordedRun(book *ledger.Book, r *ledger.Run) (sweep.Run, error) {
	c, err := book.Load(r)
	if err != nil {
		return sweep.Run{}, err
	}
	return sweep.NewRun(r.Name, c)
}

// Check compares a repeated run in a folder of runs with its record. It first repeats the recorded analyses.
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
	e, ok := sweep.Find(entries)[c.Run.Hash]
	if !ok {
		return ledger.Comparison{}, fmt.Errorf("run %s: %w", c.Record.Name, ErrNotRun)
	}
	_, got, err := ledger.Take(e, c.Record.Settings, c.Record.Scale)
	if err != nil {
		return ledger.Comparison{}, err
	}
	return ledger.Compare(c.Record, &got), nil
}

// Origin describes which runs of a table come from the ledger.
type Origin struct {
	Runs     int            `json:"runs"`
	Versions map[string]int `json:"versions,omitempty"` // numbers of runs, by version of the code
	Stale    int            `json:"stale,omitempty"`    // number of runs that would differ with today's code or config
	Reasons  map[string]int `json:"reasons,omitempty"`  // numbers of stale runs, by reason
}

// String returns the origin as part of a sentence.
func (o *Origin) String() string {
	text := "from the ledger: " + wording.Count(o.Runs, "run")
	if names := slices.Sorted(maps.Keys(o.Versions)); len(names) > 0 {
		for i, name := range names {
			names[i] = shortVersion(name)
		}
		text += " of version " + strings.Join(names, ", ")
	}
	if o.Stale > 0 {
		text += fmt.Sprintf(", %d of them stale", o.Stale)
	}
	return text
}

// shortVersion shortens revisions to 12 digits, like git, also in the list of a resumed run, such as "v1, v2".
func shortVersion(v string) string {
	const digits = 12
	all := strings.Split(v, ", ")
	for i, v := range all {
		if len(v) > digits+1 && !strings.Contains(v, "-") {
			all[i] = v[:digits] + strings.Repeat("+", strings.Count(v, "+"))
		}
	}
	return strings.Join(all, ", then ")
}

func (t *Table) book(o Options) (*ledger.Book, error) {
	if o.Ledger == nil || !t.Trains() {
		return &ledger.Book{}, nil
	}
	if o.Ledger != results.Files() {
		return ledger.Open(o.Ledger, t.RunsFolder())
	}
	open, _ := books.LoadOrStore(t.RunsFolder(),
		sync.OnceValues(func() (*ledger.Book, error) { return ledger.Open(results.Files(), t.RunsFolder()) }))
	return open.(func() (*ledger.Book, error))()
}

var books sync.Map // books of Unravel's own ledger, which is constant, by folder: functions that return a *ledger.Book

// RunsFolder returns the name of the folder of the table's runs. Tables may share a folder.
func (t *Table) RunsFolder() string { return cmp.Or(t.Folder, t.Name) }

// ledgerFinder finds runs in the ledger, and counts the runs that are shown.
type ledgerFinder struct {
	book     *ledger.Book
	brief    bool // only search by config if the ledger has the run's name, because this search is slow
	planned  map[string]plannedRun
	planners map[string]*Planner  // of the planned runs, by hash
	shown    map[*ledger.Run]bool // runs shown in rows
	total    Origin
	configs  map[string]*recordedConfig // configs in the ledger, by ID
}

// ledgerFinder plans the runs at a scale, or their outlines, to find them in the ledger.
func (t *Table) ledgerFinder(o Options, outline bool) (*ledgerFinder, []sweep.Run, error) {
	book, err := t.book(o)
	if err != nil {
		return nil, nil, err
	}
	p, runs, err := t.plan(o.Scale, outline)
	if err != nil {
		return nil, nil, err
	}
	return &ledgerFinder{book: book, planned: p.planned, planners: p.byHash}, runs, nil
}

// ledgerRecord is a run of the ledger for a planned run. Without such a run, it is empty.
type ledgerRecord struct {
	run         *ledger.Run
	entry       sweep.Entry // the run as if it had a folder
	staleReason string      // empty: the run is not stale
}

// current reports whether there is a run that is not stale.
func (x ledgerRecord) current() bool { return x.run != nil && x.staleReason == "" }

// recordedConfig is a config of the ledger, as far as today's code can read it.
type recordedConfig struct {
	training string // hash of the config without metrics and with seed 0
	metrics  []string
}

// find returns the record of a planned run.
func (l *ledgerFinder) find(r sweep.Run) (ledgerRecord, error) {
	if l.book.Len() == 0 {
		return ledgerRecord{}, nil
	}
	known, complete := l.book.Settings(l.planned[r.Hash].digest), l.planned[r.Hash].complete
	// another table may describe the same run with other settings
	if complete != nil && (known != nil || !l.brief || l.book.Named(r.Name)) {
		var err error
		if r, err = complete(); err != nil {
			return ledgerRecord{}, err
		}
	}
	if known == nil {
		known = l.book.Hash(r.Hash)
	}
	if known == nil {
		return ledgerRecord{}, nil
	}
	x := ledgerRecord{run: known, entry: entryOf(known)}
	var err error
	x.staleReason, err = l.stale(known, r, &x.entry)
	return x, err
}

// entryOf creates the entry of a run without a local folder.
func entryOf(r *ledger.Run) sweep.Entry {
	e := sweep.Entry{Name: r.Name, State: sweep.Finished, Hash: r.Hash, Metrics: r.Metrics, Fit: r.Fit, Stored: r.Stored}
	e.Config.Name, e.Config.Seed = r.Name, r.Seed
	e.Record = &rundir.Record{Error: r.Error, Seconds: r.Seconds, CPU: r.CPU, Epochs: r.Epochs, Steps: r.Steps,
		Version: r.Version, Timings: r.Timings}
	if r.Fit == nil && r.Unconverged != "" {
		e.Fit = &train.Fit{Why: r.Unconverged}
	}
	if !r.Finished() {
		e.State, e.Problem = sweep.Failed, errors.New(r.Error)
	}
	return e
}

// stale says why a record does not match today's plan, or returns "". It also sorts the results like the metrics.
func (l *ledgerFinder) stale(known *ledger.Run, planned sweep.Run, e *sweep.Entry) (string, error) {
	if known.Hash == planned.Hash {
		return l.book.Changed(known), nil
	}
	oldConfig, err := l.config(known)
	if err != nil {
		return "", err
	}
	training, err := trainingHash(planned.Config)
	if err != nil {
		return "", err
	}
	same := oldConfig.sortResults(known, planned.Config.Metrics.Final, e)
	switch changed := l.book.Changed(known); {
	case changed != "":
		return changed, nil
	case oldConfig.training != training:
		return "its config is another one today", nil
	case !same:
		return "its metrics have other options today", nil
	}
	return "", nil
}

// trainingHash returns a hash of a config without seed and metrics, which identifies the training.
func trainingHash(c train.Config) (string, error) {
	c.Seed, c.Metrics.Final = 0, nil
	return c.Hash()
}

// config reads the config of a run once. An unreadable config has no metrics.
func (l *ledgerFinder) config(r *ledger.Run) (*recordedConfig, error) {
	if known := l.configs[r.Config]; known != nil {
		return known, nil
	}
	s := &recordedConfig{}
	if c, err := l.book.Load(r); err == nil {
		if s.metrics, err = runconfig.MetricTexts(c.Metrics.Final); err != nil {
			return nil, err
		}
		if s.training, err = trainingHash(c); err != nil {
			return nil, err
		}
	}
	if l.configs == nil {
		l.configs = map[string]*recordedConfig{}
	}
	l.configs[r.Config] = s
	return s, nil
}

// sortResults sorts results like the table's metrics; missing results are NaN. It reports whether the options agree.
func (s *recordedConfig) sortResults(known *ledger.Run, choices []metrics.Choice, e *sweep.Entry) (same bool) {
	e.Metrics, same = nil, true
	for i, name := range metrics.ResultNames(choices) {
		text, err := runconfig.MetricText(choices[i])
		index := slices.Index(s.metrics, text)
		if err != nil || index < 0 || index >= len(known.Metrics) {
			index = slices.IndexFunc(known.Metrics, func(r metrics.Result) bool { return r.Name == name })
			same = same && index < 0
		}
		r := metrics.Result{Name: name, Value: math.NaN(), Notes: []string{notMeasured}}
		if index >= 0 {
			r = known.Metrics[index]
			r.Name = name
		}
		e.Metrics = append(e.Metrics, r)
	}
	return same
}

// notMeasured is the note on a metric that a recorded run does not have.
const notMeasured = "the run in the ledger has not measured it"

func unmeasured(r metrics.Result) bool { return slices.Contains(r.Notes, notMeasured) }

// countShown counts the records of a seed as shown. It returns the first reason why one is stale, or "".
func (l *ledgerFinder) countShown(records []ledgerRecord) (why string) {
	if l.shown == nil {
		l.shown = map[*ledger.Run]bool{}
		l.total.Versions, l.total.Reasons = map[string]int{}, map[string]int{}
	}
	for _, t := range records {
		why = cmp.Or(why, t.staleReason)
		if l.shown[t.run] { // rows share runs
			continue
		}
		l.shown[t.run] = true
		l.total.Runs++
		if t.run.Version != "" {
			l.total.Versions[t.run.Version]++
		}
		if t.staleReason != "" {
			l.total.Stale++
			l.total.Reasons[t.staleReason]++
		}
	}
	return why
}

// origin returns the counts so far, or nil if there are no runs.
func (l *ledgerFinder) origin() *Origin {
	if l.total.Runs == 0 {
		return nil
	}
	return &l.total
}

// staleNotes returns one remark per reason for stale runs.
func staleNotes(d cellValues) (list []string) {
	count := map[string]int{}
	for _, why := range d.stale {
		count[why]++
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d of %s stale: %s", count[why], wording.Count(len(d.fits), "run"), why))
	}
	return list
}

// Ledger returns the ledger for the table's runs: a user's table has the folder results next to its file.
func (t *Table) Ledger() fs.FS {
	if dir, own := t.LedgerFolder(); own {
		return os.DirFS(dir)
	}
	return results.Files()
}

// LedgerFolder returns the folder of the ledger: next to a user's table (own), or relative to a checkout.
func (t *Table) LedgerFolder() (dir string, own bool) {
	const folder = "results"
	if t.isFile {
		return filepath.Join(t.folder, folder), true
	}
	return folder, false
}
