package serve

import (
	"math"
	"net/http"
	"path"
	"path/filepath"
	"slices"

	"github.com/unravel-ml/unravel/train/sweep"
)

// searchEntry is a search in the answer of /api/searches: its trials by number, with their values of the objective.
type searchEntry struct {
	Folder    string       `json:"folder"`
	Problem   string       `json:"problem,omitempty"` // why it cannot be read
	Method    string       `json:"method,omitempty"`
	Objective string       `json:"objective,omitempty"`
	Better    string       `json:"better,omitempty"` // higher or lower
	Budget    string       `json:"budget,omitempty"`
	Keys      []string     `json:"keys,omitempty"` // of the settings
	Best      int          `json:"best"`           // place of the best trial; -1: none
	Trials    []trialEntry `json:"trials"`
}

// trialEntry is a trial of a search.
type trialEntry struct {
	Trial    int         `json:"trial"`
	Dir      string      `json:"dir"`
	State    sweep.State `json:"state"`
	Epochs   int         `json:"epochs,omitempty"`
	Value    *float64    `json:"value"`    // null: none
	Settings []string    `json:"settings"` // by the keys
}

// maxSearched bounds the number of runs among which trials are looked for.
const maxSearched = 10000

// searchData answers with the searches in the folder.
func (s *Server) searchData(w http.ResponseWriter, r *http.Request) error {
	now := s.runs.current()
	return s.searches.send(w, r, now.content, "", func() (any, error) { return searches(s.runs.dir, now), nil })
}

// searches reads the searches among the runs. The trials of a search lie beside each other.
func searches(dir string, now *snapshot) []searchEntry {
	list := []searchEntry{}
	if len(now.list) > maxSearched {
		return list
	}
	folders, dirs := []string{}, map[string][]string{}
	names := map[string]string{} // in addresses, by folder
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
