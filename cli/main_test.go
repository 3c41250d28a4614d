package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/browser"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

// asProgram makes the test binary act as the program, for tests that need a process.
const asProgram = "UNRAVEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		Main()
	}
	debug.SetGCPercent(400) // each of more than a thousand command lines leaves a parser behind
	code := browser.Main(m)
	if finishedDir != "" {
		_ = os.RemoveAll(filepath.Dir(finishedDir)) // remaining files are harmless
	}
	os.Exit(code)
}

// tiny is an experiment of a few milliseconds: 16x16 pixels, 8 steps per epoch.
const tiny = `name: tiny
seed: 1
dataset: {square: {size: 16, side: 4}}
supervision: {pairs: {count: 32}}
model:
  lsbd-vae:
    encoder: {mlp: {hidden: [16]}}
    latent:
      - sphere: {dim: 1, log_t: [-10, -9]}
      - sphere: {dim: 1, log_t: [-10, -9]}
losses:
  - reconstruction: {likelihood: gaussian}
  - kl: {}
  - lsbd: {weight: 100}
train: {epochs: 3, batch: 32, figures: false}
metrics: [dlsbd]
`

// tinyFile writes the tiny experiment to a file.
func tinyFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tiny.yaml")
	writeFile(t, path, []byte(tiny))
	return path
}

func writeFile(t testing.TB, path string, content []byte) {
	t.Helper()
	must.Write(t, path, content)
}

func writeNPY[T npy.Element](t testing.TB, path string, shape []int, data []T) {
	t.Helper()
	must.WriteNPY(t, path, shape, data)
}

// outcome is the result of a command line.
type outcome struct {
	code     int
	out, log string
}

func (o outcome) String() string {
	return fmt.Sprintf("exit code %d\nstandard output:\n%s\nstandard error:\n%s", o.code, o.out, o.log)
}

// call runs a command line in this process.
func call(t testing.TB, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	code := Run(context.Background(), args, &out, &log)
	return outcome{code, out.String(), log.String()}
}

// succeed runs a command line that must succeed.
func succeed(t testing.TB, args ...string) outcome {
	t.Helper()
	o := call(t, args...)
	if o.code != 0 || strings.Contains(o.log, "unravel:") {
		t.Fatalf("unravel %s: %v", strings.Join(args, " "), o)
	}
	return o
}

// checkMistake wants one message on standard error, without a trace of a crash.
func checkMistake(t testing.TB, o outcome, code int, words ...string) {
	t.Helper()
	must.Equal(t, o.code, code, "exit code")
	lines := strings.Split(regexp.MustCompile(`\nSee unravel( [a-z]+)* --help\.\n$`).ReplaceAllString(o.log, ""), "\n")
	if strings.Count(o.log, "unravel: ") != 1 || len(lines) > 2 || !strings.HasPrefix(lines[0], "unravel: ") ||
		len(lines) == 2 && lines[1] != "" {
		t.Errorf("want one message and nothing else")
	}
	for _, w := range words {
		if !strings.Contains(o.log, w) {
			t.Errorf("the message lacks %q", w)
		}
	}
	must.Equal(t, o.out, "", "there is text on standard output")
	checkNoTrace(t, o)
	if t.Failed() {
		t.Log(o)
	}
}

func checkNoTrace(t testing.TB, o outcome) {
	t.Helper()
	for _, bad := range []string{"panic", "goroutine", ".go:", "internal error", "%!"} {
		if strings.Contains(o.log, bad) {
			t.Errorf("standard error has %q", bad)
		}
	}
}

// finished returns a run of the tiny experiment, from two sessions of 2 and 1 epochs with a checkpoint each. It trains
// once, and every test gets a copy.
func finished(t testing.TB) string {
	t.Helper()
	finishedOnce.Do(func() {
		dir := must.Get(os.MkdirTemp("", "unravel"))(t)
		config := filepath.Join(dir, "tiny.yaml")
		writeFile(t, config, []byte(tiny))
		finishedDir = filepath.Join(dir, "run")
		succeed(t, "train", config, "train.epochs=2", "--run", finishedDir)
		succeed(t, "train", config, "--resume", "--run", finishedDir)
	})
	dir := filepath.Join(t.TempDir(), "run")
	must.OK(t, os.CopyFS(dir, os.DirFS(finishedDir)))
	return dir
}

var (
	finishedOnce sync.Once
	finishedDir  string
)

// tensors returns the parameters and optimiser states of a run, bit for bit.
func tensors(t testing.TB, dir string) map[string]string {
	t.Helper()
	f := must.Get(safetensors.ReadFile(filepath.Join(dir, "checkpoint.safetensors")))(t)
	all := map[string]string{}
	for _, x := range f.Tensors {
		one := must.Get(safetensors.Encode(&safetensors.File{Tensors: []safetensors.Tensor{x}}))(t)
		all[x.Name] = string(one)
	}
	if len(all) < 10 {
		t.Fatalf("%s: a checkpoint of %d tensors", dir, len(all))
	}
	return all
}

// sameRun wants two runs with equal ends: parameters, optimisers, logs, codes and metrics.
func sameRun(t testing.TB, what, got, want string) {
	t.Helper()
	had, wanted := tensors(t, got), tensors(t, want)
	must.Equal(t, len(had), len(wanted), what, "tensors")
	for name := range wanted {
		if had[name] != wanted[name] {
			t.Errorf("%s: tensor %s differs", what, name)
		}
	}
	for _, name := range []string{"codes.npy", "factors.npy", "metrics.json"} {
		if !bytes.Equal(must.Read(t, filepath.Join(got, name)), must.Read(t, filepath.Join(want, name))) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	a, b := strings.Lines(logOf(t, got)), strings.Lines(logOf(t, want))
	if x, y := slices.Collect(a), slices.Collect(b); !slices.Equal(x, y) {
		i := 0
		for i < min(len(x), len(y)) && x[i] == y[i] {
			i++
		}
		t.Errorf("%s: the log has %d lines, want %d; from line %d on it is\n%s\nwant\n%s", what, len(x), len(y), i+1,
			strings.Join(x[i:min(i+3, len(x))], ""), strings.Join(y[i:min(i+3, len(y))], ""))
	}
}

var secondsInLog = regexp.MustCompile(`"seconds":[^,]*,`)

// logOf returns a run's log without times.
func logOf(t testing.TB, dir string) string {
	t.Helper()
	return secondsInLog.ReplaceAllString(string(must.Read(t, filepath.Join(dir, "log.jsonl"))), "")
}
