package runs_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/runs"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/mlflowtest"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Runs can be sent to MLflow repeatedly, and to TensorBoard's page of settings.
func TestRunsExport(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1]\n")
	clitest.OK(t, "sweep", file, "--out", dir)
	server := mlflowtest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request) bool {
		refused := r.Header.Get("Authorization") != "Bearer secret"
		if refused {
			w.WriteHeader(http.StatusUnauthorized)
		}
		return refused
	}
	clitest.Mistake(t, clitest.Run(t, "runs", dir, "--mlflow", server.URL), 1, server.URL, "401", "MLFLOW_TRACKING_TOKEN")
	t.Setenv("MLFLOW_TRACKING_TOKEN", "secret")
	for _, changed := range []string{"2", "0"} {
		o := clitest.OK(t, "runs", dir, "--mlflow", server.URL)
		must.Equal(t, o.Out, "on the server: 2 runs in 1 experiment, "+changed+" new or changed\n")
	}
	if len(server.Runs) != 2 || server.Runs[0].Status != "FINISHED" {
		t.Errorf("%v", server.Runs)
	}
	if o := clitest.OK(t, "runs", dir, "--mlflow", server.URL, "--filter", "seed=0"); !strings.HasPrefix(o.Out,
		"on the server: 1 run in 1 experiment, 0 ") {
		t.Errorf("%q", o.Out)
	}
	if o := clitest.OK(t, "runs", dir, "--tensorboard"); !strings.Contains(o.Out, " of 2 runs and 1 metric are in ") {
		t.Errorf("%q", o.Out)
	}
	f := must.Get(os.Open(filepath.Join(dir, runs.BoardFile)))(t)
	defer f.Close()
	r := tfevents.NewReader(f)
	must.Get(r.Next())(t)
	e, err := r.Next()
	if err != nil || e.Tag() != "_hparams_/experiment" {
		t.Fatal(e, err)
	}
	content := string(e.Values[0].Plugin.Content)
	at := []int{strings.Index(content, "\x04seed"), strings.Index(content, "train.batch"),
		strings.Index(content, "metrics/dlsbd"), strings.Index(content, "lower is better")}
	if slices.Min(at) < 0 || at[0] > at[1] {
		t.Errorf("no experiment with the seed first: %v in %q", at, content)
	}
	if strings.Contains(content, "fit.") {
		t.Error("what is no metric is compared")
	}
	clitest.Mistake(t, clitest.Run(t, "runs", dir, "--mlflow", server.URL, "--by", "seed"), 2, "--by prints groups")
	clitest.Mistake(t, clitest.Run(t, "runs", dir, "--mlflow", server.URL, "--json"), 2, "")
	clitest.Mistake(t, clitest.Run(t, "runs", dir, "--mlflow", "mlruns"), 2, "--mlflow: mlruns is no address",
		"such as http://localhost:5000", "from version 3.13 on")
}

// Without runs, nothing is written.
func TestRunsExportNothing(t *testing.T) {
	dir, server := t.TempDir(), mlflowtest.New(t)
	for _, flags := range [][]string{{"--tensorboard"}, {"--mlflow", server.URL}} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"runs", dir}, flags...)...), 1, "there is no run in "+dir)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("written: %v, %v", list, err)
	}
	run := clitest.Finished(t)
	parent := filepath.Dir(run)
	for _, flags := range [][]string{{"--tensorboard"}, {"--mlflow", server.URL}} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"runs", parent, "--filter", "seed=77"}, flags...)...),
			1, "there is no run in "+parent+" that passes the filters")
	}
	if ui.Exists(filepath.Join(parent, runs.BoardFile)) || len(server.Requests) > 0 {
		t.Error("without runs that pass a file is written")
	}
}

// Unfinished runs are running, waiting or stopped, like on the pages of serve. unfinished means all three. Even a
// narrow table has the column of states.
func TestRunStates(t *testing.T) {
	long.NotShort(t)
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1, 2, 3]\n")
	clitest.OK(t, "sweep", file, "--out", dir)
	runs, err := filepath.Glob(filepath.Join(dir, "*", "run.json"))
	if err != nil || len(runs) != 4 {
		t.Fatal(runs, err)
	}
	for i, path := range runs[1:] {
		must.OK(t, os.Remove(path))
		runs[i+1] = filepath.Dir(path)
	}
	must.OK(t, os.Remove(filepath.Join(runs[3], "log.jsonl")))
	held := must.Get(rundir.Open(runs[1]))(t)
	defer held.Close()
	for filter, want := range map[string]string{"state=finished": "0", "state=running": "1", "state=stopped": "2",
		"state=waiting": "3", "state=unfinished": "1 2 3", "state!=unfinished": "0", "state!=stopped": "0 1 3"} {
		var list []struct{ Settings map[string]string }
		must.OK(t, json.Unmarshal([]byte(clitest.OK(t, "runs", dir, "--json", "--filter", filter).Out), &list))
		var seeds []string
		for _, r := range list {
			seeds = append(seeds, r.Settings["seed"])
		}
		must.Equal(t, strings.Join(seeds, " "), want, filter, "runs")
	}
	server := mlflowtest.New(t)
	clitest.OK(t, "runs", dir, "--mlflow", server.URL)
	var states []string
	for _, r := range server.Runs {
		states = append(states, r.Status)
	}
	if slices.Sort(states); !slices.Equal(states, []string{"FINISHED", "KILLED", "RUNNING"}) {
		t.Errorf("in MLflow: %q", states)
	}
}

// Errors about damaged results name the file and the remedy.
func TestRunsDamaged(t *testing.T) {
	long.NotShort(t)
	for _, name := range []string{"metrics.json", "run.json"} {
		dir := clitest.Finished(t)
		clitest.OK(t, "runs", filepath.Dir(dir)) // stores them
		path := filepath.Join(dir, name)
		must.Write(t, path, "{bad")
		words := []string{path + ": the file is damaged (invalid character 'b'", "unravel train --resume --run " + dir + "` writes it again"}
		o := clitest.OK(t, "runs", filepath.Dir(dir))
		for _, want := range append(words, filepath.Base(dir)+" is damaged: ") {
			if !strings.Contains(o.Log, want) || !strings.Contains(o.Out, "damaged") {
				t.Errorf("no %q: %v", want, o)
			}
		}
		clitest.Mistake(t, clitest.Run(t, "report", "--run", dir), 1, words...)
		clitest.OK(t, "train", "--resume", "--run", dir)
		if o := clitest.OK(t, "runs", filepath.Dir(dir)); strings.Contains(o.Out+o.Log, "damaged") || !strings.Contains(o.Out, "finished") {
			t.Errorf("resumed: %v", o)
		}
	}
}
