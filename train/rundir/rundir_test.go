package rundir

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/must"
)

// text returns a function that writes a string.
func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// newRun makes a run with a config.
func newRun(t *testing.T) *Run {
	t.Helper()
	r := must.Get(Create(filepath.Join(t.TempDir(), "runs", "a")))(t)
	t.Cleanup(func() { r.Close() })
	must.OK(t, r.Write(Config, text("name: a\n")))
	return r
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	entries := must.Get(os.ReadDir(dir))(t)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestLife(t *testing.T) {
	r := newRun(t)
	dir := r.Dir()
	must.OK(t, r.Write("figures/loss.png", text("picture")))
	if !r.Has("figures/loss.png") || r.Has("x") {
		t.Error("Has is wrong")
	}
	if _, err := Create(dir); !errors.Is(err, ErrExists) {
		t.Errorf("Create again: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrLocked) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%s: another process holds the run (process %d)", dir, os.Getpid())) {
		t.Errorf("Open twice: %v", err)
	}
	view := must.Get(View(dir))(t)
	if got, err := view.Read(Config); err != nil || string(got) != "name: a\n" {
		t.Errorf("view: %q, %v", got, err)
	}
	must.Error(t, view.Write("x", text("")), "not open for writing")
	must.OK(t, errors.Join(view.Close(), r.Close(), r.Close()))
	if err := r.Write("x", text("")); err == nil {
		t.Error("written after Close")
	}
	again := must.Get(Open(dir))(t)
	if err := errors.Join(again.Write("x", text("y")), again.Close()); err != nil {
		t.Error(err)
	}
	wantNames(t, dir, ".lock", Config, "figures", "x")
}

func TestCreateAndOpenErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must.Write(t, file, "")
	for _, test := range []struct {
		err  error
		is   error
		want string
	}{
		{second(Create(dir)), nil, dir + ": the folder is not empty (it contains file) and is not a run; choose another folder"},
		{second(Create(file)), nil, file},
		{second(Create(filepath.Join(file, "x"))), nil, file},
		{second(Open(filepath.Join(dir, "missing"))), ErrNoRun, "the folder does not exist"},
		{second(Open(dir)), ErrNoRun, "the folder has no config.yaml"},
		{second(Open(file)), ErrNoRun, "it is not a folder"},
		{second(View(dir)), ErrNoRun, dir + ": no run there"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) || test.is != nil && !errors.Is(test.err, test.is) {
			t.Errorf("got %v, want %s", test.err, test.want)
		}
	}
	wantNames(t, dir, "file") // no lock remains
}

func second[T any](_ T, err error) error { return err }

// A run killed before it had a config can begin again.
func TestCreateAfterKill(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{lockName, ".config.yaml" + disk.TemporarySuffix} {
		must.Write(t, filepath.Join(dir, name), "x")
	}
	r := must.Get(Create(dir))(t)
	defer r.Close()
	wantNames(t, dir, ".lock")
}

func TestNames(t *testing.T) {
	r := newRun(t)
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../../x", lockName} {
		must.Error(t, r.Write(name, text("x")), "not the name of a file inside the run's folder", name)
		if _, err := r.ResumeLog(name, 0); err == nil {
			t.Errorf("log %q: no error", name)
		}
	}
}

func TestPrevious(t *testing.T) {
	r := newRun(t)
	for i := range 3 {
		must.OK(t, r.WriteLast("state.json", 2, text(fmt.Sprint(i))))
		wantFile(t, r.Path("state.json"), fmt.Sprint(i))
		if i > 0 {
			wantFile(t, r.Path("state.json.prev"), fmt.Sprint(i-1))
		}
	}
	wantNames(t, r.Dir(), ".lock", Config, "state.json", "state.json.prev")
	must.OK(t, r.RestoreVersion("state.json", 1))
	wantFile(t, r.Path("state.json"), "1")
	if err := r.RestoreVersion("state.json", 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing to restore: %v", err)
	}
}

// The requested number of versions remains, and each can be restored.
func TestWriteLast(t *testing.T) {
	r := newRun(t)
	write := func(last, version int) {
		t.Helper()
		must.OK(t, r.WriteLast("a", last, text(fmt.Sprint(version))))
	}
	for i := range 6 {
		write(4, i)
	}
	for i := range 4 {
		wantFile(t, r.Path(Version("a", i)), fmt.Sprint(5-i))
	}
	wantNames(t, r.Dir(), ".lock", "a", "a.prev", "a.prev2", "a.prev3", Config)
	write(2, 6)
	wantFile(t, r.Path("a.prev"), "5")
	wantNames(t, r.Dir(), ".lock", "a", "a.prev", Config)
	write(3, 7)
	must.OK(t, r.RestoreVersion("a", 2))
	wantFile(t, r.Path("a"), "5")
	write(1, 8)
	wantNames(t, r.Dir(), ".lock", "a", Config)
}

// After any failure the old versions remain, without other files.
func TestWriteFails(t *testing.T) {
	r := newRun(t)
	for _, s := range []string{"old", "new"} {
		must.OK(t, r.WriteLast("state.json", 2, text(s)))
	}
	full := func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	for _, write := range []func() error{func() error { return r.Write("state.json", full) },
		func() error { return r.WriteLast("state.json", 2, full) }} {
		err := write()
		if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "writing "+r.Path("state.json")+": ") {
			t.Errorf("got %v", err)
		}
		wantFile(t, r.Path("state.json"), "new")
		wantFile(t, r.Path("state.json.prev"), "old")
		wantNames(t, r.Dir(), ".lock", Config, "state.json", "state.json.prev")
	}
	must.OK(t, os.Mkdir(r.Path("folder"), 0o777))
	must.Error(t, r.Write("folder", text("x")), r.Path("folder"))
	if err := r.Write("state.json/x", text("x")); err == nil {
		t.Error("below a file: no error")
	}
	if err := disk.WriteFile(filepath.Join(t.TempDir(), "no", "x"), text("x"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
}

// Opening a run removes the temporary files of a killed process.
func TestOpenCleans(t *testing.T) {
	r := newRun(t)
	must.OK(t, errors.Join(r.Write("figures/a", text("x")), r.Close()))
	for _, name := range []string{".state.json" + disk.TemporarySuffix, "figures/.b" + disk.TemporarySuffix} {
		must.Write(t, r.Path(name), "half")
	}
	again := must.Get(Open(r.Dir()))(t)
	defer again.Close()
	wantNames(t, r.Dir(), ".lock", Config, "figures")
	wantNames(t, r.Path("figures"), "a")
}

const helperEnv = "UNRAVEL_TEST_HOLD"

// TestMain holds a run until it is killed, for TestKilled.
func TestMain(m *testing.M) {
	dir := os.Getenv(helperEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	r, err := Open(dir)
	fmt.Println(err)
	for {
		if err := r.WriteLast("state.json", 2, text(strings.Repeat("complete ", 1000))); err != nil {
			fmt.Println(err)
		}
	}
}

// A killed process releases the run and leaves complete files.
func TestKilled(t *testing.T) {
	r := newRun(t)
	must.OK(t, errors.Join(r.WriteLast("state.json", 2, text("first")), r.Close()))
	for range 3 {
		holder := exec.Command(os.Args[0])
		holder.Env = append(os.Environ(), helperEnv+"="+r.Dir())
		out, err := holder.StdoutPipe()
		if err == nil {
			err = holder.Start()
		}
		must.OK(t, err)
		must.Equal(t, must.Get(bufio.NewReader(out).ReadString('\n'))(t), "<nil>\n", "the other process")
		if _, err := Open(r.Dir()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(holder.Process.Pid)) {
			t.Errorf("held by another process: %v", err)
		}
		must.OK(t, holder.Process.Kill())
		if err := holder.Wait(); err == nil {
			t.Error("the other process was not killed")
		}
		again := must.Get(Open(r.Dir()))(t)
		state, err := again.Read("state.json")
		if err != nil || len(state) != 9000 && string(state) != "first" {
			t.Errorf("%d bytes, %v", len(state), err)
		}
		must.OK(t, again.Close())
	}
}

func TestRemove(t *testing.T) {
	r := newRun(t)
	must.OK(t, r.Write("a", text("x")))
	for range 2 { // a missing file is no error
		if err := r.Remove("a"); err != nil || r.Has("a") {
			t.Errorf("%v", err)
		}
	}
	if err := r.Remove("../a"); err == nil {
		t.Error("a file outside was removed")
	}
	view := must.Get(View(r.Dir()))(t)
	if err := view.Remove(Config); err == nil || !r.Has(Config) {
		t.Errorf("removed through a view: %v", err)
	}
}

// One caller at a time locks a folder, and a waiting caller is next.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	unlock := must.Get(Lock(t.Context(), dir))(t)
	short, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	if _, err := Lock(short, dir); !errors.Is(err, ErrLocked) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("locked twice: %v", err)
	}
	time.AfterFunc(40*time.Millisecond, func() {
		if err := unlock(); err != nil {
			t.Error(err)
		}
	})
	again := must.Get(Lock(t.Context(), dir))(t)
	if err := again(); err != nil {
		t.Error(err)
	}
	file := must.Write(t, filepath.Join(t.TempDir(), "file"), "")
	if _, err := Lock(t.Context(), file); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a file: %v", err)
	}
}

// A file removed during writing means that the folder is being deleted, even if it still exists.
func TestEmptiedWhileWriting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r, err := Create(dir)
	must.OK(t, err)
	defer r.Close()
	var kept error // Windows keeps open files
	err = r.Write("state.json", func(io.Writer) error {
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), "unravel-tmp") {
				kept = errors.Join(kept, os.Remove(filepath.Join(dir, e.Name())))
			}
		}
		return err
	})
	if kept != nil {
		t.Skip(kept)
	}
	if !errors.Is(err, errMoved) {
		t.Errorf("error %v", err)
	}
	if err := r.Write("state.json", func(io.Writer) error { return fs.ErrNotExist }); err == nil || errors.Is(err, errMoved) {
		t.Errorf("an error of who writes is %v", err)
	}
}
