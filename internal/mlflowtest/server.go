// Package mlflowtest has a tracking server for tests. It keeps to MLflow's REST API
// (https://mlflow.org/docs/latest/rest-api.html) and refuses each request that MLflow would refuse.
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
	ArtifactURI string            // where a new run keeps its artifacts; default: mlflow-artifacts:
	PageSize    int               // runs in an answer; 0: as many as asked for
	Requests    []string          // method and name of each request
	Writes      int               // requests that changed something

	// Before answers a request itself, if it returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// After loses the answer to a request that was carried out, if it returns true.
	After func(r *http.Request) bool

	mu sync.Mutex
}

// Experiment is an experiment of a server.
type Experiment struct {
	Name    string
	Deleted bool
}

// Run is a run of a server.
type Run struct {
	ID, Experiment, Name, Status string
	Begun, Ended                 int64 // milliseconds
	Deleted                      bool
	Params, Tags                 map[string]string
	Metrics                      map[string][]Point
}

// Point is a number of a metric.
type Point struct {
	Timestamp, Step int64
	Value           float64
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{ArtifactURI: "mlflow-artifacts:", Artifacts: map[string]string{},
		Experiments: map[string]*Experiment{"0": {Name: "Default"}}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Run returns the run of a name, or nil.
func (s *Server) Run(name string) *Run {
	for _, r := range s.Runs {
		if r.Name == name {
			return r
		}
	}
	return nil
}

type refusal struct {
	status        int
	code, message string
}

func bad(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "INVALID_PARAMETER_VALUE", fmt.Sprintf(format, args...)}
}

// ServeHTTP answers a request.
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
	answer, refused := s.answer(r, name, body)
	if s.After != nil && s.After(r) {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if refused != nil {
		w.WriteHeader(refused.status)
		answer = map[string]string{"error_code": refused.code, "message": refused.message}
	}
	_ = json.NewEncoder(w).Encode(answer) // the client has gone
}

func (s *Server) answer(r *http.Request, name string, body []byte) (any, *refusal) {
	type handler func(body []byte) (any, *refusal)
	posts := map[string]handler{"experiments/create": s.createExperiment,
		"runs/create": s.createRun, "runs/update": s.updateRun, "runs/log-batch": s.logBatch, "runs/search": s.search}
	file, artifact := strings.CutPrefix(name, "mlflow-artifacts/artifacts/")
	switch h := posts[name]; {
	case r.Method == http.MethodGet && name == "experiments/get-by-name":
		return s.getExperiment(r.URL.Query().Get("experiment_name"))
	case r.Method == http.MethodPut && artifact:
		if r.ContentLength < 0 || path.Clean(file) != file {
			return nil, bad("artifact %q of %d bytes", file, r.ContentLength)
		}
		s.Writes++
		s.Artifacts[file] = string(body)
		return struct{}{}, nil
	case r.Method == http.MethodPost && h != nil:
		if kind := r.Header.Get("Content-Type"); kind != "application/json" {
			return nil, bad("content type %q", kind)
		}
		return h(body)
	}
	return nil, &refusal{http.StatusNotFound, "ENDPOINT_NOT_FOUND", r.Method + " " + r.URL.Path}
}

// decode decodes a request, and refuses unknown fields and wrong types.
func decode(body []byte, into any) *refusal {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return bad("%v", err)
	}
	return nil
}

func (s *Server) getExperiment(name string) (any, *refusal) {
	for id, e := range s.Experiments {
		if e.Name == name {
			shown := map[string]any{"experiment_id": id, "name": name, "lifecycle_stage": stage(e.Deleted)}
			return map[string]any{"experiment": shown}, nil
		}
	}
	return nil, &refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "Could not find experiment with name '" + name + "'"}
}

func stage(deleted bool) string {
	if deleted {
		return "deleted"
	}
	return "active"
}

func (s *Server) createExperiment(body []byte) (any, *refusal) {
	var in struct{ Name string }
	if r := decode(body, &in); r != nil {
		return nil, r
	}
	if in.Name == "" || utf8.RuneCountInString(in.Name) > 500 {
		return nil, bad("experiment %q", in.Name)
	}
	if _, missing := s.getExperiment(in.Name); missing == nil {
		return nil, &refusal{http.StatusBadRequest, "RESOURCE_ALREADY_EXISTS", in.Name + " already exists"}
	}
	s.Writes++
	id := strconv.Itoa(len(s.Experiments))
	s.Experiments[id] = &Experiment{Name: in.Name}
	return map[string]string{"experiment_id": id}, nil
}

type pair struct{ Key, Value string }

func (s *Server) createRun(body []byte) (any, *refusal) {
	var in struct {
		Experiment string `json:"experiment_id"`
		Name       string `json:"run_name"`
		Begun      int64  `json:"start_time"`
		Tags       []pair
	}
	if r := decode(body, &in); r != nil {
		return nil, r
	}
	if e := s.Experiments[in.Experiment]; e == nil || e.Deleted || in.Begun <= 0 {
		return nil, bad("experiment %q, start_time %d", in.Experiment, in.Begun)
	}
	run := &Run{ID: fmt.Sprintf("%032x", len(s.Runs)+1), Experiment: in.Experiment,
		Name: in.Name, Status: "RUNNING", Begun: in.Begun,
		Params: map[string]string{}, Tags: map[string]string{"mlflow.runName": in.Name}, Metrics: map[string][]Point{}}
	for _, t := range in.Tags {
		if r := check("tag", t, 5000); r != nil {
			return nil, r
		}
		run.Tags[t.Key] = t.Value
	}
	s.Writes++
	s.Runs = append(s.Runs, run)
	return map[string]any{"run": s.show(run)}, nil
}

var validName = regexp.MustCompile(`^[/\pL\pN_.\- ]+$`)

func check(kind string, p pair, most int) *refusal {
	switch {
	case !validName.MatchString(p.Key), path.Clean(p.Key) != p.Key, strings.HasPrefix(p.Key, ".."), p.Key[0] == '/',
		utf8.RuneCountInString(p.Key) > 250:
		return bad("Invalid %s name: %q", kind, p.Key)
	case utf8.RuneCountInString(p.Value) > most:
		return bad("%s %q had length %d, which exceeded length limit of %d", kind, p.Key, len(p.Value), most)
	}
	return nil
}

// active returns a run that may be changed.
func (s *Server) active(id string) (*Run, *refusal) {
	for _, r := range s.Runs {
		if r.ID == id && r.Deleted {
			return nil, bad("The run %s must be in the 'active' state", id)
		}
		if r.ID == id {
			return r, nil
		}
	}
	return nil, &refusal{http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "Run with id=" + id + " not found"}
}

func (s *Server) updateRun(body []byte) (any, *refusal) {
	var in struct {
		ID     string `json:"run_id"`
		Status string
		Ended  int64 `json:"end_time"`
	}
	if r := decode(body, &in); r != nil {
		return nil, r
	}
	run, r := s.active(in.ID)
	if r != nil {
		return nil, r
	}
	if !slices.Contains([]string{"RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"}, in.Status) {
		return nil, bad("status %q", in.Status)
	}
	s.Writes++
	run.Status, run.Ended = in.Status, in.Ended
	return struct{}{}, nil
}

type point struct {
	Key       string
	Value     *float64
	Timestamp *int64
	Step      int64
}

func (s *Server) logBatch(body []byte) (any, *refusal) {
	var in struct {
		ID      string `json:"run_id"`
		Metrics []point
		Params  []pair
		Tags    []pair
	}
	if len(body) > 1_000_000 {
		return nil, bad("Batched logging API requests must be at most 1000000 bytes, got a request of size %d", len(body))
	}
	if r := decode(body, &in); r != nil {
		return nil, r
	}
	run, r := s.active(in.ID)
	if r != nil {
		return nil, r
	}
	m, p, t := len(in.Metrics), len(in.Params), len(in.Tags)
	if m > 1000 || p > 100 || t > 100 || m+p+t > 1000 {
		return nil, bad("%d metrics, %d params, %d tags", m, p, t)
	}
	seen := map[string]bool{}
	for _, p := range in.Params {
		if r := check("param", p, 6000); r != nil {
			return nil, r
		}
		if old, ok := run.Params[p.Key]; seen[p.Key] || ok && old != p.Value {
			return nil, bad("Changing param values is not allowed: %q was already logged with value %q", p.Key, old)
		}
		seen[p.Key] = true
	}
	for _, t := range in.Tags {
		if r := check("tag", t, 5000); r != nil {
			return nil, r
		}
	}
	for _, m := range in.Metrics {
		if r := check("metric", pair{Key: m.Key}, 0); r != nil {
			return nil, r
		}
		if m.Value == nil || m.Timestamp == nil || *m.Timestamp < 0 {
			return nil, bad("metric %s lacks a value or a time", m.Key)
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
	return struct{}{}, nil
}

var tagFilter = regexp.MustCompile("^tags\\.`([^`]+)` LIKE '%'$")

func (s *Server) search(body []byte) (any, *refusal) {
	var in struct {
		Experiments []string `json:"experiment_ids"`
		Filter      string
		View        string `json:"run_view_type"`
		Max         int    `json:"max_results"`
		Page        string `json:"page_token"`
	}
	if r := decode(body, &in); r != nil {
		return nil, r
	}
	tag := tagFilter.FindStringSubmatch(in.Filter)
	from, err := strconv.Atoi("0" + in.Page)
	views := []string{"ACTIVE_ONLY", "DELETED_ONLY", "ALL"}
	if tag == nil || err != nil || in.Max < 1 || in.Max > 50000 || !slices.Contains(views, in.View) {
		return nil, bad("%s", body)
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
	return map[string]any{"runs": found, "next_page_token": next}, nil
}

// show returns a run with the last values of its metrics. Some servers write an int64 as a text.
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
