//go:build unix

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// gone returns a pipe without a reader.
func gone(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	must.OK(t, err)
	must.OK(t, r.Close())
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// A run continues if its text for people cannot be written.
func TestNobodyListens(t *testing.T) {
	long.NotShort(t)
	whole := reference(t, clitest.TinyFile(t))
	for name, stderr := range map[string]func(t *testing.T) *os.File{
		"a pipe that was closed": gone,
		"a full disk": func(t *testing.T) *os.File {
			f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { _ = f.Close() })
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			o := clitest.StartWith(t, func(c *exec.Cmd) { c.Stderr = stderr(t) }, "train", clitest.TinyFile(t), "--run", dir).End()
			if o.Code != 0 || !strings.Contains(o.Out, "dlsbd") {
				t.Fatal(o)
			}
			clitest.SameRun(t, name, dir, whole)
		})
	}
	// closed from the start
	dir := filepath.Join(t.TempDir(), "run")
	shell := exec.Command("sh", "-c", `exec "$0" "$@" 2>&-`, os.Args[0], "train", clitest.TinyFile(t), "--run", dir)
	shell.Env = append(os.Environ(), clitest.AsProgram+"=1")
	if out, err := shell.Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clitest.SameRun(t, "without standard error", dir, whole)
}

// Unwritable results are an error.
func TestResultsLost(t *testing.T) {
	long.NotShort(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	lines := []string{"list", "list losses", "list losses kl", "list configs quickstart", "data list",
		"table enriching-table3", "--help", "train --help"}
	if long.Enabled() {
		lines = append(lines, "table")
	}
	for _, args := range lines {
		o := clitest.StartWith(t, func(c *exec.Cmd) { c.Stdout = full }, strings.Fields(args)...).End()
		if o.Code != 1 || !strings.Contains(o.Log, "no space left on device") {
			t.Errorf("%s: %v", args, o)
		}
	}
	// a reader that has closed the pipe gets no message
	if o := clitest.StartWith(t, func(c *exec.Cmd) { c.Stdout = gone(t) }, "list").End(); o.Code != 1 || o.Log != "" {
		t.Error(o)
	}
}

// fifo makes a named pipe without a writer.
func fifo(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	return path
}

// A signal ends a program that waits for input.
func TestSignalWhileWaiting(t *testing.T) {
	long.NotShort(t)
	codes := filepath.Join(clitest.Finished(t), "codes.npy")
	labels := "supervision={labels: {file: " + fifo(t, "labels.csv") + "}}"
	for name, args := range map[string][]string{
		"a config":    {"train", fifo(t, "config.yaml")},
		"codes":       {"eval", "--codes", fifo(t, "codes.csv"), "--factors", codes},
		"a sweep":     {"sweep", fifo(t, "sweep.yaml")},
		"a hierarchy": {"eval", "--codes", codes, "--factors", codes, "--hierarchy", fifo(t, "h.json")},
		"labels":      {"train", clitest.TinyFile(t), "model={vae: {encoder: {mlp: {hidden: [8]}}}}", "losses=[{variance: {}}]", labels, "--run", filepath.Join(t.TempDir(), "run")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the processes wait
			for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
				o := signalled(t, 200*time.Millisecond, signal, name == "labels", args)
				// A starting process handles no signals yet, and is killed. On a busy machine, it starts slowly.
				for wait := 400 * time.Millisecond; o.Code == -1 && wait < time.Minute; wait *= 2 {
					o = signalled(t, wait, signal, name == "labels", args)
				}
				if o.Code != 130 || !strings.HasPrefix(o.Log, "unravel: stopped by a signal") || o.Out != "" {
					t.Errorf("%v: %v", signal, o)
				}
			}
		})
	}
}

// signalled starts a process and signals it after a delay, twice if its run may be saved.
func signalled(t *testing.T, wait time.Duration, signal os.Signal, twice bool, args []string) clitest.Outcome {
	t.Helper()
	p := clitest.Start(t, args...)
	time.Sleep(wait) // it waits soon; the test also works if not yet
	must.OK(t, p.Process.Signal(signal))
	if twice {
		time.Sleep(100 * time.Millisecond)
		_ = p.Process.Signal(signal) // it may have ended
	}
	return p.End()
}

// Escape sequences and formulas in the headers of foreign files do not reach terminals or spreadsheets.
func TestForeignHeaders(t *testing.T) {
	t.Chdir(t.TempDir())
	var codes, factors strings.Builder
	factors.WriteString("\"=cmd|'/c calc'!A0\",\"\x1b[31mred\u009b0m\"\n")
	for i := range 64 {
		fmt.Fprintf(&codes, "%d,%d\n", i%8, i/8)
		fmt.Fprintf(&factors, "%d,%d\n", i%8, i/8)
	}
	must.Write(t, "codes.csv", codes.String())
	must.Write(t, "factors.csv", factors.String())
	for _, args := range [][]string{{"--out", "found"}, {"--json"}, {"--metrics", "dlsbd", "--types", "ordinal"}} {
		o := clitest.Run(t, append([]string{"eval", "--codes", "codes.csv", "--factors", "factors.csv", "--metrics", "mig"}, args...)...)
		if text := o.Out + o.Log; strings.ContainsAny(text, "\x1b\u009b") || len(text) == 0 {
			t.Errorf("%q: %q", args, text)
		}
	}
	files, err := filepath.Glob("found/*.csv")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	named := 0
	for _, file := range files {
		text := string(must.Read(t, file))
		if strings.ContainsAny(text, "\x1b\u009b") || strings.HasPrefix(text, "=") || strings.Contains(text, ",=") ||
			strings.Contains(text, "\n=") || strings.Contains(text, "\"=") {
			t.Errorf("%s: %q", file, text)
		}
		named += strings.Count(text, "'=cmd")
	}
	if named == 0 {
		t.Error("no file names the factor")
	}
}
