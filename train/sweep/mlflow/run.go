package mlflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// The statuses of runs, and the kind of their source (mlflow/protos/service.proto).
const (
	statusRunning   = 1
	statusScheduled = 2
	statusFinished  = 3
	statusFailed    = 4
	statusKilled    = 5
	sourceLocal     = 4
)

// formatVersion is part of the stamps of runs: runs that another version of this package wrote are written again.
const formatVersion = 2

// patience is the time without output after which a run of another machine counts as stopped.
const patience = 10 * time.Minute

// Tags of this package and of MLflow.
const (
	stampTag  = "unravel.stamp"
	noteTag   = "unravel.note"
	nameTag   = "mlflow.runName"
	sourceTag = "mlflow.source.name"
	kindTag   = "mlflow.source.type"
	commitTag = "mlflow.source.git.commit"
)

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// run writes a run, unless the store has it as it is.
func (w *writer) run(r *index.Run) (changed bool, err error) {
	folder := filepath.Join(w.dir, filepath.FromSlash(r.Dir))
	status := w.status(r, folder)
	stamp := w.stamp(folder, status)
	begun := begunAt(folder)
	experiment, err := w.experiment(filepath.Dir(folder), begun)
	if experiment == "" || err != nil {
		return false, err
	}
	at := filepath.Join(w.store, experiment, runID(folder))
	if old, err := os.ReadFile(filepath.Join(at, tagsDir, stampTag)); err == nil && string(old) == stamp {
		return false, nil
	}
	for _, name := range copied {
		if err := rundir.CheckFile(folder, name); err != nil {
			return false, unreadableError{err}
		}
	}
	old, err := readMeta(filepath.Join(at, metaFile))
	if err != nil {
		return false, err
	}
	log, err := readLog(folder)
	if err != nil {
		return false, err
	}
	params, note := paramsOf(r)
	tags := tagsOf(r, note)
	name := filepath.Base(folder)
	if old == nil { // MLflow's users may change it
		tags[nameTag] = name
	} else if chosen := old.text("run_name"); chosen != "" {
		name = chosen
	}
	if err := os.MkdirAll(filepath.Join(at, artifactDir), 0o777); err != nil {
		return false, err
	}
	for sub, files := range map[string]map[string]string{paramsDir: params, metricsDir: metricsOf(r, folder, log, begun)} {
		if _, err := putAll(filepath.Join(at, sub), files, false); err != nil {
			return false, err
		}
	}
	if _, err := putAll(filepath.Join(at, tagsDir), tags, true); err != nil {
		return false, err
	}
	if err := w.artifacts(folder, filepath.Join(at, artifactDir)); err != nil {
		return false, err
	}
	var ended any
	if status == statusFinished || status == statusFailed || status == statusKilled {
		ended = endedAt(r, folder).UnixMilli()
	}
	m := meta{
		{"artifact_uri", fileURI(filepath.Join(at, artifactDir))}, {"end_time", ended}, {"entry_point_name", ""}, {"experiment_id", experiment},
		{"lifecycle_stage", "active"}, {"run_id", filepath.Base(at)}, {"run_name", cut(name, maxTag)}, {"run_uuid", filepath.Base(at)},
		{"source_name", ""}, {"source_type", sourceLocal}, {"source_version", ""}, {"start_time", begun.UnixMilli()},
		{"status", status}, {"tags", []string{}}, {"user_id", ""},
	}
	if old.text("lifecycle_stage") == "deleted" {
		m[4].value = "deleted"
		deleted, _ := strconv.ParseInt(fmt.Sprint(old["deleted_time"]), 10, 64)
		m = append(m, entry{"deleted_time", deleted})
	}
	if _, err := put(filepath.Join(at, metaFile), m.encode()); err != nil { // with it the run is there
		return false, err
	}
	_, err = put(filepath.Join(at, tagsDir, stampTag), []byte(stamp)) // last: a run that was not written whole is written again
	return true, err
}

// status is the state of a run as MLflow has it.
func (w *writer) status(r *index.Run, folder string) int {
	switch r.State {
	case sweep.Finished:
		return statusFinished
	case sweep.Failed:
		return statusFailed
	case sweep.Running:
		return statusRunning
	case sweep.Waiting:
		return statusScheduled
	case sweep.Stopped:
		return statusKilled
	}
	if w.holders.Held(folder, patience) {
		return statusRunning
	}
	if _, err := os.Lstat(filepath.Join(folder, rundir.LogFile)); err != nil {
		return statusScheduled
	}
	return statusKilled
}

// unreadableError is an error of a run, not of the store.
type unreadableError struct{ error }

func (e unreadableError) Unwrap() error { return e.error }

// stamp returns a text that changes when something that is written of a run changes.
func (w *writer) stamp(folder string, status int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %t", formatVersion, status, w.options.Copy)
	for _, name := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile, rundir.LogFile, rundir.ReportFile} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			fmt.Fprintf(&b, " %d:%d", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString(" -")
		}
	}
	return b.String()
}

// readLog reads the log of a run as far as it is whole; a run that has not begun has none.
func readLog(folder string) (lines []rundir.Line, err error) {
	text, err := rundir.ReadFile(folder, rundir.LogFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for raw := range strings.Lines(string(text)) {
		var line rundir.Line
		if json.Unmarshal([]byte(raw), &line) != nil {
			break // a line that is being written
		}
		lines = append(lines, line)
	}
	return lines, err
}

// paramsOf returns the settings of a run as parameters, and a note about those that are cut.
func paramsOf(r *index.Run) (params map[string]string, note string) {
	values := map[string]string{}
	for _, key := range []string{"dataset", "supervision", "model", "losses"} {
		if c, err := index.FindColumn([]*index.Run{r}, key); err == nil {
			if v, ok := c.Of(r); ok {
				values[key] = v
			}
		}
	}
	var keys, long []string
	for key, value := range r.Settings.All() {
		values[key] = value
	}
	for key := range values {
		keys = append(keys, key)
	}
	params, to := map[string]string{}, mapNames(keys)
	for key, value := range values {
		if params[to[key]] = cut(value, maxParam); params[to[key]] != strings.ToValidUTF8(value, "\ufffd") {
			long = append(long, key)
		}
	}
	if len(long) > 0 {
		slices.Sort(long)
		note = fmt.Sprintf("cut to %d characters: %s; %s has them whole", maxParam, strings.Join(long, ", "), rundir.Config)
	}
	return params, cut(note, maxTag)
}

// tagsOf returns the tags of a run, by their names in the store.
func tagsOf(r *index.Run, note string) map[string]string {
	tags := map[string]string{kindTag: "LOCAL", sourceTag: "unravel train", "unravel.run": r.Dir, "unravel.state": string(r.State)}
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
		tags[tag] = cut(value, maxTag)
	}
	return tags
}
