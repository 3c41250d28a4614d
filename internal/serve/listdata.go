package serve

import (
	"cmp"
	"math"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// listing is the answer of /api/runs: a part of the runs, and the columns that differ between them.
type listing struct {
	Version int                 `json:"version"`
	Reading bool                `json:"reading,omitempty"` // some runs have not been read yet
	Total   int                 `json:"total"`             // runs in the folder
	Matched int                 `json:"matched"`           // runs that pass the filters
	From    int                 `json:"from"`              // index of the first row
	States  map[sweep.State]int `json:"states"`            // states of all runs
	Columns []column            `json:"columns"`
	Rows    []row               `json:"rows"`
}

// column is a column of a listing, in addition to the fixed columns.
type column struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // setting or result
}

type row struct {
	Dir      string      `json:"dir"`
	State    sweep.State `json:"state"`
	Problem  string      `json:"problem,omitempty"`
	Epoch    int         `json:"epoch"`
	Epochs   int         `json:"epochs"`
	Progress float64     `json:"progress"`          // from 0 to 1
	Loss     *float64    `json:"loss,omitempty"`    // loss of the last epoch; nil: unknown
	Seconds  float64     `json:"seconds,omitempty"` // duration of the run
	Left     float64     `json:"left,omitempty"`    // remaining time
	Ended    string      `json:"ended,omitempty"`
	Cells    []*string   `json:"cells"` // by column; null: no value
}

// Limits of a listing.
const (
	defaultRows = 100
	maxRows     = 1000
	maxColumns  = 40
	maxFilters  = 32
	maxQuery    = 8 << 10
)

type query struct {
	filters      []string
	sort         string // name of a column; with the prefix -: descending order
	start, count int
}

// readQuery reads the parameters filter (repeatable, as in unravel runs), sort, from and count.
func readQuery(r *http.Request) (q query, err error) {
	v := r.URL.Query()
	q = query{filters: v["filter"], sort: v.Get("sort"), count: defaultRows}
	if len(q.filters) > maxFilters {
		return q, badRequest("there are too many filters")
	}
	for name, target := range map[string]*int{"from": &q.start, "count": &q.count} {
		text := v.Get(name)
		if text == "" {
			continue
		}
		if *target, err = strconv.Atoi(text); err != nil || *target < 0 {
			return q, badRequest(name + ": want a number from 0 on")
		}
	}
	q.count = min(q.count, maxRows)
	return q, nil
}

type filteredRuns struct {
	runs    []*runState
	columns []index.Column
	kinds   []column
}

type listCache struct {
	answers
	chosen store[*filteredRuns] // by filters
}

func (s *Server) listData(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r)
	if err != nil {
		return err
	}
	snap := s.runs.current()
	return s.lists.send(w, r, snap.version, r.URL.RawQuery, func() (any, error) { return s.lists.list(snap, q) })
}

func (l *listCache) list(snap *snapshot, q query) (*listing, error) {
	c, err := l.choose(snap, q.filters)
	if err != nil {
		return nil, err
	}
	sorted, err := sortRuns(c, q.sort)
	if err != nil {
		return nil, err
	}
	list := &listing{Version: snap.version, Reading: snap.reading, Total: len(snap.list), Matched: len(sorted),
		States: snap.states(), Columns: c.kinds, Rows: []row{}}
	list.From = min(q.start, len(sorted))
	now := time.Now()
	for _, run := range sorted[list.From:min(list.From+q.count, len(sorted))] {
		list.Rows = append(list.Rows, rowOf(run, c.columns, now))
	}
	return list, nil
}

func rowOf(run *runState, columns []index.Column, now time.Time) row {
	p := &run.progress
	line := row{Dir: run.Dir, State: p.state, Problem: run.Problem, Epoch: p.epoch, Epochs: p.epochs,
		Progress: p.fraction(),
		Seconds:  run.Seconds, Left: p.remaining(now).Seconds(), Ended: run.Ended, Cells: settingCells(run, columns)}
	if p.hasLoss {
		line.Loss = new(p.loss)
	}
	return line
}

// choose returns the runs that pass the filters, with their progress in the snapshot.
func (l *listCache) choose(snap *snapshot, filters []string) (*filteredRuns, error) {
	c, err := l.chosen.get(snap.content, strings.Join(filters, "\x00"),
		func() (*filteredRuns, error) { return choose(snap, filters) })
	if err != nil {
		return nil, err
	}
	for i, run := range c.runs {
		c.runs[i] = snap.byName[run.Dir]
	}
	return c, nil
}

func choose(snap *snapshot, filters []string) (*filteredRuns, error) {
	list, err := filter(snap, filters)
	if err != nil {
		return nil, err
	}
	c, entries := &filteredRuns{runs: list}, entriesOf(list)
	add := func(kind string, property index.Column) {
		if len(c.columns) < maxColumns {
			c.columns, c.kinds = append(c.columns, property), append(c.kinds, column{property.Name, kind})
		}
	}
	for _, name := range index.ResultNames(entries) {
		if !strings.Contains(name, ".") {
			add("result", index.Result(name))
		}
	}
	for _, setting := range index.Shown(entries) {
		add("setting", setting)
	}
	return c, nil
}

func filter(snap *snapshot, filters []string) ([]*runState, error) {
	entries, err := index.Filter(entriesOf(snap.list), filters...)
	if err != nil {
		return nil, badRequest(err.Error())
	}
	matching := make([]*runState, len(entries))
	for i, entry := range entries {
		matching[i] = snap.byName[entry.Dir]
	}
	return matching, nil
}

// stateOrder is the default order of states in a list.
var stateOrder = map[sweep.State]int{sweep.Running: 0, sweep.Failed: 1, sweep.Damaged: 1, sweep.Stopped: 2,
	sweep.Finished: 3, sweep.Waiting: 4}

// sortRuns sorts runs by a column. Without a column, running runs come first and newer runs come before older runs.
func sortRuns(c *filteredRuns, order string) ([]*runState, error) {
	list := slices.Clone(c.runs)
	name, descending := strings.CutPrefix(order, "-")
	if name == "" {
		slices.SortStableFunc(list, func(a, b *runState) int {
			return cmp.Or(cmp.Compare(stateOrder[a.progress.state], stateOrder[b.progress.state]),
				strings.Compare(b.Ended, a.Ended), strings.Compare(a.Dir, b.Dir))
		})
		return list, nil
	}
	key, err := sortKey(c, name)
	if err != nil {
		return nil, err
	}
	type keyed struct {
		*runState
		value cell
	}
	keyedRuns := make([]keyed, len(list))
	for i, run := range list {
		keyedRuns[i] = keyed{run, key(run)}
	}
	slices.SortStableFunc(keyedRuns, func(a, b keyed) int { return a.value.compare(b.value, descending) })
	for i := range keyedRuns {
		list[i] = keyedRuns[i].runState
	}
	return list, nil
}

// cell is the value of a run in a column, as a sort key.
type cell struct {
	kind  int // 0: a number; 1: a text; 2: no value
	value float64
	text  string
}

const (
	numberCell = iota
	textCell
	noCell
)

// compare orders numbers before strings. Runs without a value are last, in ascending and descending order.
func (a cell) compare(b cell, descending bool) int {
	order := cmp.Or(cmp.Compare(a.value, b.value), strings.Compare(a.text, b.text))
	if descending {
		order = -order
	}
	return cmp.Or(cmp.Compare(a.kind, b.kind), order)
}

// sortKey returns a function that maps a run to its cell in a column.
func sortKey(c *filteredRuns, name string) (func(*runState) cell, error) {
	switch name {
	case "loss":
		return func(run *runState) cell {
			if !run.hasLoss {
				return cell{kind: noCell}
			}
			return cell{value: run.loss}
		}, nil
	case "progress":
		return func(run *runState) cell { return cell{value: run.fraction()} }, nil
	case "run":
		return func(run *runState) cell { return cell{kind: textCell, text: run.Dir} }, nil
	}
	column, err := index.FindColumn(entriesOf(c.runs), name)
	if err != nil {
		return nil, badRequest("sort: " + err.Error())
	}
	return func(run *runState) cell {
		text, ok := column.Of(run.Run)
		switch v, err := strconv.ParseFloat(text, 64); {
		case !ok:
			return cell{kind: noCell}
		case err == nil:
			return cell{value: v}
		}
		return cell{kind: textCell, text: text}
	}, nil
}

// searchEntry is a search in the answer of /api/searches: its trials by number, and their objective values.
type searchEntry struct {
	Folder    string       `json:"folder"`
	Problem   string       `json:"problem,omitempty"` // why the search cannot be read
	Method    string       `json:"method,omitempty"`
	Objective string       `json:"objective,omitempty"`
	Better    string       `json:"better,omitempty"` // higher or lower
	Budget    string       `json:"budget,omitempty"`
	Keys      []string     `json:"keys,omitempty"` // setting names
	Best      int          `json:"best"`           // index of the best trial; -1: none
	Trials    []trialEntry `json:"trials"`
}

type trialEntry struct {
	Trial    int         `json:"trial"`
	Dir      string      `json:"dir"`
	State    sweep.State `json:"state"`
	Epochs   int         `json:"epochs,omitempty"`
	Value    *float64    `json:"value"`    // null: none
	Settings []string    `json:"settings"` // in the order of the keys
}

const maxSearched = 10000 // limits the number of runs in which to look for trials

func (s *Server) searchData(w http.ResponseWriter, r *http.Request) error {
	snap := s.runs.current()
	return s.searches.send(w, r, snap.content, "", func() (any, error) { return searches(s.runs.dir, snap), nil })
}

// searches reads the searches among the runs. The trials of a search are in the same parent folder.
func searches(dir string, snap *snapshot) []searchEntry {
	list := []searchEntry{}
	if len(snap.list) > maxSearched {
		return list
	}
	folders, dirs := []string{}, map[string][]string{}
	names := map[string]string{} // names in addresses, by folder
	for _, run := range snap.list {
		parent, absolute := path.Dir(run.path), filepath.Join(dir, filepath.FromSlash(run.path))
		if dirs[parent] == nil {
			folders = append(folders, parent)
		}
		dirs[parent], names[absolute] = append(dirs[parent], absolute), run.Dir
	}
	slices.Sort(folders)
	for _, folder := range folders {
		trials, err := sweep.ReadTrials(dirs[folder])
		switch {
		case err != nil:
			list = append(list, searchEntry{Folder: folder, Problem: err.Error(), Best: -1, Trials: []trialEntry{}})
		case trials != nil:
			list = append(list, entryOfSearch(folder, trials, names))
		}
	}
	return list
}

func entryOfSearch(folder string, trials *sweep.Trials, names map[string]string) searchEntry {
	settings := trials.Method.Value.Common()
	e := searchEntry{Folder: folder, Method: trials.Method.Name, Objective: settings.Objective(),
		Better: trials.Better.String(), Budget: settings.Budget(), Best: -1}
	for _, r := range settings.Space {
		e.Keys = append(e.Keys, r.Key)
	}
	best := trials.Best()
	for i := range trials.List {
		t := &trials.List[i]
		trial := trialEntry{Trial: t.Index, Dir: names[t.Dir], State: t.State, Epochs: t.Epochs}
		if !math.IsNaN(t.Value) && !math.IsInf(t.Value, 0) {
			trial.Value = &t.Value
		}
		for _, s := range t.Settings {
			trial.Settings = append(trial.Settings, s.Value)
		}
		if t == best {
			e.Best = i
		}
		e.Trials = append(e.Trials, trial)
	}
	return e
}
