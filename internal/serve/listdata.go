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
	filters     []string
	sort        string // name of a column; with the prefix -: descending order
	from, count int
}

// readQuery reads the parameters filter (repeatable, as in unravel runs), sort, from and count.
func readQuery(r *http.Request) (q query, err error) {
	v := r.URL.Query()
	q = query{filters: v["filter"], sort: v.Get("sort"), count: defaultRows}
	if len(q.filters) > maxFilters {
		return q, badRequest("there are too many filters")
	}
	for name, into := range map[string]*int{"from": &q.from, "count": &q.count} {
		text := v.Get(name)
		if text == "" {
			continue
		}
		if *into, err = strconv.Atoi(text); err != nil || *into < 0 {
			return q, badRequest(name + ": want a number from 0 on")
		}
	}
	q.count = min(q.count, maxRows)
	return q, nil
}

type filteredRuns struct {
	runs    []*run
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
	now := s.runs.current()
	return s.lists.send(w, r, now.version, r.URL.RawQuery, func() (any, error) { return s.lists.list(now, q) })
}

func (l *listCache) list(now *snapshot, q query) (*listing, error) {
	c, err := l.choose(now, q.filters)
	if err != nil {
		return nil, err
	}
	sorted, err := sortRuns(c, q.sort)
	if err != nil {
		return nil, err
	}
	list := &listing{Version: now.version, Reading: now.reading, Total: len(now.list), Matched: len(sorted), States: now.states(), Columns: c.kinds, Rows: []row{}}
	list.From = min(q.from, len(sorted))
	moment := time.Now()
	for _, one := range sorted[list.From:min(list.From+q.count, len(sorted))] {
		list.Rows = append(list.Rows, rowOf(one, c.columns, moment))
	}
	return list, nil
}

func rowOf(one *run, columns []index.Column, moment time.Time) row {
	p := &one.progress
	line := row{Dir: one.Dir, State: p.state, Problem: one.Problem, Epoch: p.epoch, Epochs: p.epochs, Progress: p.fraction(),
		Seconds: one.Seconds, Left: p.remaining(moment).Seconds(), Ended: one.Ended, Cells: settingCells(one, columns)}
	if p.logged {
		line.Loss = new(p.loss)
	}
	return line
}

// choose returns the runs that pass the filters, with their progress in the snapshot.
func (l *listCache) choose(now *snapshot, filters []string) (*filteredRuns, error) {
	c, err := l.chosen.get(now.content, strings.Join(filters, "\x00"), func() (*filteredRuns, error) { return choose(now, filters) })
	if err != nil {
		return nil, err
	}
	for i, one := range c.runs {
		c.runs[i] = now.byName[one.Dir]
	}
	return c, nil
}

func choose(now *snapshot, filters []string) (*filteredRuns, error) {
	list, err := filter(now, filters)
	if err != nil {
		return nil, err
	}
	c, entries := &filteredRuns{runs: list}, entriesOf(list)
	add := func(kind string, one index.Column) {
		if len(c.columns) < maxColumns {
			c.columns, c.kinds = append(c.columns, one), append(c.kinds, column{one.Name, kind})
		}
	}
	for _, name := range index.ResultNames(entries) {
		if !strings.Contains(name, ".") {
			add("result", index.Result(name))
		}
	}
	for _, one := range index.Shown(entries) {
		add("setting", one)
	}
	return c, nil
}

func filter(now *snapshot, filters []string) ([]*run, error) {
	kept, err := index.Filter(entriesOf(now.list), filters...)
	if err != nil {
		return nil, badRequest("filter " + strings.TrimPrefix(err.Error(), "filter "))
	}
	found := make([]*run, len(kept))
	for i, entry := range kept {
		found[i] = now.byName[entry.Dir]
	}
	return found, nil
}

// stateOrder is the default order of states in a list.
var stateOrder = map[sweep.State]int{sweep.Running: 0, sweep.Failed: 1, sweep.Damaged: 1, sweep.Stopped: 2, sweep.Finished: 3, sweep.Waiting: 4}

// sortRuns sorts runs by a column. Without a column, running runs come first and newer runs come before older runs.
func sortRuns(c *filteredRuns, by string) ([]*run, error) {
	list := slices.Clone(c.runs)
	name, down := strings.CutPrefix(by, "-")
	if name == "" {
		slices.SortStableFunc(list, func(a, b *run) int {
			return cmp.Or(cmp.Compare(stateOrder[a.progress.state], stateOrder[b.progress.state]), strings.Compare(b.Ended, a.Ended), strings.Compare(a.Dir, b.Dir))
		})
		return list, nil
	}
	key, err := sortKey(c, name)
	if err != nil {
		return nil, err
	}
	type keyed struct {
		*run
		value cell
	}
	all := make([]keyed, len(list))
	for i, one := range list {
		all[i] = keyed{one, key(one)}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return a.value.compare(b.value, down) })
	for i := range all {
		list[i] = all[i].run
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
func (a cell) compare(b cell, down bool) int {
	order := cmp.Or(cmp.Compare(a.value, b.value), strings.Compare(a.text, b.text))
	if down {
		order = -order
	}
	return cmp.Or(cmp.Compare(a.kind, b.kind), order)
}

// sortKey returns a function that maps a run to its cell in a column.
func sortKey(c *filteredRuns, name string) (func(*run) cell, error) {
	switch name {
	case "loss":
		return func(one *run) cell {
			if !one.logged {
				return cell{kind: noCell}
			}
			return cell{value: one.loss}
		}, nil
	case "progress":
		return func(one *run) cell { return cell{value: one.fraction()} }, nil
	case "run":
		return func(one *run) cell { return cell{kind: textCell, text: one.Dir} }, nil
	}
	found, err := index.FindColumn(entriesOf(c.runs), name)
	if err != nil {
		return nil, badRequest("sort: " + err.Error())
	}
	return func(one *run) cell {
		text, ok := found.Of(one.Run)
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
	now := s.runs.current()
	return s.searches.send(w, r, now.content, "", func() (any, error) { return searches(s.runs.dir, now), nil })
}

// searches reads the searches among the runs. The trials of a search are in the same parent folder.
func searches(dir string, now *snapshot) []searchEntry {
	list := []searchEntry{}
	if len(now.list) > maxSearched {
		return list
	}
	folders, dirs := []string{}, map[string][]string{}
	names := map[string]string{} // names in addresses, by folder
	for _, one := range now.list {
		parent, whole := path.Dir(one.path), filepath.Join(dir, filepath.FromSlash(one.path))
		if dirs[parent] == nil {
			folders = append(folders, parent)
		}
		dirs[parent], names[whole] = append(dirs[parent], whole), one.Dir
	}
	slices.Sort(folders)
	for _, folder := range folders {
		found, err := sweep.ReadTrials(dirs[folder])
		switch {
		case err != nil:
			list = append(list, searchEntry{Folder: folder, Problem: err.Error(), Best: -1, Trials: []trialEntry{}})
		case found != nil:
			list = append(list, entryOfSearch(folder, found, names))
		}
	}
	return list
}

func entryOfSearch(folder string, found *sweep.Trials, names map[string]string) searchEntry {
	own := found.Method.Value.Common()
	e := searchEntry{Folder: folder, Method: found.Method.Name, Objective: own.Objective(), Better: found.Better.String(), Budget: own.Budget(), Best: -1}
	for _, r := range own.Space {
		e.Keys = append(e.Keys, r.Key)
	}
	best := found.Best()
	for i := range found.List {
		t := &found.List[i]
		one := trialEntry{Trial: t.Index, Dir: names[t.Dir], State: t.State, Epochs: t.Epochs}
		if !math.IsNaN(t.Value) && !math.IsInf(t.Value, 0) {
			one.Value = &t.Value
		}
		for _, s := range t.Settings {
			one.Settings = append(one.Settings, s.Value)
		}
		if t == best {
			e.Best = i
		}
		e.Trials = append(e.Trials, one)
	}
	return e
}
