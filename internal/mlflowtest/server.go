// Package mlflowtest is an MLflow tracking server for tests. It implements MLflow's REST API
// (https://mlflow.org/docs/latest/rest-api.html) and rejects every request that MLflow would reject.
package mlflowtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// Server is a tracking server in this process.
type Server struct {
	URL         string
	Experiments map[string]*Experiment // by id
	Runs        []*Run
	Artifacts   map[string]string // contents by path
	ArtifactURI string            // artifact folder of a new run; default: mlflow-artifacts:
	PageSize    int               // maximum number of runs in an answer; 0: as requested
	Requests    []string          // method and name of each request
	Writes      int               // requests that changed something

	// Before handles a request if it returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// After drops the answer to a completed request if it returns true.
	After func(r *http.Request) bool

	mu sync.Mutex
}

type Experiment struct {
	Name    string
	Deleted bool
}

type Run struct {
	ID, Experiment, Name, Status string
	Begun, Ended                 int64 // milliseconds
	Deleted                      bool
	Params, Tags                 map[string]string
	Metrics                      map[string][]Point
}

// Point is a value of a metric.
type Point struct {
	Timestamp, Step int64
	Value           float64
}

// New starts a server that stops at the end of the test.
func New(t testing.TB) *Server {
	s := &Server{ArtifactURI: "mlflow-artifacts:", Artifacts: map[string]string{},
		Experiments: map[string]*Experiment{"0": {Name: "Default"}}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Run returns the run with the given name, or nil.
func (s *Server) Run(name string) *Run {
	for _, r := range s.Runs {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// refusal is the panic that ends a handler, and the answer to the client.
type refusal struct {
	status        int
	code, message string
}

func refuse(format string, args ...any) {
	panic(refusal{http.StatusBadRequest, "INVALID_PARAMETER_VALUE", fmt.Sprintf(format, args...)})
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, ok := strings.CutPrefix(r.URL.Path, "/api/2.0/mlflow/")
	if !ok {
		name = strings.TrimPrefix(r.URL.Path, "/api/2.0/")
	}
	s.Requests = append(s.Requests, r.Method+" "+name)
	if s.Before != nil && s.Before(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	status, answer := s.answer(r, name, body)
	if s.After != nil && s.After(r) {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

func (s *Server) answer(r *http.Request, name string, body []byte) (status int, answer any) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case refusal:
			status, answer = p.status, map[string]string{"error_code": p.code, "message": p.message}
		default:
			panic(p)
		}
	}()
	posts := map[string]func(body []byte) any{"experiments/create": s.createExperiment,
		"runs/create": s.createRun, "runs/update": s.updateRun, "runs/log-batch": s.logBatch, "runs/search": s.search}
	file, artifact := strings.CutPrefix(name, "mlflow-artifacts/artifacts/")
	switch h := posts[name]; {
	case r.Method == http.MethodGet && name == "experiments/get-by-name":
		shown := s.experiment(r.URL.Query().Get("experiment_name"))
		if shown == nil {
			panic(refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "Could not find this experiment"})
		}
		return http.StatusOK, map[string]any{"experiment": shown}
	case r.Method == http.MethodPut && artifact:
		if r.ContentLength < 0 || path.Clean(file) != file {
			refuse("artifact %q of %d bytes", file, r.ContentLength)
		}
		s.Writes++
		s.Artifacts[file] = string(body)
		return http.StatusOK, struct{}{}
	case r.Method == http.MethodPost && h != nil:
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			refuse("content type %q", kind)
		}
		return http.StatusOK, h(body)
	}
	panic(refusal{http.StatusNotFound, "ENDPOINT_NOT_FOUND", r.Method + " " + r.URL.Path})
}

// decode decodes a request. Unknown fields and wrong types are errors.
func decode(body []byte, into any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		refuse("%v", err)
	}
}

// experiment describes the experiment with the given name, or returns nil.
func (s *Server) experiment(name string) map[string]any {
	for id, e := range s.Experiments {
		if e.Name == name {
			return map[string]any{"experiment_id": id, "name": name, "lifecycle_stage": stage(e.Deleted)}
		}
	}
	return nil
}

func stage(deleted bool) string {
	if deleted {
		return "deleted"
	}
	return "active"
}

func (s *Server) createExperiment(body []byte) any {
	var in struct{ Name string }
	decode(body, &in)
	if in.Name == "" || utf8.RuneCountInString(in.Name) > 500 {
		refuse("experiment %q", in.Name)
	}
	if s.experiment(in.Name) != nil {
		panic(refusal{http.StatusBadRequest, "RESOURCE_ALREADY_EXISTS", in.Name + " already exists"})
	}
	s.Writes++
	id := strconv.Itoa(len(s.Experiments))
	s.Experiments[id] = &Experiment{Name: in.Name}
	return map[string]string{"experiment_id": id}
}

type pair struct{ Key, Value string }

func (s *Server) createRun(body []byte) any {
	var in struct {
		Experiment string `json:"experiment_id"`
		Name       string `json:"run_name"`
		Begun      int64  `json:"start_time"`
		Tags       []pair
	}
	decode(body, &in)
	if e := s.Experiments[in.Experiment]; e == nil || e.Deleted || in.Begun <= 0 {
		refuse("experiment %q, start_time %d", in.Experiment, in.Begun)
	}
	run := &Run{ID: fmt.Sprintf("%032x", len(s.Runs)+1), Experiment: in.Experiment,
		Name: in.Name, Status: "RUNNING", Begun: in.Begun,
		Params: map[string]string{}, Tags: map[string]string{"mlflow.runName": in.Name}, Metrics: map[string][]Point{}}
	for _, t := range in.Tags {
		check("tag", t, 5000)
		run.Tags[t.Key] = t.Value
	}
	s.Writes++
	s.Runs = append(s.Runs, run)
	return map[string]any{"run": s.show(run)}
}

var validName = regexp.MustCompile(`^[/\pL\pN_.\- ]+$`)

func check(kind string, p pair, most int) {
	switch {
	case !validName.MatchString(p.Key), path.Clean(p.Key) != p.Key, strings.HasPrefix(p.Key, ".."), p.Key[0] == '/',
		utf8.RuneCountInString(p.Key) > 250:
		refuse("Invalid %s name: %q", kind, p.Key)
	case utf8.RuneCountInString(p.Value) > most:
		refuse("%s %q had length %d, which exceeded length limit of %d", kind, p.Key, len(p.Value), most)
	}
}

// active returns a run that can still change.
func (s *Server) active(id string) *Run {
	at := slices.IndexFunc(s.Runs, func(r *Run) bool { return r.ID == id })
	if at < 0 {
		panic(refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "Run with id=" + id + " not found"})
	}
	if s.Runs[at].Deleted {
		refuse("The run %s must be in the 'active' state", id)
	}
	return s.Runs[at]
}

func (s *Server) updateRun(body []byte) any {
	var in struct {
		ID     string `json:"run_id"`
		Status string
		Ended  int64 `json:"end_time"`
	}
	decode(body, &in)
	run := s.active(in.ID)
	if !slices.Contains([]string{"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"}, in.Status) {
		refuse("status %q", in.Status)
	}
	s.Writes++
	run.Status, run.Ended = in.Status, in.Ended
	return struct{}{}
}

type point struct {
	Key       string
	Value     *float64
	Timestamp *int64
	Step      int64
}

func (s *Server) logBatch(body []byte) any {
	var in struct {
		ID      string `json:"run_id"`
		Metrics []point
		Params  []pair
		Tags    []pair
	}
	if len(body) > 1_000_000 {
		refuse("Batched logging API requests must be at most 1000000 bytes, got a request of size %d", len(body))
	}
	decode(body, &in)
	run := s.active(in.ID)
	m, p, t := len(in.Metrics), len(in.Params), len(in.Tags)
	if m > 1000 || p > 100 || t > 100 || m+p+t > 1000 {
		refuse("%d metrics, %d params, %d tags", m, p, t)
	}
	seen := map[string]bool{}
	for _, p := range in.Params {
		check("param", p, 6000)
		if old, ok := run.Params[p.Key]; seen[p.Key] || ok && old != p.Value {
			refuse("Changing param values is not allowed: %q was already logged with value %q", p.Key, old)
		}
		seen[p.Key] = true
	}
	for _, t := range in.Tags {
		check("tag", t, 5000)
	}
	for _, m := range in.Metrics {
		check("metric", pair{Key: m.Key}, 0)
		if m.Value == nil || m.Timestamp == nil || *m.Timestamp < 0 {
			refuse("metric %s lacks a value or a time", m.Key)
		}
	}
	s.Writes++
	for _, p := range in.Params {
		run.Params[p.Key] = p.Value
	}
	for _, t := range in.Tags {
		run.Tags[t.Key] = t.Value
	}
	for _, m := range in.Metrics {
		run.Metrics[m.Key] = append(run.Metrics[m.Key], Point{*m.Timestamp, m.Step, *m.Value})
	}
	return struct{}{}
}

var tagFilter = regexp.MustCompile("^tags\\.`([^`]+)` LIKE '%'$")

func (s *Server) search(body []byte) any {
	var in struct {
		Experiments []string `json:"experiment_ids"`
		Filter      string
		View        string `json:"run_view_type"`
		Max         int    `json:"max_results"`
		Page        string `json:"page_token"`
	}
	decode(body, &in)
	tag := tagFilter.FindStringSubmatch(in.Filter)
	from, err := strconv.Atoi("0" + in.Page)
	views := []string{"ACTIVE_ONLY", "DELETED_ONLY", "ALL"}
	if tag == nil || err != nil || in.Max < 1 || in.Max > 50000 || !slices.Contains(views, in.View) {
		refuse("%s", body)
	}
	most := in.Max
	if s.PageSize > 0 {
		most = min(most, s.PageSize)
	}
	var found []any
	next := ""
	for i, r := range s.Runs {
		_, ok := r.Tags[tag[1]]
		switch {
		case i < from || !ok || !slices.Contains(in.Experiments, r.Experiment):
		case in.View != "ALL" && r.Deleted != (in.View == "DELETED_ONLY"):
		case len(found) == most:
			if next == "" {
				next = strconv.Itoa(i)
			}
		default:
			found = append(found, s.show(r))
		}
	}
	return map[string]any{"runs": found, "next_page_token": next}
}

// show returns a run with the last values of its metrics. Some servers write an int64 as a string.
func (s *Server) show(r *Run) map[string]any {
	var metrics []map[string]any
	for _, key := range slices.Sorted(maps.Keys(r.Metrics)) {
		last := slices.MaxFunc(r.Metrics[key], func(a, b Point) int { return int(a.Step - b.Step) })
		step := strconv.FormatInt(last.Step, 10)
		metrics = append(metrics, map[string]any{"key": key, "value": last.Value, "timestamp": last.Timestamp, "step": step})
	}
	return map[string]any{
		"info": map[string]any{"run_id": r.ID, "experiment_id": r.Experiment, "run_name": r.Name, "status": r.Status,
			"start_time": r.Begun, "end_time": r.Ended, "lifecycle_stage": stage(r.Deleted),
			"artifact_uri": s.ArtifactURI + "/" + r.Experiment + "/" + r.ID + "/artifacts"},
		"data": map[string]any{"metrics": metrics, "params": list(r.Params), "tags": list(r.Tags)},
	}
}

func list(all map[string]string) (pairs []map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, map[string]string{"key": key, "value": all[key]})
	}
	return pairs
}
