package mlflow

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

// point is a number of a metric in a store.
type point struct {
	ms    int64
	value float64
	step  int
}

// stored is a run as MLflow's FileStore reads it.
type stored struct {
	id, experiment, name, artifacts string
	status                          int
	begun, ended                    int64 // milliseconds; ended is 0 without an end
	deleted                         bool
	params, tags                    map[string]string
	metrics                         map[string][]point
}

var (
	validName       = regexp.MustCompile(`^[/\pL\pN_.\- ]*$`)
	validRun        = regexp.MustCompile(`^[a-zA-Z0-9][\w\-]{0,255}$`)
	validExperiment = regexp.MustCompile(`^[a-zA-Z0-9][\w\-]{0,63}$`)
)

// readStore reads a store as MLflow's FileStore does, with its checks. It returns the experiments' names by id, and the runs by their names.
func readStore(t *testing.T, store string) (experiments map[string]string, runs map[string]*stored) {
	t.Helper()
	experiments, runs = map[string]string{}, map[string]*stored{}
	for _, id := range folders(t, store) {
		if id == trash || id == "models" {
			continue
		}
		m := readYAML(t, filepath.Join(store, id, "meta.yaml"))
		for _, key := range []string{"artifact_location", "creation_time", "experiment_id", "last_update_time", "lifecycle_stage", "name"} {
			if _, ok := m[key]; !ok {
				t.Errorf("experiment %s has no %s", id, key)
			}
		}
		if m["experiment_id"] != id || !validExperiment.MatchString(id) {
			t.Errorf("experiment %v in folder %s", m["experiment_id"], id)
		}
		name, _ := m["name"].(string)
		if name == "" || utf8.RuneCountInString(name) > 500 {
			t.Errorf("experiment %s is called %q", id, name)
		}
		for _, other := range experiments {
			if other == name {
				t.Errorf("two experiments are called %q", name)
			}
		}
		experiments[id] = name
		for _, run := range folders(t, filepath.Join(store, id)) {
			if run == "tags" || run == "datasets" || run == "traces" {
				continue
			}
			r := readRun(t, filepath.Join(store, id, run))
			if r.id != run || r.experiment != id || !validRun.MatchString(run) {
				t.Errorf("run %s of experiment %s in %s/%s", r.id, r.experiment, id, run)
			}
			if runs[name+"/"+r.name] != nil {
				t.Errorf("two runs are called %s", name+"/"+r.name)
			}
			runs[name+"/"+r.name] = r
		}
	}
	return experiments, runs
}

func folders(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

func readYAML(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

// readRun reads the folder of a run.
func readRun(t *testing.T, dir string) *stored {
	t.Helper()
	m := readYAML(t, filepath.Join(dir, "meta.yaml"))
	text := func(key string) string {
		s, ok := m[key].(string)
		if !ok {
			t.Errorf("%s: %s is %v, want a text", dir, key, m[key])
		}
		return s
	}
	number := func(key string) int64 {
		v, err := strconv.ParseInt(fmt.Sprint(m[key]), 10, 64)
		if err != nil || v < 0 {
			t.Errorf("%s: %s is %v, want a number", dir, key, m[key])
		}
		return v
	}
	r := &stored{id: text("run_id"), experiment: text("experiment_id"), name: text("run_name"), status: int(number("status")), begun: number("start_time"),
		deleted: text("lifecycle_stage") == "deleted", params: map[string]string{}, tags: map[string]string{}, metrics: map[string][]point{}}
	if m["end_time"] != nil {
		r.ended = number("end_time")
	}
	if text("run_uuid") != r.id || r.status < 1 || r.status > 5 || number("source_type") != 4 {
		t.Errorf("%s: %v", dir, m)
	}
	_, _ = text("user_id"), text("entry_point_name")
	u, err := url.Parse(text("artifact_uri"))
	if err != nil || u.Scheme != "file" {
		t.Errorf("%s: artifacts at %s", dir, m["artifact_uri"])
	}
	r.artifacts = filepath.FromSlash(u.Path)
	for name, content := range files(t, filepath.Join(dir, "params"), 6000) {
		r.params[name] = content
	}
	for name, content := range files(t, filepath.Join(dir, "tags"), 5000) {
		r.tags[name] = content
	}
	for name, content := range files(t, filepath.Join(dir, "metrics"), 1<<30) {
		for _, line := range strings.Split(strings.TrimSuffix(content, "\n"), "\n") {
			parts := strings.Split(line, " ")
			if len(parts) != 3 {
				t.Fatalf("%s: metric %s: line %q", dir, name, line)
			}
			ms, err1 := strconv.ParseInt(parts[0], 10, 64)
			value, err2 := strconv.ParseFloat(parts[1], 64)
			step, err3 := strconv.Atoi(parts[2])
			if err1 != nil || err2 != nil || err3 != nil || ms < 0 {
				t.Fatalf("%s: metric %s: line %q", dir, name, line)
			}
			r.metrics[name] = append(r.metrics[name], point{ms, value, step})
		}
	}
	if r.tags["mlflow.runName"] != r.name {
		t.Errorf("%s: the tag of the name is %q, the name %q", dir, r.tags["mlflow.runName"], r.name)
	}
	return r
}

// files reads the files of a folder, whose names and lengths must be valid.
func files(t *testing.T, dir string, most int) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if !validName.MatchString(name) || path.Clean(name) != name || strings.HasPrefix(name, "..") || utf8.RuneCountInString(name) > 250 {
			t.Errorf("%s: the name %q is not valid", dir, name)
		}
		content, err := os.ReadFile(p)
		if !utf8.Valid(content) || utf8.RuneCount(content) > most {
			t.Errorf("%s: %q has %d bytes, or is no UTF-8", dir, name, len(content))
		}
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
