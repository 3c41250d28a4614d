//go:build unix

package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/leak"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
	. "github.com/unravel-ml/unravel/train/sweep"
)

// helperEnv makes the test binary a process of a sweep ("worker") or a sweep of a plan into a folder ("sweep").
const helperEnv = "UNRAVEL_TEST_SWEEP"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "worker":
		threads, err := strconv.Atoi(os.Args[2])
		if err == nil {
			err = Work(context.Background(), os.Args[1], threads, os.Stdin, os.Stdout, plain.Logger(os.Stderr))
		}
		exit(err)
	case "rehearse":
		threads, err := strconv.Atoi(os.Args[2])
		if err == nil {
			var text []byte
			text, err = WorkRehearsal(context.Background(), os.Args[1], threads, os.Args[3] == "true")
			os.Stdout.Write(text)
		}
		exit(err)
	case "crash":
		os.Stderr.WriteString("panic: something terrible\n")
		os.Exit(2)
	case "sweep":
		exit(sweepInto(os.Args[1], os.Args[2]))
	}
	os.Exit(leak.Main(m.Run))
}

func exit(err error) {
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}

// sweepInto trains the runs of a plan in separate processes, two at a time.
func sweepInto(file, dir string) error {
	p, err := Open(file)
	if err != nil {
		return err
	}
	os.Setenv(helperEnv, "worker")
	if p.Search.Value != nil {
		s, err := p.NewSearch()
		if err == nil {
			_, err = s.Execute(context.Background(), dir, Options{Jobs: 2, Start: Processes(os.Args[0])})
		}
		return err
	}
	planned, err := p.Runs()
	if err != nil {
		return err
	}
	outcomes, err := Execute(context.Background(), dir, planned, Options{Jobs: 2, Start: Processes(os.Args[0])})
	for _, o := range outcomes {
		err = errors.Join(err, o.Problem)
	}
	return err
}

// Runs of plans for kill tests.
const (
	fiveSeeds  = "seeds: [0, 1, 2, 3, 4]\n"
	fiveTrials = "search: {random: {metric: mig, runs: 5, space: {losses.1.kl.weight: {linear: [0, 4]}}}}\n"
)

// plan writes a plan with short runs.
func plan(t testing.TB, runs string) string {
	dir := t.TempDir()
	must.WriteAll(t, dir, map[string]string{"tiny.yaml": tiny, "plan.yaml": "base: tiny.yaml\n" + runs +
		"set: {train.epochs: 150, train.checkpoint: 0.02, metrics: [dlsbd, mig]}\n"})
	return filepath.Join(dir, "plan.yaml")
}

// program starts a sweep as a process.
func program(t testing.TB, file, dir string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, log := exec.Command(os.Args[0], file, dir), &bytes.Buffer{}
	cmd.Env, cmd.Stderr = append(os.Environ(), helperEnv+"=sweep"), log
	must.OK(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, log
}

// Sweeps killed at random moments, with or without their processes, end with the results of an undisturbed sweep.
// Finished runs are not trained again.
func TestKilled(t *testing.T) { testKilled(t, fiveSeeds, 0) }

// A killed search ends with the trials and results of an undisturbed search.
func TestSearchKilled(t *testing.T) {
	long.Only(t)
	testKilled(t, fiveTrials, 0)
}

// A killed sweep also ends with the undisturbed results on systems without locks.
func TestKilledWithoutLocks(t *testing.T) {
	t.Setenv("UNRAVEL_CLAIMS", "only")
	t.Setenv("UNRAVEL_CLAIMS_AFTER", "300ms")
	testKilled(t, fiveSeeds, 300*time.Millisecond) // waits for the claims of dead processes
}

func testKilled(t *testing.T, runs string, patience time.Duration) {
	t.Helper()
	long.NotShort(t)
	file, calm := plan(t, runs), t.TempDir()
	cmd, log := program(t, file, calm)
	begun := time.Now()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	takes := time.Since(begun)
	want := metricsOf(t, calm)
	if len(want) != 5 {
		t.Fatal(want)
	}
	random := rand.New(rand.NewPCG(7, 7))
	dir, ended := t.TempDir(), map[string]time.Time{}
	kills := 0
	for ; ; kills++ {
		cmd, log := program(t, file, dir)
		if kills > 30 {
			t.Fatal("it makes no progress")
		}
		// Each kill comes a little later, because a busy machine may be slower than during the undisturbed sweep.
		share := (0.05 + 0.4*random.Float64()) * (1 + float64(kills)/4)
		time.AfterFunc(time.Duration(kills)*patience/4+time.Duration(share*float64(takes)), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		err := cmd.Wait()
		entries, scanning := Scan(dir)
		if scanning != nil {
			t.Fatal(scanning)
		}
		for _, e := range entries {
			if e.State == Failed || e.State == Damaged {
				t.Fatalf("%s is %s: %v", e.Name, e.State, e.Problem)
			}
			if before, ok := ended[e.Name]; ok && (e.State != Finished || !e.Record.Ended.Equal(before)) {
				t.Errorf("%s was finished, and was made again", e.Name)
			}
			if e.State == Finished {
				ended[e.Name] = e.Record.Ended
			}
		}
		if err == nil {
			break
		}
		if log.Len() > 0 {
			t.Fatalf("%v: %s", err, log)
		}
	}
	t.Logf("%d kills", kills)
	if got := metricsOf(t, dir); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	for name := range want { // every epoch is in the log once
		text, err := os.ReadFile(filepath.Join(dir, name, "log.jsonl"))
		if n := strings.Count(string(text), `"losses"`); err != nil || n != 150 {
			t.Errorf("%s: %d epochs in the log, %v", name, n, err)
		}
	}
}

// A run whose process dies fails with the last output of the process.
func TestCrash(t *testing.T) {
	planned, dir := runsOf(t, "seeds: [0, 1]"), t.TempDir()
	t.Setenv(helperEnv, "crash")
	outcomes, err := Execute(context.Background(), dir, planned, Options{Start: Processes(os.Args[0])})
	if err != nil || outcomes[0].State != Failed || outcomes[1].State != Failed {
		t.Fatalf("%v, %+v", err, outcomes)
	}
	must.Equal(t, outcomes[0].Problem.Error(), "the process of the run: exit status 2; it said last: panic: something terrible")
	t.Setenv(helperEnv, "worker")
	if outcomes, err = Execute(context.Background(), dir, planned, Options{Start: Processes(os.Args[0]), Retry: true,
		Jobs: 2}); err != nil || outcomes[0].State != Finished || outcomes[1].State != Finished {
		t.Errorf("again: %v, %v", err, outcomes[0].Problem)
	}
	if threads := outcomes[0].Record.Machine.Threads; threads < 1 {
		t.Errorf("%d threads", threads)
	}
}

// A stopped sweep lets its runs save, and reports this.
func TestStopped(t *testing.T) {
	p := must.Get(Open(plan(t, fiveSeeds)))(t)
	planned := must.Get(p.Runs())(t)
	t.Setenv(helperEnv, "worker")
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	outcomes, err := Execute(ctx, dir, planned, Options{Start: Processes(os.Args[0]), Observe: func(s Status) {
		if s.Part > 0.05 {
			cancel()
		}
	}})
	if !errors.Is(err, train.ErrStopped) || len(outcomes) != 5 {
		t.Fatalf("%v, %d outcomes", err, len(outcomes))
	}
	for _, o := range outcomes {
		if o.State == Failed {
			t.Errorf("%s: %v", o.Run.Name, o.Problem)
		}
	}
}

// A process saves its run and ends if its parent has died. If another process holds the run, it reports this.
func TestWork(t *testing.T) {
	p := must.Get(Open(plan(t, fiveSeeds)))(t)
	planned := must.Get(p.Runs())(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Execute(ctx, dir, planned[:1], Options{}); err == nil { // it may stop before the folder exists
		t.Fatal("not stopped")
	}
	path := filepath.Join(dir, planned[0].Name)
	nothing := func(context.Context, string, int, func(int, int)) error {
		return errors.New("only the folder is wanted")
	}
	must.Get(Execute(context.Background(), dir, planned[:1], Options{Start: nothing, Retry: true}))(t)
	var out bytes.Buffer
	if err := Work(context.Background(), path, 1, strings.NewReader(""), &out, nil); err != nil ||
		!strings.HasSuffix(out.String(), `{"end":"stopped"}`+"\n") {
		t.Errorf("the starter has died: %v, %s", err, out.String())
	}
	held := must.Get(rundir.Open(path))(t)
	defer held.Close()
	t.Setenv(helperEnv, "worker")
	if err := Processes(os.Args[0])(context.Background(), path, 1, func(int, int) {}); !errors.Is(err, rundir.ErrLocked) {
		t.Errorf("a run that is held: %v", err)
	}
	if err := Processes(filepath.Join(dir, "none"))(context.Background(), path, 1, func(int, int) {}); err == nil {
		t.Error("a program that is not there")
	}
	if err := Processes(os.Args[0])(context.Background(), filepath.Join(dir, "none"), 1, func(int, int) {}); err == nil {
		t.Error("a folder that is not there")
	}
}

// A process rehearses a run. An invalid response and a crash are errors.
func TestRehearseProcesses(t *testing.T) {
	p := must.Get(Open(plan(t, fiveSeeds)))(t)
	planned := must.Get(p.Runs())(t)
	t.Setenv(helperEnv, "rehearse")
	rehearse := RehearseProcesses(os.Args[0])
	for _, alone := range []bool{false, true} {
		r, err := rehearse(t.Context(), planned[0].Config, 1, alone)
		if err != nil || !(r.Training > 0 && r.Begin > 0) || (r.Measure > 0) == alone {
			t.Errorf("alone %v: %+v, %v", alone, r, err)
		}
	}
	bad := planned[0].Config
	bad.Train.Batch = -1
	var mistake *config.Error
	if _, err := rehearse(t.Context(), bad, 1, false); !errors.As(err, &mistake) || mistake.Key != "train.batch" ||
		strings.Contains(err.Error(), "unravel-rehearsal") {
		t.Errorf("a bad config: %v", err)
	}
	t.Setenv(helperEnv, "crash")
	must.ErrorOf(rehearse(t.Context(), planned[0].Config, 1, false))(t, "something terrible")
}
