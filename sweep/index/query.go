package index

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/rundir"
	"github.com/unravel-ml/unravel/sweep"
	"github.com/unravel-ml/unravel/train"
)

// Run is a run in the database.
type Run struct {
	Dir      string             `json:"dir"` // relative to the folder of runs
	State    sweep.State        `json:"state"`
	Problem  string             `json:"problem,omitempty"`
	Hash     string             `json:"hash,omitempty"`
	Begun    string             `json:"begun,omitempty"`
	Ended    string             `json:"ended,omitempty"`
	Seconds  float64            `json:"seconds,omitempty"`
	Epochs   int                `json:"epochs,omitempty"`
	Steps    int                `json:"steps,omitempty"`
	Version  string             `json:"version,omitempty"`
	Machine  rundir.Machine     `json:"machine"`
	Settings map[string]string  `json:"settings,omitempty"` // by key path
	Results  map[string]float64 `json:"results,omitempty"`  // metrics by name, parts of one number as name.part, and fit.*

	Stamp string `json:"-"` // see [Stamp]

	chosen map[string]string // names of choices, by key; nil: not worked out yet
}

// Read reads the run of a folder without a database. Its name is the path of the folder in the folder of runs, with slashes.
func Read(path, name string) *Run {
	stamp := Stamp(path) // before what it stands for: a change meanwhile is seen the next time
	e := sweep.Read(path)
	r := &Run{Dir: name, State: stateOf(e), Hash: e.Hash, Settings: map[string]string{}, Results: map[string]float64{}, Stamp: stamp}
	if e.Problem != nil {
		r.Problem = e.Problem.Error()
	}
	if e.Record != nil {
		r.Seconds, r.Epochs, r.Steps, r.Version, r.Machine = e.Record.Seconds, e.Record.Epochs, e.Record.Steps, e.Record.Version, e.Record.Machine
		r.Begun, r.Ended = times(e.Record)
	}
	if e.State == sweep.Damaged {
		return r
	}
	settings, err := settingsOf(e.Config)
	if err != nil {
		r.State, r.Problem = sweep.Damaged, err.Error()
		return r
	}
	for _, s := range settings {
		r.Settings[s.Key] = s.Value
	}
	r.chosen = choicesOf(r.Settings)
	for _, v := range resultsOf(e) {
		r.Results[v.name] = v.value
	}
	return r
}

// stateOf returns the state of a run: one whose results cannot be read is damaged, though a sweep finishes it once more.
func stateOf(e sweep.Entry) sweep.State {
	if e.State == sweep.Unfinished && errors.As(e.Problem, new(*rundir.DamagedError)) {
		return sweep.Damaged
	}
	return e.State
}

// times writes when a run that has ended began and ended.
func times(r *rundir.Record) (begun, ended string) {
	if r.Ended.IsZero() {
		return "", ""
	}
	return r.Begun.Format(timeLayout), r.Ended.Format(timeLayout)
}

// Runs lists all runs, sorted by folder.
func (x *Index) Runs(ctx context.Context) ([]*Run, error) {
	rows, err := x.db.QueryContext(ctx, `SELECT dir, state, problem, hash, begun, ended, seconds, epochs, steps, version,
		os, arch, kernels, cores, threads, go, stamp FROM runs ORDER BY dir`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*Run
	byDir := map[string]*Run{}
	for rows.Next() {
		r := &Run{Settings: map[string]string{}, Results: map[string]float64{}}
		m := &r.Machine
		if err := rows.Scan(&r.Dir, &r.State, &r.Problem, &r.Hash, &r.Begun, &r.Ended, &r.Seconds, &r.Epochs, &r.Steps, &r.Version,
			&m.OS, &m.Arch, &m.Kernels, &m.Cores, &m.Threads, &m.Go, &r.Stamp); err != nil {
			return nil, err
		}
		list, byDir[r.Dir] = append(list, r), r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if err := pairs(ctx, x, "settings", func(dir, key, value string) { byDir[dir].Settings[key] = value }); err != nil {
		return nil, err
	}
	for _, r := range list {
		r.chosen = choicesOf(r.Settings)
	}
	return list, pairs(ctx, x, "results", func(dir, name string, value float64) { byDir[dir].Results[name] = value })
}

// pairs calls f for the rows of a table of names and values.
func pairs[T any](ctx context.Context, x *Index, table string, f func(dir, name string, value T)) error {
	rows, err := x.db.QueryContext(ctx, "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var dir, name string
		var value T
		if err := rows.Scan(&dir, &name, &value); err != nil {
			return err
		}
		f(dir, name, value)
	}
	return rows.Err()
}

// settingsOf lists the settings of a config, by key path.
func settingsOf(c train.Config) ([]sweep.Setting, error) {
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	root, err := config.Parse("", text)
	if err != nil {
		return nil, err
	}
	var list []sweep.Setting
	for _, n := range root.Leaves() {
		value := n.Inline()
		if n.IsScalar() {
			value = n.Text()
		}
		list = append(list, sweep.Setting{Key: n.Path(), Value: value})
	}
	return list, nil
}

// result is a named number.
type result struct {
	name  string
	value float64
}

// resultsOf lists the results of a finished run.
func resultsOf(e sweep.Entry) (list []result) {
	add := func(name string, v float64) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, result{name, v})
		}
	}
	for _, m := range e.Metrics {
		add(m.Name, m.Value)
		for _, p := range m.Parts {
			if len(p.Values) == 1 {
				add(m.Name+"."+p.Name, p.Values[0])
			}
		}
	}
	if f := e.Fit; f != nil {
		add("fit.reconstruction", f.Reconstruction)
		add("fit.variance", f.Variance)
		for name, v := range map[string]*float64{"fit.held_out": f.HeldOut, "fit.assignment": f.Assignment} {
			if v != nil {
				add(name, *v)
			}
		}
		converged := 0.0
		if f.Converged {
			converged = 1
		}
		add("fit.converged", converged)
	}
	return list
}

// varying lists the settings in which runs differ, alphabetically.
func varying(runs []*Run) []string {
	differ := map[string]bool{}
	for _, r := range runs {
		for key, value := range r.Settings {
			if other, ok := runs[0].Settings[key]; !ok || other != value {
				differ[key] = true
			}
		}
		for key := range runs[0].Settings {
			if _, ok := r.Settings[key]; !ok && len(r.Settings) > 0 {
				differ[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(differ))
}
