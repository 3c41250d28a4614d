//go:build unix

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli"
	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// logged waits until the run in a folder has logged a number of epochs.
func logged(p *clitest.Process, dir string, epochs int) bool {
	return p.Until(func() bool {
		// Until the process opens the log, it belongs to the previous process.
		text, err := os.ReadFile(filepath.Join(dir, "log.jsonl"))
		return err == nil && strings.Contains(p.Log.String(), "into ") && bytes.Count(text, []byte(`"images"`)) >= epochs
	})
}

// busy is the tiny experiment with 64 steps per epoch, evaluations, and a checkpoint every 5 ms, within epochs. It
// runs long enough for kills.
func busy(t testing.TB, epochs int) []string {
	return []string{clitest.TinyFile(t), "train.batch=4", fmt.Sprint("train.epochs=", epochs), "train.checkpoint=0.005", "metrics.every=40",
		"train.schedule=cosine", "train.clip=100"}
}

// kills returns the number of kills of a run: ten, or three in the default test. One kill comes during the start.
func kills() int {
	if long.Enabled() {
		return 10
	}
	return 3
}

// killed runs a command line repeatedly, and kills it at random moments of its epochs. Then it lets the run end. It
// returns the steps from which the runs continued.
func killed(t *testing.T, dir string, epochs int, args ...string) (steps []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 10)) // the same moments in every test run
	moments := make([]int, kills())
	for i := range moments {
		moments[i] = r.IntN(epochs / 2) // the rest of the run outlasts a busy test
	}
	slices.Sort(moments)
	args = append([]string{"train", "--resume", "--run", dir}, args...)
	for i, epoch := range moments {
		p := clitest.Start(t, args...)
		late := 25 * time.Millisecond // after the epoch
		if i%5 == 3 {                 // during the start
			late = 60 * time.Millisecond
		} else if !logged(p, dir, epoch) {
			t.Fatalf("kill %d: the run ended by itself: %v", i, p.End())
		}
		time.Sleep(time.Duration(r.Float64() * float64(late)))
		_ = p.Process.Kill() // it may have ended; see the exit code
		if o := p.End(); o.Code != -1 {
			t.Fatalf("kill %d after epoch %d: the run ended by itself: %v", i, epoch, o)
		}
		steps = append(steps, continued.FindString(p.Log.String()))
	}
	o := clitest.Start(t, args...).End()
	if o.Code != 0 {
		t.Fatalf("after all kills: %v", o)
	}
	return append(steps, continued.FindString(o.Log))
}

var continued = regexp.MustCompile(`after step \d+`)

// reference trains without interruption.
func reference(t *testing.T, args ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "whole")
	if o := clitest.Start(t, append([]string{"train", "--run", dir}, args...)...).End(); o.Code != 0 {
		t.Fatal(o)
	}
	return dir
}

// A run killed at ten random moments and continued each time ends like an uninterrupted run: equal parameters,
// optimisers, log and codes, bit for bit.
func TestKilled(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	epochs := 50 * kills()
	args := busy(t, epochs)
	whole, dir := reference(t, args...), filepath.Join(t.TempDir(), "run")
	steps := killed(t, dir, epochs, args...)
	t.Logf("continued %q", steps)
	clitest.SameRun(t, "after ten kills", dir, whole)
	checkEpochs(t, dir, epochs)
	within := 0
	for _, s := range steps {
		var step int
		if n, _ := fmt.Sscanf(s, "after step %d", &step); n == 1 && step%64 != 0 {
			within++
		}
	}
	if within < kills()/3 {
		t.Errorf("only %d of the runs continued from the middle of an epoch", within)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*tmp")); err != nil || len(left) > 0 {
		t.Errorf("files are left over: %v, %v", left, err)
	}
}

// checkEpochs wants every epoch in the log exactly once, in order.
func checkEpochs(t *testing.T, dir string, epochs int) {
	t.Helper()
	var want strings.Builder
	for e := range epochs {
		fmt.Fprintf(&want, "%d ", e+1)
	}
	var got strings.Builder
	for _, m := range regexp.MustCompile(`(?m)^\{"step":\d+,"epoch":(\d+),"images"`).FindAllStringSubmatch(clitest.LogOf(t, dir), -1) {
		got.WriteString(m[1] + " ")
	}
	must.Equal(t, got.String(), want.String(), "the log has the epochs")
}

// After a signal, a run saves, exits with 130, and later continues to the same result.
func TestSignals(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	const epochs = 300                                    // signals come in the first part
	args := append(busy(t, epochs), "train.checkpoint=0") // only when stopped
	whole := reference(t, args...)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // under nohup, tests would start processes that ignore the signal
	defer signal.Stop(hangups)
	for _, stop := range long.Sample([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, 1) {
		t.Run(stop.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			command := append([]string{"train", "--resume", "--run", dir, "--json"}, args...)
			for part := range 3 {
				p := clitest.Start(t, command...)
				if !logged(p, dir, 40*part) {
					t.Fatal(p.End())
				}
				if part == 1 {
					if _, err := rundir.Open(dir); !errors.Is(err, rundir.ErrLocked) {
						t.Errorf("the run can be opened while a process holds it: %v", err)
					}
					clitest.Mistake(t, clitest.Run(t, command...), 1, "another process holds the run")
				}
				must.OK(t, p.Process.Signal(stop))
				o := p.End()
				if o.Code != 130 || o.Out != "" ||
					!regexp.MustCompile(`\nsaved after step \d+ in \S+\nunravel: stopped by a signal; continue with --resume\n$`).MatchString(o.Log) {
					t.Fatalf("part %d: %v", part, o)
				}
				clitest.Tensors(t, dir) // there is a checkpoint
			}
			if o := clitest.Start(t, command...).End(); o.Code != 0 || !strings.HasPrefix(o.Out, "{") {
				t.Fatal(o)
			}
			clitest.SameRun(t, "after three stops", dir, whole)
			checkEpochs(t, dir, epochs)
		})
	}
}

// Commands other than train stop at once and leave no files.
func TestSignalWhileEncoding(t *testing.T) {
	dir := clitest.Finished(t)
	out := filepath.Join(t.TempDir(), "codes.npy")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var log bytes.Buffer
	if code := cli.Run(ctx, []string{"encode", "--run", dir, "--out", out}, io.Discard, &log); code != 130 ||
		log.String() != "unravel: stopped by a signal\n" {
		t.Errorf("exit code %d: %s", code, log.String())
	}
	if entries, err := os.ReadDir(filepath.Dir(out)); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// An invalid environment variable is a usage error before any work.
func TestClaimsVariables(t *testing.T) {
	for variable, wrong := range map[string]string{"UNRAVEL_CLAIMS": "sometimes", "UNRAVEL_CLAIMS_AFTER": "-1s"} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, wrong)
			clitest.Mistake(t, clitest.Start(t, "list").End(), 2, variable+"=\""+wrong+"\": want a")
		})
	}
}

// The same holds for the kernels.
func TestInstructionSet(t *testing.T) {
	t.Setenv("UNRAVEL_KERNEL", "sse2")
	clitest.Mistake(t, clitest.Start(t, "list").End(), 2, `UNRAVEL_KERNEL="sse2": want go, avx2 or avx512`)
}

// TestKilled with the quickstart: go test ./cli -run LongQuickstart -study -timeout 30m.
func TestLongQuickstart(t *testing.T) {
	long.Study(t)
	args := []string{"quickstart", "train.epochs=20", "train.checkpoint=0.5"}
	whole, dir := reference(t, args...), filepath.Join(t.TempDir(), "run")
	t.Logf("continued %q", killed(t, dir, 20, args...))
	clitest.SameRun(t, "after ten kills", dir, whole)
	checkEpochs(t, dir, 20)
}
