package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/search"
)

// Trial is a run of a search.
type Trial struct {
	Entry
	Index    int
	Settings Settings // settings drawn by the search
	Epochs   int      // number of finished epochs with a value of the objective
	Value    float64  // objective after these epochs; NaN: none yet, or the run has failed

	point  search.Point
	values []float64 // objective at the end of each finished rung; without rungs, at the end
}

// Trials are the trials of a search in a folder.
type Trials struct {
	Method    search.MethodChoice
	Better    metrics.Direction // direction of the objective
	List      []Trial           // by index
	CoreHours float64           // hours of the ended runs times their threads
}

// Best returns the trial with the best value after the most epochs, or nil if no trial has a value.
func (t *Trials) Best() *Trial {
	var best *Trial
	rungs := t.Method.Value.Rungs() != nil // otherwise runs only differ in length if the space or train.stop says so
	for i := range t.List {
		one := &t.List[i]
		switch {
		case math.IsNaN(one.Value):
		case best == nil, rungs && one.Epochs > best.Epochs, (!rungs || one.Epochs == best.Epochs) &&
			t.loss(one.Value) < t.loss(best.Value):
			best = one
		}
	}
	return best
}

// loss returns a value of the objective, negated if higher is better.
func (t *Trials) loss(v float64) float64 {
	if t.Better == metrics.HigherIsBetter {
		return -v
	}
	return v
}

func (t *Trials) points() []search.Trial {
	var list []search.Trial
	for _, one := range t.List {
		p := search.Trial{Point: one.point, Failed: one.State == Failed}
		for _, v := range one.values {
			p.Values = append(p.Values, t.loss(v))
		}
		p.Running = one.State != Finished && !p.Failed
		list = append(list, p)
	}
	return list
}

type trialFile struct {
	Trial    int               `json:"trial"`
	Settings map[string]string `json:"settings"` // by key path, as one line of YAML
	Search   string            `json:"search"`   // as YAML
}

// ReadTrials reads the trials among the folders of runs. A folder is not a trial without rundir.TrialFile, or if its
// config no longer matches its run. ReadTrials returns nil if there are no trials, and an error for trials of two
// searches.
func ReadTrials(dirs []string) (*Trials, error) { return readTrials(dirs, new(Reader)) }

// readTrials is ReadTrials with a reader that knows the configs of earlier calls.
func readTrials(dirs []string, r *Reader) (*Trials, error) {
	var found *Trials
	for _, path := range dirs {
		file, err := readTrialFile(path)
		if err != nil {
			return nil, err
		}
		if file == nil {
			continue
		}
		e := r.Read(path)
		if e.State == Damaged || e.Other != "" {
			continue
		}
		method, err := parseSearch(path, file.Search)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = &Trials{Method: method, Better: directionOf(method.Value.Common(), e.Config)}
		} else if other := differentSearch(method, found.Method); other != "" {
			return nil, fmt.Errorf("%s belongs to another search than %s: %s; want one search in a folder",
				path, found.List[0].Dir, other)
		}
		found.Method = method // later trials may have a larger budget
		t := Trial{Entry: e, Index: file.Trial, Value: math.NaN()}
		if err := t.readSettings(found.Method.Value.Common().Space, file); err != nil {
			return nil, err
		}
		if err := t.readObjective(found.Method.Value); err != nil {
			return nil, err
		}
		if e.Record != nil {
			found.CoreHours += e.Record.Seconds * float64(max(1, e.Record.Machine.Threads)) / 3600
		}
		found.List = append(found.List, t)
	}
	if found == nil {
		return nil, nil
	}
	slices.SortStableFunc(found.List, func(a, b Trial) int { return a.Index - b.Index })
	for i, t := range found.List[1:] {
		if before := found.List[i]; t.Index == before.Index {
			return nil, fmt.Errorf("%s and %s are both trial %d; want one of them elsewhere", before.Dir, t.Dir, t.Index)
		}
	}
	return found, nil
}

// readTrialFile reads the trial file of a folder, or returns nil if the folder is not a trial.
func readTrialFile(dir string) (*trialFile, error) {
	text, err := rundir.ReadFile(dir, rundir.TrialFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var file trialFile
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err == nil && file.Trial < 0 {
		err = fmt.Errorf("trial %d: want a number from 0 on", file.Trial)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; want the file as the search wrote it, or the folder elsewhere",
			filepath.Join(dir, rundir.TrialFile), err)
	}
	return &file, nil
}

func (t *Trial) readSettings(s search.Space, file *trialFile) error {
	for _, r := range s {
		text := file.Settings[r.Key]
		v, ok := r.Parse(text)
		if !ok {
			return fmt.Errorf("%s: %s: %q is no value of %v; want the file as the search wrote it",
				filepath.Join(t.Dir, rundir.TrialFile), r.Key, text, r)
		}
		t.point, t.Settings = append(t.point, v), append(t.Settings, Setting{r.Key, text})
	}
	return nil
}

func encodeSearch(m search.MethodChoice) (string, error) {
	text, err := config.Encode(struct {
		Search search.MethodChoice `yaml:"search"`
	}{m})
	return string(text), err
}

// parseSearch is the inverse of encodeSearch, for the trial in a folder.
func parseSearch(dir, text string) (search.MethodChoice, error) {
	var file struct {
		Search search.MethodChoice `yaml:"search"`
	}
	err := config.Load(filepath.Join(dir, rundir.TrialFile), []byte(text), &file)
	if err == nil && file.Search.Value == nil {
		err = fmt.Errorf("%s has no search method; want the file as the search wrote it",
			filepath.Join(dir, rundir.TrialFile))
	}
	return file.Search, err
}

// differentSearch lists the settings that differ between two searches. Their budgets may differ.
func differentSearch(a, b search.MethodChoice) string {
	if a.Name != b.Name {
		return fmt.Sprintf("the method is %s, not %s", a.Name, b.Name)
	}
	list := func(m search.MethodChoice) (leaves []Setting) {
		text, err := encodeSearch(m)
		n, parsing := config.Parse("", []byte(text))
		if err != nil || parsing != nil {
			return nil
		}
		for _, l := range n.Leaves() {
			leaves = append(leaves, Setting{strings.TrimPrefix(l.Path(), "search."), l.Inline()})
		}
		return slices.DeleteFunc(leaves,
			func(s Setting) bool { return s.Key == m.Name+".runs" || s.Key == m.Name+".core_hours" })
	}
	return differentSettings(list(a), list(b))
}

// differentSettings describes where two lists of settings differ, or returns "" if they are equal.
func differentSettings(a, b []Setting) string {
	var keys []string
	values := [2]map[string]string{{}, {}}
	for i, list := range [][]Setting{a, b} {
		for _, s := range list {
			if values[i][s.Key] = s.Value; !slices.Contains(keys, s.Key) {
				keys = append(keys, s.Key)
			}
		}
	}
	var list []string
	for _, key := range keys {
		first, ok := values[0][key]
		second, also := values[1][key]
		switch {
		case !ok:
			list = append(list, fmt.Sprintf("%s is absent, not %s", key, second))
		case !also:
			list = append(list, fmt.Sprintf("%s is %s, not absent", key, first))
		case first != second:
			list = append(list, fmt.Sprintf("%s is %s, not %s", key, first, second))
		}
	}
	if len(list) > maxMistakes {
		list = append(list[:maxMistakes], "and more")
	}
	return strings.Join(list, "; ")
}

func metricNames(c train.Config) (names []string, better []metrics.Direction) {
	names = metrics.ResultNames(c.Metrics.Final)
	for _, m := range c.Metrics.Final {
		better = append(better, m.Value.Better())
	}
	if c.Train.Average != nil {
		for _, name := range slices.Clone(names) {
			names = append(names, name+train.AverageSuffix)
		}
		better = append(better, better...)
	}
	return names, better
}

func directionOf(s *search.Settings, c train.Config) metrics.Direction {
	names, better := metricNames(c)
	if i := slices.Index(names, s.Metric); i >= 0 {
		return better[i]
	}
	return metrics.LowerIsBetter
}

// readObjective reads the objective at the end of each rung that the trial has finished.
func (t *Trial) readObjective(m search.Method) error {
	ends := []int{t.Config.Train.Epochs}
	if rungs := m.Rungs(); rungs != nil {
		at := slices.Index(rungs, t.Config.Train.Epochs)
		if at < 0 {
			return fmt.Errorf("%s: train.epochs is %d, which is not a rung; want one of %v, as the search wrote it",
				filepath.Join(t.Dir, rundir.Config), t.Config.Train.Epochs, rungs)
		}
		ends = rungs[:at+1]
	}
	if t.State != Finished {
		ends = ends[:len(ends)-1]
	}
	if len(ends) == 0 {
		return nil
	}
	text, err := rundir.ReadFile(t.Dir, rundir.LogFile)
	if err != nil {
		return err
	}
	t.values = slices.Repeat([]float64{math.NaN()}, len(ends))
	for raw := range bytes.Lines(text) {
		var line rundir.Line
		if json.Unmarshal(raw, &line) != nil { // last line of a killed process
			continue
		}
		v, ok := objective(m.Common(), &line)
		for i, end := range ends {
			if ok && line.Epoch <= end {
				t.values[i] = v
			}
		}
	}
	if t.State != Failed {
		t.Epochs, t.Value = ends[len(ends)-1], t.values[len(ends)-1]
		if m.Rungs() == nil && t.Record != nil { // train.stop may end a run early
			t.Epochs = t.Record.Epochs
		}
	}
	return nil
}

func objective(s *search.Settings, line *rundir.Line) (v float64, ok bool) {
	if s.Loss == "" {
		v, ok = line.Metrics[s.Metric]
		return v, ok
	}
	for name, parts := range line.Losses {
		for part, value := range parts {
			if s.Loss == part || s.Loss == name+"/"+part {
				return value, true
			}
		}
	}
	return 0, false
}
