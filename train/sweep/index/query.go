package index

import (
	"maps"
	"slices"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
)

// Run is a run in a list.
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

// Read reads the run of a folder, without the list in [File]. name is its path relative to the folder of runs, with
// slashes.
func Read(path, name string) *Run {
	stamp := Stamp(path) // computed before reading the files, so a later check sees a concurrent change
	return newPool(nil).run(name, stamp, sweep.Read(path))
}

const timeLayout = "2006-01-02T15:04:05Z"

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
