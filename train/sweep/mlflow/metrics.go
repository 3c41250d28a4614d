package mlflow

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// group is what stands before the / in the name of a metric that is no loss: MLflow's page has a section for each.
const (
	metricsGroup = "metrics"
	fitGroup     = "fit"
)

// series is a metric: its numbers by step.
type series struct {
	group, name string
	lines       strings.Builder
}

// metricsOf returns the metrics of a run: the losses by objective, the metrics of evaluations, and at the last step what is
// known of the end only, such as parts of metrics. A line of each is a time in milliseconds, a number and a step.
func metricsOf(r *index.Run, folder string, log []rundir.Line, begun time.Time) map[string]string {
	all := map[[2]string]*series{}
	add := func(group, name string, at time.Time, value float64, step int) {
		s := all[[2]string{group, name}]
		if s == nil {
			s = &series{group: group, name: name}
			all[[2]string{group, name}] = s
		}
		s.lines.WriteString(strconv.FormatInt(at.UnixMilli(), 10) + " " + strconv.FormatFloat(value, 'g', -1, 64) + " " + strconv.Itoa(step) + "\n")
	}
	at, last := timesOf(folder, log, begun), rundir.Line{}
	measured := map[string]bool{}
	for i, line := range log {
		for objective, parts := range line.Losses {
			for name, value := range parts {
				add(objective, name, at[i], value, line.Step)
			}
		}
		for name, value := range line.Metrics {
			add(metricsGroup, name, at[i], value, line.Step)
			measured[name] = true
		}
		last = line
	}
	end := begun
	if len(log) > 0 {
		end = at[len(log)-1]
	}
	for name, value := range r.Results.All() {
		if part, ok := strings.CutPrefix(name, fitGroup+"."); ok {
			add(fitGroup, part, end, value, last.Step)
		} else if !measured[name] {
			add(metricsGroup, name, end, value, last.Step)
		}
	}
	return named(all)
}

// named returns series by their names in a store. Groups are folders there: their names, and the names in each, are mapped apart.
func named(all map[[2]string]*series) map[string]string {
	groups := map[string][]string{}
	for key := range all {
		groups[key[0]] = append(groups[key[0]], key[1])
	}
	var list []string
	for group := range groups {
		list = append(list, group)
	}
	files, folders := map[string]string{}, mapNames(list)
	for group, members := range groups {
		for name, mapped := range mapNames(members) {
			files[folders[group]+"/"+mapped] = all[[2]string{group, name}].lines.String()
		}
	}
	return files
}

// timesOf returns the times of the lines of a log: those of TensorBoard's file, and otherwise after the times that epochs took.
func timesOf(folder string, log []rundir.Line, begun time.Time) []time.Time {
	known := map[int64]time.Time{}
	events(folder, func(e *tfevents.Event) bool {
		if _, ok := known[e.Step]; !ok && len(e.Values) > 0 && e.Values[0].Plugin == nil {
			known[e.Step] = e.Time()
		}
		return true
	})
	times, at := make([]time.Time, len(log)), begun
	for i, line := range log {
		at = at.Add(time.Duration(line.Seconds * float64(time.Second)))
		if t, ok := known[int64(line.Step)]; ok {
			at = t
		}
		times[i] = at
	}
	return times
}

// begunAt returns when a run began: when TensorBoard's file did, or when its config was written.
func begunAt(folder string) (begun time.Time) {
	events(folder, func(e *tfevents.Event) bool {
		begun = e.Time()
		return false
	})
	if begun.IsZero() {
		begun = modified(folder, rundir.Config)
	}
	return begun
}

// endedAt returns when a run ended: what it recorded, or the time of the last line of its log.
func endedAt(r *index.Run, folder string) time.Time {
	if t, err := time.Parse(time.RFC3339, r.Ended); err == nil {
		return t
	}
	return modified(folder, rundir.LogFile)
}

// modified returns when a file of a run was written; the beginning of time for a missing one.
func modified(folder, name string) time.Time {
	info, err := os.Lstat(filepath.Join(folder, name))
	if err != nil {
		return time.Unix(0, 0)
	}
	return info.ModTime()
}

// events calls f for the events of TensorBoard's file of a run, as far as it is whole, until f returns false.
func events(folder string, f func(*tfevents.Event) bool) {
	path, err := tfevents.Find(folder)
	if path == "" || err != nil {
		return
	}
	file, err := disk.Open(path)
	if err != nil {
		return
	}
	defer file.Close() // it was only read
	for r := tfevents.NewReader(file); ; {
		e, err := r.Next()
		if err != nil || !f(e) {
			return
		}
	}
}
