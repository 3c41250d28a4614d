package index

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Run is a run in the database.
type Run struct {
	Dir      string         `json:"dir"` // relative to the folder of runs
	State    sweep.State    `json:"state"`
	Problem  string         `json:"problem,omitempty"`
	Hash     string         `json:"hash,omitempty"`
	Begun    string         `json:"begun,omitempty"`
	Ended    string         `json:"ended,omitempty"`
	Seconds  float64        `json:"seconds,omitempty"`
	Epochs   int            `json:"epochs,omitempty"`
	Steps    int            `json:"steps,omitempty"`
	Version  string         `json:"version,omitempty"`
	Machine  rundir.Machine `json:"machine"`
	Settings Settings       `json:"settings,omitzero"` // by key path
	Results  Results        `json:"results,omitzero"`

	Stamp string `json:"-"` // see the function Stamp
}

// Read reads the run of a folder without a database. name is its path relative to the folder of runs, with slashes.
func Read(path, name string) *Run {
	stamp := Stamp(path) // computed before reading the files, so the next update sees a concurrent change
	e := sweep.Read(path)
	r := runOf(name, stamp, e)
	if e.State == sweep.Damaged {
		return r
	}
	list, err := e.Settings()
	if err != nil {
		r.State, r.Problem = sweep.Damaged, err.Error()
		return r
	}
	settings := map[string]string{nameKey: e.Config.Name, seedKey: strconv.FormatUint(e.Config.Seed, 10)}
	for _, s := range list {
		settings[s.Key] = s.Value
	}
	r.Settings, r.Results = NewSettings(settings), resultsOf(e)
	return r
}

func runOf(name, stamp string, e sweep.Entry) *Run {
	r := &Run{Dir: name, State: e.State, Hash: e.Hash, Stamp: stamp, Problem: e.Other}
	if e.Damaged() { // includes runs with unreadable results, although a sweep completes them again
		r.State = sweep.Damaged
	}
	if e.Problem != nil {
		r.Problem = e.Problem.Error()
	}
	if x := e.Record; x != nil {
		r.Seconds, r.Epochs, r.Steps, r.Version, r.Machine = x.Seconds, x.Epochs, x.Steps, x.Version, x.Machine
		if !x.Ended.IsZero() {
			r.Begun, r.Ended = x.Begun.Format(timeLayout), x.Ended.Format(timeLayout)
		}
	}
	return r
}

// Runs lists all runs, sorted by folder, as of the opening of the database.
func (x *Index) Runs(context.Context) ([]*Run, error) {
	copies := make([]Run, len(x.runs)) // callers may modify their runs
	list := make([]*Run, len(copies))
	for i := range copies {
		copies[i] = *x.runs[i].Run
		list[i] = &copies[i]
	}
	return list, nil
}

func resultsOf(e sweep.Entry) Results {
	results := map[string]float64{}
	for _, m := range e.Metrics {
		results[m.Name] = m.Value
		for _, p := range m.Parts {
			if len(p.Values) == 1 {
				results[m.Name+"."+p.Name] = p.Values[0]
			}
		}
	}
	if f := e.Fit; f != nil {
		results["fit.reconstruction"], results["fit.variance"] = f.Reconstruction, f.Variance
		for name, v := range map[string]*float64{"fit.held_out": f.HeldOut, "fit.assignment": f.Assignment} {
			if v != nil {
				results[name] = *v
			}
		}
		results["fit.converged"] = 0
		if f.Converged {
			results["fit.converged"] = 1
		}
	}
	return NewResults(results)
}

func varyingKeys(runs []*Run) []string {
	differ, seen := map[string]bool{}, map[*kind]bool{}
	for _, r := range runs {
		first := runs[0].Settings
		if r.Settings.name != first.name && r.Settings.kind != nil && first.kind != nil {
			differ[nameKey] = true
		}
		if r.Settings.seed != first.seed && r.Settings.kind != nil && first.kind != nil {
			differ[seedKey] = true
		}
		if !seen[r.Settings.kind] {
			seen[r.Settings.kind] = true
			differences(first, r.Settings, differ)
		}
	}
	return slices.Sorted(maps.Keys(differ))
}

// differences adds to differ the settings that differ between a and b. A damaged run has no settings.
func differences(a, b Settings, differ map[string]bool) {
	if a.Len() > 0 && b.Len() > 0 && a.kind.names == b.kind.names {
		for i, value := range b.kind.values {
			if a.kind.values[i] != value {
				differ[a.kind.names.list[i]] = true
			}
		}
		return
	}
	for key, value := range b.All() {
		if other, ok := a.Get(key); !ok || other != value {
			differ[key] = true
		}
	}
	for key := range a.All() {
		if _, ok := b.Get(key); !ok && b.Len() > 0 {
			differ[key] = true
		}
	}
}
