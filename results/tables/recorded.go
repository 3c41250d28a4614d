package tables

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/unravel-ml/unravel/internal/wording"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/results"
	"github.com/unravel-ml/unravel/results/ledger"
	"github.com/unravel-ml/unravel/results/tables/internal/runconfig"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Origin says which runs of a table come from the ledger.
type Origin struct {
	Runs     int            `json:"runs"`
	Versions map[string]int `json:"versions,omitempty"` // numbers of runs, by version of the code
	Stale    int            `json:"stale,omitempty"`    // number of runs that today's code or config would make differently
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

// shortVersion shortens revisions to 12 digits, as git shows them. A run resumed by other code has several versions,
// as in "v1, v2".
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

// book opens the ledger of the table's folder of runs.
func (t *Table) book(o Options) (*ledger.Book, error) {
	if o.Ledger == nil || !t.Trains() {
		return &ledger.Book{}, nil
	}
	if o.Ledger != results.Files() {
		return ledger.Open(o.Ledger, t.RunsFolder())
	}
	open, _ := books.LoadOrStore(t.RunsFolder(), sync.OnceValues(func() (*ledger.Book, error) { return ledger.Open(results.Files(), t.RunsFolder()) }))
	return open.(func() (*ledger.Book, error))()
}

var books sync.Map // books of Unravel's own, constant ledger, by folder: functions that return a *ledger.Book

// RunsFolder returns the name of the folder of the table's runs. Tables may share a folder.
func (t *Table) RunsFolder() string { return cmp.Or(t.Folder, t.Name) }

// recorded finds runs in the ledger, and counts the shown ones.
type recorded struct {
	book    *ledger.Book
	brief   bool // search by config only if the ledger has the run's name; the search takes time
	planned map[string]planned
	taken   []taken              // the ledger's runs in the last requests
	shown   map[*ledger.Run]bool // runs shown in rows
	total   Origin
	known   map[string]*source // configs in the ledger, by ID
}

// taken is a run of the ledger, and why it is stale; empty for a fresh run.
type taken struct {
	run *ledger.Run
	why string
}

// source is a config of the ledger, as far as today's code can read it.
type source struct {
	training string // hash without metrics, with the seed 0
	metrics  []string
}

// entry returns the record of a planned run; its state is empty if the ledger lacks the run.
func (l *recorded) entry(r sweep.Run) (sweep.Entry, error) {
	if l.book.Len() == 0 {
		return sweep.Entry{}, nil
	}
	known, whole := l.book.Settings(l.planned[r.Hash].digest), l.planned[r.Hash].whole
	if whole != nil && (known != nil || !l.brief || l.book.Named(r.Name)) { // another table may describe the same run in other words
		var err error
		if r, err = whole(); err != nil {
			return sweep.Entry{}, err
		}
	}
	if known == nil {
		known = l.book.Hash(r.Hash)
	}
	if known == nil {
		return sweep.Entry{}, nil
	}
	e := entryOf(known)
	why, err := l.stale(known, r, &e)
	l.taken = append(l.taken, taken{known, why})
	return e, err
}

// entryOf makes the entry of a run without a folder here.
func entryOf(r *ledger.Run) sweep.Entry {
	e := sweep.Entry{Name: r.Name, State: sweep.Finished, Hash: r.Hash, Metrics: r.Metrics, Fit: r.Fit, Stored: r.Stored}
	e.Config.Name, e.Config.Seed = r.Name, r.Seed
	e.Record = &rundir.Record{Error: r.Error, Seconds: r.Seconds, CPU: r.CPU, Epochs: r.Epochs, Steps: r.Steps, Version: r.Version, Timings: r.Timings}
	if r.Fit == nil && r.Unconverged != "" {
		e.Fit = &train.Fit{Why: r.Unconverged}
	}
	if !r.Finished() {
		e.State, e.Problem = sweep.Failed, errors.New(r.Error)
	}
	return e
}

// stale says why a recorded run does not match today's plan; empty if it matches. It also puts the results into the
// order of the table's metrics.
func (l *recorded) stale(known *ledger.Run, planned sweep.Run, e *sweep.Entry) (string, error) {
	if known.Hash == planned.Hash {
		return l.book.Changed(known), nil
	}
	was, err := l.source(known)
	if err != nil {
		return "", err
	}
	training, err := trainingHash(planned.Config)
	if err != nil {
		return "", err
	}
	same := was.arrange(known, planned.Config.Metrics.Final, e)
	switch changed := l.book.Changed(known); {
	case changed != "":
		return changed, nil
	case was.training != training:
		return "its config is another one today", nil
	case !same:
		return "its metrics have other options today", nil
	}
	return "", nil
}

// trainingHash identifies the training of a config without seed and metrics.
func trainingHash(c train.Config) (string, error) {
	c.Seed, c.Metrics.Final = 0, nil
	return c.Hash()
}

// source reads the config of a run, once. An unreadable config has no metrics.
func (l *recorded) source(r *ledger.Run) (*source, error) {
	if known := l.known[r.Config]; known != nil {
		return known, nil
	}
	s := &source{}
	if c, err := l.book.Load(r); err == nil {
		for _, m := range c.Metrics.Final {
			text, err := runconfig.MetricText(m)
			if err != nil {
				return nil, err
			}
			s.metrics = append(s.metrics, text)
		}
		if s.training, err = trainingHash(c); err != nil {
			return nil, err
		}
	}
	if l.known == nil {
		l.known = map[string]*source{}
	}
	l.known[r.Config] = s
	return s, nil
}

// arrange puts the results of a run into the order of the table's metrics; missing ones are NaN. It reports whether
// the measured metrics have the table's options.
func (s *source) arrange(known *ledger.Run, choices []metrics.Choice, e *sweep.Entry) (same bool) {
	e.Metrics, same = nil, true
	for i, name := range metrics.ResultNames(choices) {
		text, err := runconfig.MetricText(choices[i])
		at := slices.Index(s.metrics, text)
		if err != nil || at < 0 || at >= len(known.Metrics) {
			at = slices.IndexFunc(known.Metrics, func(r metrics.Result) bool { return r.Name == name })
			same = same && at < 0
		}
		r := metrics.Result{Name: name, Value: math.NaN(), Notes: []string{notMeasured}}
		if at >= 0 {
			r = known.Metrics[at]
			r.Name = name
		}
		e.Metrics = append(e.Metrics, r)
	}
	return same
}

// notMeasured is the note for a metric that a recorded run lacks.
const notMeasured = "the run in the ledger has not measured it"

func unmeasured(r metrics.Result) bool { return slices.Contains(r.Notes, notMeasured) }

// note counts the runs of the last requests as shown, and appends why they are stale.
func (l *recorded) note(stale []string) []string {
	if l.shown == nil {
		l.shown = map[*ledger.Run]bool{}
		l.total.Versions, l.total.Reasons = map[string]int{}, map[string]int{}
	}
	why := ""
	for _, t := range l.taken {
		why = cmp.Or(why, t.why)
		if l.shown[t.run] { // rows share runs
			continue
		}
		l.shown[t.run] = true
		l.total.Runs++
		if t.run.Version != "" {
			l.total.Versions[t.run.Version]++
		}
		if t.why != "" {
			l.total.Stale++
			l.total.Reasons[t.why]++
		}
	}
	l.taken = nil
	if why != "" {
		stale = append(stale, why)
	}
	return stale
}

// origin returns the counts so far; nil without any run.
func (l *recorded) origin() *Origin {
	if l.total.Runs == 0 {
		return nil
	}
	return &l.total
}

// staleness returns a remark for each reason why runs are stale.
func staleness(d drawn) (list []string) {
	count := map[string]int{}
	for _, why := range d.stale {
		count[why]++
	}
	for _, why := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d of %s stale: %s", count[why], wording.Count(len(d.fits), "run"), why))
	}
	return list
}

// Ledger returns the ledger for the table's runs: the folder results next to the file of your own table, otherwise
// the ledger of Unravel.
func (t *Table) Ledger() fs.FS {
	if dir, own := t.LedgerFolder(); own {
		return os.DirFS(dir)
	}
	return results.Files()
}

// LedgerFolder returns the folder of the ledger. own reports a table of your own, with its ledger next to its file.
// Otherwise the path starts at the root of a checkout.
func (t *Table) LedgerFolder() (dir string, own bool) {
	const folder = "results"
	if t.isFile {
		return filepath.Join(t.folder, folder), true
	}
	return folder, false
}
