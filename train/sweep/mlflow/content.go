package mlflow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// Run statuses (https://mlflow.org/docs/latest/rest-api.html, RunStatus).
const (
	statusRunning  = "RUNNING"
	statusFinished = "FINISHED"
	statusFailed   = "FAILED"
	statusKilled   = "KILLED"
)

// Tags of this package and of MLflow.
const (
	runTag    = "unravel.run"
	stampTag  = "unravel.stamp"
	noteTag   = "unravel.note"
	sourceTag = "mlflow.source.name"
	kindTag   = "mlflow.source.type"
	commitTag = "mlflow.source.git.commit"
)

// Limits of MLflow, in characters (https://mlflow.org/docs/latest/rest-api.html).
const (
	maxParam          = 6000
	maxTag            = 5000
	maxExperimentName = 500
)

// formatVersion is part of the stamps of runs: Send updates runs that another version of this package has sent.
const formatVersion = 3

// sentFiles lists the files of a run that become artifacts, in addition to figures. Weights stay in the run's folder.
var sentFiles = []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile, rundir.ReportFile,
	rundir.LogFile}

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// statuses are MLflow's statuses for the states of runs. Runs in other states have not started.
var statuses = map[sweep.State]string{
	sweep.Finished: statusFinished, sweep.Failed: statusFailed, sweep.Running: statusRunning, sweep.Stopped: statusKilled,
}

// stampOf returns a text that changes with any part of a run that Send sends.
func stampOf(folder, status string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", formatVersion, status)
	for _, name := range sentFiles {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			fmt.Fprintf(&b, " %d:%d", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString(" -")
		}
	}
	return b.String()
}

// readLog reads the complete lines of a run's log. A run that has not started has no lines.
func readLog(folder string) (lines []rundir.Line, err error) {
	text, err := rundir.ReadFile(folder, rundir.LogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for raw := range strings.Lines(string(text)) {
		var line rundir.Line
		if json.Unmarshal([]byte(raw), &line) != nil {
			break // incomplete last line
		}
		lines = append(lines, line)
	}
	return lines, err
}

// paramsOf returns the settings of a run as parameters, and a note about truncated values.
func paramsOf(r *index.Run) (params map[string]string, note string) {
	values := map[string]string{}
	for _, key := range []string{"dataset", "supervision", "model", "losses"} {
		if c, err := index.FindColumn([]*index.Run{r}, key); err == nil {
			if v, ok := c.Of(r); ok {
				values[key] = v
			}
		}
	}
	maps.Insert(values, r.Settings.All())
	params, mapped := map[string]string{}, mapNames(slices.Collect(maps.Keys(values)), maxName)
	var long []string
	for key, value := range values {
		if params[mapped[key]] = truncate(value, maxParam); params[mapped[key]] != validText(value) {
			long = append(long, key)
		}
	}
	if len(long) > 0 {
		slices.Sort(long)
		note = fmt.Sprintf("cut to %d characters: %s; %s has them whole. ", maxParam, strings.Join(long, ", "), rundir.Config)
	}
	return params, note
}

// keepParams returns the parameters that the server lacks. MLflow changes no parameter, so the note has new values.
func keepParams(params, existing map[string]string, note string) (lacking map[string]string, updatedNote string) {
	lacking = map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		old, ok := existing[key]
		switch {
		case !ok:
			lacking[key] = params[key]
		case old != params[key]:
			note += fmt.Sprintf("%s is now %s. ", key, params[key])
		}
	}
	return lacking, strings.TrimSpace(note)
}

func tagsOf(r *index.Run, note string) map[string]string {
	tags := map[string]string{"unravel.folder": r.Dir, "unravel.state": string(r.State)}
	for tag, value := range map[string]string{noteTag: note, "unravel.hash": r.Hash, "unravel.version": r.Version,
		"unravel.problem": r.Problem, "unravel.kernels": r.Machine.Kernels, "unravel.go": r.Machine.Go} {
		if value != "" {
			tags[tag] = value
		}
	}
	if r.Machine.Threads > 0 {
		tags["unravel.threads"] = strconv.Itoa(r.Machine.Threads)
	}
	if commit.MatchString(r.Version) {
		tags[commitTag] = r.Version
	}
	for tag, value := range tags {
		tags[tag] = truncate(value, maxTag)
	}
	return tags
}

func pairs(values map[string]string) (list []pair) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, pair{key, values[key]})
	}
	return list
}

// A group is the part before the / in the name of a metric, unless it is a loss. MLflow's page has one section per
// group.
const metricsGroup, fitGroup = "metrics", "fit"

type point struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // milliseconds since 1970
	Step      int     `json:"step"`
}

// metricsOf returns the metrics of a run by step. Values that are only known at the end are at the last step.
func metricsOf(r *index.Run, folder string, log []rundir.Line, begun time.Time) (points []point) {
	type source struct{ group, name string }
	var sources []source
	add := func(group, name string, t time.Time, value float64, step int) {
		sources = append(sources, source{group, name})
		points = append(points, point{"", value, max(0, t.UnixMilli()), step})
	}
	times, last := timesOf(folder, log, begun), rundir.Line{}
	measured := map[string]bool{}
	for i, line := range log {
		for objective, parts := range line.Losses {
			for name, value := range parts {
				add(objective, name, times[i], value, line.Step)
			}
		}
		for name, value := range line.Metrics {
			if !line.Again(log[i+1:], name) {
				add(metricsGroup, name, times[i], value, line.Step)
			}
			measured[name] = true
		}
		last = line
	}
	end := begun
	if len(log) > 0 {
		end = times[len(log)-1]
	}
	for name, value := range r.Results.All() {
		if part, ok := strings.CutPrefix(name, fitGroup+"."); ok {
			add(fitGroup, part, end, value, last.Step)
		} else if !measured[name] {
			add(metricsGroup, name, end, value, last.Step)
		}
	}
	groups := map[string][]string{}
	for _, s := range sources {
		groups[s.group] = append(groups[s.group], s.name)
	}
	names := map[string]map[string]string{}
	for group, members := range groups {
		names[group] = mapNames(members, maxPart)
	}
	folders := mapNames(slices.Collect(maps.Keys(groups)), maxPart)
	for i, s := range sources {
		points[i].Key = folders[s.group] + "/" + names[s.group][s.name]
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(a.Step-b.Step, strings.Compare(a.Key, b.Key)) })
	return points
}

// missingPoints returns the points that the server lacks. Points are sent by step, so its last step decides.
func missingPoints(points []point, sent []latest) []point {
	last := map[string]int{}
	for _, m := range sent {
		last[m.Key] = int(m.Step)
	}
	return slices.DeleteFunc(points, func(p point) bool {
		step, ok := last[p.Key]
		return ok && p.Step <= step
	})
}

// timesOf returns the times of the lines of a log: from TensorBoard's file, or computed from the durations of epochs.
func timesOf(folder string, log []rundir.Line, begun time.Time) []time.Time {
	recorded := map[int64]time.Time{}
	events(folder, func(e *tfevents.Event) bool {
		if _, ok := recorded[e.Step]; !ok && len(e.Values) > 0 && e.Values[0].Plugin == nil {
			recorded[e.Step] = e.Time()
		}
		return true
	})
	times, lineTime := make([]time.Time, len(log)), begun
	for i, line := range log {
		lineTime = lineTime.Add(time.Duration(line.Seconds * float64(time.Second)))
		if t, ok := recorded[int64(line.Step)]; ok {
			lineTime = t
		}
		times[i] = lineTime
	}
	return times
}

// startTime returns the start time of a run: the first time in TensorBoard's file, or the time of the config.
func startTime(folder string) (begun time.Time) {
	events(folder, func(e *tfevents.Event) bool {
		begun = e.Time()
		return false
	})
	if begun.IsZero() {
		begun = modTime(folder, rundir.Config)
	}
	return begun
}

// endTime returns the end time of a run: the recorded time, or the time of the last log line.
func endTime(r *index.Run, folder string) time.Time {
	if t, err := time.Parse(time.RFC3339, r.Ended); err == nil {
		return t
	}
	return modTime(folder, rundir.LogFile)
}

// modTime returns the modification time of a run's file, or 1970 for a missing file.
func modTime(folder, name string) time.Time {
	info, err := os.Lstat(filepath.Join(folder, name))
	if err != nil {
		return time.Unix(0, 0)
	}
	return info.ModTime()
}

// events calls f for each complete event in a run's TensorBoard file, until f returns false.
func events(folder string, f func(*tfevents.Event) bool) {
	path, err := tfevents.Find(folder)
	if path == "" || err != nil {
		return
	}
	file, err := disk.Open(path)
	if err != nil {
		return
	}
	defer file.Close() // only read
	for r := tfevents.NewReader(file); ; {
		e, err := r.Next()
		if err != nil || !f(e) {
			return
		}
	}
}

// validText replaces bytes that databases reject.
func validText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// truncate limits the number of characters of a text, and ends a truncated text with an ellipsis.
func truncate(s string, limit int) string {
	s = validText(s)
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
