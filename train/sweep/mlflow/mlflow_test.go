package mlflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/mlflowtest"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

const tiny = `
name: tiny
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model: {lsbd-vae: {encoder: {mlp: {hidden: [4]}}, latent: [{sphere: {dim: 1}}, {sphere: {dim: 1}}]}}
losses: [reconstruction, kl, lsbd]
train: {epochs: 3, epoch_steps: 2, batch: 32, figures: false}
metrics: {final: [dlsbd, variance], every: 1}
`

func load(t *testing.T, overrides ...string) train.Config {
	t.Helper()
	return must.Get(train.Load("tiny.yaml", []byte(tiny), overrides...))(t)
}

// trained trains tiny in a folder.
func trained(t *testing.T, dir string, overrides ...string) {
	t.Helper()
	must.Get(train.Run(context.Background(), load(t, overrides...), train.Options{Dir: dir, Resume: true}))(t)
}

// begun makes a run's folder with a config.
func begun(t *testing.T, dir string, overrides ...string) *rundir.Run {
	t.Helper()
	text := must.Get(load(t, overrides...).Encode())(t)
	r, err := rundir.Create(dir)
	if err == nil {
		err = r.Write(rundir.Config, rundir.Bytes(text))
	}
	must.OK(t, err)
	return r
}

// logged appends lines to the log of a run.
func logged(t *testing.T, dir, lines string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, rundir.LogFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(lines)
		err = errors.Join(err, f.Close())
	}
	must.OK(t, err)
}

func send(t *testing.T, to Server, dir string) (Summary, error) {
	t.Helper()
	runs := must.Get(index.List(t.Context(), dir))(t)
	to.Wait = time.Millisecond
	return Send(t.Context(), to, dir, runs)
}

// sent sends the runs of a folder.
func sent(t *testing.T, s *mlflowtest.Server, dir string) Summary {
	t.Helper()
	return must.Get(send(t, Server{URL: s.URL}, dir))(t)
}

func TestSend(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	s.PageSize = 1
	trained(t, filepath.Join(dir, "one"), "seed=1", "train.figures=true")
	held := begun(t, filepath.Join(dir, "sweep", "held"), "seed=3")
	defer held.Close()
	must.OK(t, begun(t, filepath.Join(dir, "sweep", "waiting"), "seed=4").Close())
	stopped := begun(t, filepath.Join(dir, "stopped"), "seed=5")
	logged(t, stopped.Dir(), `{"step":1,"epoch":1,"seconds":2,"losses":{"o":{"loss":1}}}`+"\n{\"st")
	failed := begun(t, filepath.Join(dir, "failed"), "seed=6")
	must.OK(t, errors.Join(stopped.Close(), failed.Close(), rundir.RecordFailure(failed.Dir(), fmt.Errorf("too hot"), time.Now())))
	must.Write(t, filepath.Join(dir, "damaged", rundir.Config), "x: [")
	sum := sent(t, s, dir)
	if sum.Runs != 4 || sum.Changed != 4 || sum.Experiments != 2 || len(sum.Notes) != 2 ||
		!strings.Contains(sum.Notes[0], "1 damaged") || !strings.Contains(sum.Notes[1], "1 runs that have not begun") {
		t.Errorf("%+v", sum)
	}
	if len(s.Experiments) != 3 || s.Experiments["1"].Name != "runs" || s.Experiments["2"].Name != "runs/sweep" || len(s.Runs) != 4 {
		t.Fatalf("%v, %d runs", s.Experiments, len(s.Runs))
	}
	for name, status := range map[string]string{"one": statusFinished, "held": statusRunning, "stopped": statusKilled, "failed": statusFailed} {
		r := s.Run(name)
		if r == nil || r.Status != status || (r.Ended == 0) != (status == statusRunning) || r.Ended != 0 && r.Ended < r.Begun-1000 {
			t.Errorf("%s: %+v, want status %s", name, r, status)
		}
	}
	one := s.Run("one")
	for key, want := range map[string]string{"seed": "1", "model": "lsbd-vae", "losses": "reconstruction+kl+lsbd",
		"train.batch": "32", "train.figures": "true"} {
		must.Equal(t, one.Params[key], want, "parameter", key)
	}
	for _, name := range []string{"supervised/lsbd", "supervised/loss", "metrics/dlsbd"} {
		p := one.Metrics[name]
		if len(p) != 3 || p[0].Step != 2 || p[2].Step != 6 || p[0].Timestamp < one.Begun || p[1].Timestamp < p[0].Timestamp ||
			p[2].Timestamp > one.Ended+1000 {
			t.Errorf("%s: %v", name, p)
		}
	}
	var log []rundir.Line
	view := must.Get(rundir.View(filepath.Join(dir, "one")))(t)
	must.OK(t, view.ReadLog(func(l rundir.Line) { log = append(log, l) }))
	if got, want := one.Metrics["supervised/lsbd"][0].Value, log[0].Losses["supervised"]["lsbd"]; got != want {
		t.Errorf("lsbd after the first epoch is %v, want %v", got, want)
	}
	if p := one.Metrics["fit/reconstruction"]; len(p) != 1 || p[0].Step != 6 {
		t.Errorf("the fit is %v", p)
	}
	if s.Run("failed").Tags["unravel.problem"] != "too hot" || one.Tags["mlflow.source.type"] != "LOCAL" ||
		!strings.HasSuffix(one.Tags[runTag], "/one") {
		t.Errorf("tags %v", one.Tags)
	}
	if got := s.Run("stopped").Metrics["o/loss"]; len(got) != 1 || got[0].Timestamp != s.Run("stopped").Begun+2000 {
		t.Errorf("without TensorBoard's file: %v", got)
	}
	for _, name := range []string{rundir.Config, rundir.ReportFile, "figures/losses.png"} {
		want, err := os.ReadFile(filepath.Join(dir, "one", name))
		if got := s.Artifacts["1/"+one.ID+"/artifacts/"+name]; err != nil || got != string(want) {
			t.Errorf("%s has %d bytes, want %d; %v", name, len(got), len(want), err)
		}
	}
	if _, ok := s.Artifacts["1/"+one.ID+"/artifacts/"+rundir.CheckpointFile]; ok {
		t.Error("weights are an artifact")
	}
	before := s.Writes
	if sum := sent(t, s, dir); sum.Runs != 4 || sum.Changed != 0 || s.Writes != before {
		t.Errorf("the second call: %+v, %d changes", sum, s.Writes-before)
	}
}

// A running run sends new data. Edits by MLflow's users remain.
func TestSendAgain(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	r := begun(t, filepath.Join(dir, "one"))
	logged(t, r.Dir(), `{"step":1,"losses":{"o":{"loss":1}}}`+"\n")
	sent(t, s, dir)
	one := s.Run("one")
	one.Name, one.Tags["mlflow.runName"], one.Tags["mlflow.note.content"], one.Params["train.batch"] = "best", "best", "look", "31"
	logged(t, r.Dir(), `{"step":2,"losses":{"o":{"loss":0.5}}}`+"\n"+`{"step":2,"metrics":{"n":3}}`+"\n")
	must.OK(t, r.Close())
	if sum := sent(t, s, dir); sum.Changed != 1 || len(s.Runs) != 1 {
		t.Errorf("%+v, %d runs", sum, len(s.Runs))
	}
	if p := one.Metrics["o/loss"]; len(p) != 2 || p[1].Step != 2 || p[1].Value != 0.5 || one.Status != statusKilled ||
		len(one.Metrics["metrics/n"]) != 1 {
		t.Errorf("%+v", one)
	}
	if one.Name != "best" || one.Tags["mlflow.note.content"] != "look" || one.Params["train.batch"] != "31" ||
		one.Tags[noteTag] != "train.batch is now 32." {
		t.Errorf("%+v", one)
	}
	logged(t, r.Dir(), `{"step":3,"losses":{"o":{"loss":1}}}`+"\n")
	one.Deleted = true
	if sum := sent(t, s, dir); sum.Runs != 0 || len(s.Runs) != 1 || len(sum.Notes) != 1 ||
		!strings.Contains(sum.Notes[0], "deleted in MLflow") {
		t.Errorf("a deleted run: %+v", sum)
	}
	s.Experiments[one.Experiment].Deleted = true
	if sum := sent(t, s, dir); sum.Runs != 0 || len(s.Runs) != 1 || len(sum.Notes) != 1 ||
		!strings.Contains(sum.Notes[0], "deleted in MLflow") {
		t.Errorf("a deleted experiment: %+v", sum)
	}
}

// A call stopped at any request continues and sends nothing twice. A server that is briefly unavailable or loses
// answers changes nothing.
func TestInterrupted(t *testing.T) {
	dir, whole := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	for _, name := range []string{"one", "two"} {
		r := begun(t, filepath.Join(dir, name))
		logged(t, r.Dir(), `{"step":1,"losses":{"o":{"loss":1}}}`+"\n"+`{"step":2,"losses":{"o":{"loss":2}}}`+"\n")
		must.OK(t, r.Close())
	}
	sent(t, whole, dir)
	same := func(s *mlflowtest.Server) bool {
		return reflect.DeepEqual(s.Runs, whole.Runs) && reflect.DeepEqual(s.Artifacts, whole.Artifacts)
	}
	for at := range whole.Requests {
		s, n := mlflowtest.New(t), 0
		s.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			if n++; n > at {
				http.Error(w, "no", http.StatusNotImplemented)
			}
			return n > at
		}
		must.ErrorOf(send(t, Server{URL: s.URL}, dir))(t, "501 Not Implemented: no", at)
		s.Before = nil
		if sent(t, s, dir); !same(s) {
			t.Errorf("stopped at request %d, %s", at, whole.Requests[at])
		}
		before := s.Writes
		if sent(t, s, dir); s.Writes != before {
			t.Errorf("stopped at request %d: a third call changes something", at)
		}
	}
	s, n := mlflowtest.New(t), 0
	s.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		if n++; n%2 == 1 {
			w.WriteHeader([]int{503, 429, 500}[n/2%3])
		}
		return n%2 == 1
	}
	if sent(t, s, dir); !same(s) {
		t.Error("a server that is away now and then")
	}
	s, n = mlflowtest.New(t), 0
	s.After = func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/create") {
			n++
			return n%2 == 1
		}
		return false
	}
	if sent(t, s, dir); !same(s) || n < 3 {
		t.Errorf("lost answers: %d creations, %d runs", n, len(s.Runs))
	}
}

// Forbidden names and values are mapped, and requests respect MLflow's limits.
func TestHostile(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	name := "x\"\n[é\u0085] %41#?"
	if runtime.GOOS == "windows" {
		name = "x[é\u0085] %41#" // names of files have no other characters there
	}
	r := begun(t, filepath.Join(dir, name))
	var log strings.Builder
	for step := range 1100 {
		fmt.Fprintf(&log, `{"step":%d,"losses":{"o(1)":{"loss":1,"../%s":2}}}`+"\n", step, strings.Repeat("x", 300))
	}
	logged(t, r.Dir(), log.String())
	for _, figure := range []string{"50% [a].png", ".hidden.png"} {
		must.OK(t, r.Write("figures/"+figure, rundir.Bytes([]byte("x"))))
	}
	must.OK(t, r.Close())
	long := strings.Repeat("é", 7000)
	settings := map[string]string{"a:b": "1", "a_b": "2", "a/../b": "3", "..": "4", "A_B": "5", "": "6",
		long: "7", long + "x": "8", "long": long, "bad": "\xff\x00", "f.g": "", "end.": "9", "日本": "10"}
	for i := range 230 {
		settings[fmt.Sprintf("a%03d", i)] = "small"
		settings[fmt.Sprintf("z%03d", i)] = strings.Repeat("<", 1663) // 100 of them have slightly more than a megabyte
	}
	run := &index.Run{Dir: name, State: "stopped", Hash: "h", Settings: index.NewSettings(settings), Problem: long,
		Results: index.NewResults(map[string]float64{"m(1)": 1, "m[1]": 2, "../x": 3, "fit.": 4, "fit.a/b": 5})}
	must.Get(Send(t.Context(), Server{URL: s.URL}, dir, []*index.Run{run}))(t)
	got := s.Runs[0]
	for key, want := range map[string]string{"A_B": "5", "a_.._b": "3", "_.._": "4", "_": "6", "long": long[:2*5999] + "…",
		"bad": "\ufffd\ufffd", "f.g": "", "end._": "9", "日本": "10"} {
		if v, ok := got.Params[key]; !ok || v != want {
			t.Errorf("%q is %.20q, want %.20q", key, v, want)
		}
	}
	must.Equal(t, len(got.Params), run.Settings.Len(), "parameters")
	var values []float64
	for name, p := range got.Metrics {
		if strings.HasPrefix(name, "metrics/") || strings.HasPrefix(name, "fit/") {
			values = append(values, p[0].Value)
		}
	}
	if slices.Sort(values); !reflect.DeepEqual(values, []float64{1, 2, 3, 4, 5}) {
		t.Errorf("metrics %v", values)
	}
	if p := got.Metrics["o_1_/loss"]; len(p) != 1100 || len(got.Metrics) != 7 {
		t.Errorf("%d steps, %d metrics", len(p), len(got.Metrics))
	}
	if len(s.Artifacts) != 3 || s.Artifacts["1/"+got.ID+"/artifacts/figures/50% [a].png"] != "x" {
		t.Errorf("artifacts %v", slices.Sorted(maps.Keys(s.Artifacts)))
	}
	if note := got.Tags[noteTag]; !strings.Contains(note, "long") || !strings.Contains(note, "6000") {
		t.Errorf("note %q", note)
	}
}

// Errors name the server, the request and the answer. Redirects do not get the token, and messages do not contain it.
func TestRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs")
	r := begun(t, filepath.Join(dir, "one"))
	defer r.Close()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect is followed") }))
	defer other.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	s := mlflowtest.New(t)
	for _, test := range []struct {
		address string
		answer  func(w http.ResponseWriter)
		want    string
	}{
		{"mlruns", nil, "mlruns is no address; want the address of a tracking server, such as http://localhost:5000; Unravel no longer writes folders"},
		{"sqlite:///x.db", nil, "is no address"},
		{"http:///x", nil, "http:///x has no host"},
		{gone.URL, nil, gone.URL + ": GET experiments/get-by-name: dial tcp"},
		{s.URL, func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, "401 Unauthorized; want MLFLOW_TRACKING_USERNAME"},
		{s.URL, func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, s.URL + ": GET experiments/get-by-name: the server answers 503 Service Unavailable"},
		{s.URL, func(w http.ResponseWriter) { fmt.Fprint(w, "<html>\n Hello") }, "the answer is no JSON of MLflow (invalid character '<' looking for beginning of value): <html> Hello"},
		{s.URL, func(w http.ResponseWriter) { fmt.Fprint(w, "{}") }, "the answer has no experiment_id"},
		{s.URL, func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL+"/x")
			w.WriteHeader(http.StatusFound)
		}, "302 Found: redirects are not followed; want the address " + other.URL + "/x"},
		{s.URL, func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":"FEATURE_DISABLED","message":"not here"}`)
		}, "404 Not Found, FEATURE_DISABLED: not here"},
	} {
		s.Before = func(w http.ResponseWriter, _ *http.Request) bool {
			if test.answer != nil {
				test.answer(w)
			}
			return test.answer != nil
		}
		if _, err := send(t, Server{URL: test.address, Token: "secret"}, dir); err == nil ||
			!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", test.address, err, test.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Send(ctx, Server{URL: s.URL}, dir, []*index.Run{{Dir: "one", State: "running"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

// A user and a password take precedence over a token, also in an address, and do not appear in messages.
func TestCredentials(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	r := begun(t, filepath.Join(dir, "one"))
	defer r.Close()
	var got string
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		got = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	for _, test := range []struct {
		server Server
		want   string
	}{
		{Server{URL: s.URL}, ""},
		{Server{URL: s.URL, Token: "t"}, "Bearer t"},
		{Server{URL: s.URL, Token: "t", User: "u", Password: "secret"}, "Basic dTpzZWNyZXQ="},
		{Server{URL: strings.Replace(s.URL, "://", "://u:secret@", 1), Token: "t"}, "Basic dTpzZWNyZXQ="},
	} {
		if _, err := send(t, test.server, dir); err == nil || strings.Contains(err.Error(), "secret") || got != test.want {
			t.Errorf("%+v: %q, %v; want %q", test.server, got, err, test.want)
		}
	}
}

// Without an artifact proxy, the rest is sent. Unreadable files and rejected values do not stop other runs.
func TestOthersGoOn(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	s.ArtifactURI = "/mnt/artifacts"
	for _, name := range []string{"a", "b", "c", "d"} {
		r := begun(t, filepath.Join(dir, name))
		logged(t, r.Dir(), `{"step":1}`+"\n")
		must.OK(t, r.Close())
	}
	must.OK(t, os.Mkdir(filepath.Join(dir, "a", rundir.ReportFile), 0o777))
	creations := 0
	s.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "runs/create") {
			creations++
		}
		if creations == 1 {
			w.WriteHeader(http.StatusBadRequest)
			creations++
			return true
		}
		return false
	}
	sum, err := send(t, Server{URL: s.URL}, dir)
	must.Error(t, err, "a: ")
	must.Error(t, err, "report.html is a folder")
	must.Error(t, err, "b: ")
	if sum.Runs != 2 || len(s.Runs) != 2 || len(s.Artifacts) != 0 || len(sum.Notes) != 1 ||
		!strings.Contains(sum.Notes[0], "keeps them at /mnt/artifacts/1/") {
		t.Errorf("%+v, %d runs", sum, len(s.Runs))
	}
}

// Artifacts go only to the tracking server, also behind a path.
func TestArtifacts(t *testing.T) {
	dir, s := filepath.Join(t.TempDir(), "runs"), mlflowtest.New(t)
	r := begun(t, filepath.Join(dir, "one"))
	logged(t, r.Dir(), `{"step":1}`+"\n")
	must.OK(t, r.Close())
	behind := httptest.NewServer(http.StripPrefix("/a b", s))
	defer behind.Close()
	for uri, want := range map[string]int{"mlflow-artifacts:": 2, strings.Replace(behind.URL, "http", "mlflow-artifacts", 1): 2,
		"mlflow-artifacts://elsewhere:80": 0, "s3://bucket": 0, "file:": 0, "%": 0} {
		s.Runs, s.Artifacts, s.ArtifactURI = nil, map[string]string{}, uri
		sum, err := send(t, Server{URL: behind.URL + "/a%20b/"}, dir)
		if err != nil || len(s.Artifacts) != want || len(sum.Notes) != 1-want/2 {
			t.Errorf("%s: %d artifacts, %+v, %v", uri, len(s.Artifacts), sum, err)
		}
	}
}

// A metric that the end of a run measures again is sent once: MLflow would show the larger of two values of a step.
func TestMetricsOf(t *testing.T) {
	log := []rundir.Line{
		{Step: 5, Epoch: 1, Metrics: map[string]float64{"mig": 0.4}},
		{Step: 5, Epoch: 1, Metrics: map[string]float64{"mig": 0.2}},
	}
	if all := metricsOf(&index.Run{}, t.TempDir(), log, time.Unix(0, 0)); len(all) != 1 || all[0].Value != 0.2 {
		t.Errorf("%+v; want the value of the end", all)
	}
}
