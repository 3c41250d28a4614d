package faults

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/unravel-ml/unravel/cli/internal/clitest"

	"golang.org/x/sys/unix"

	"github.com/unravel-ml/unravel/datasets/cache"
	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/tfevents"
	"github.com/unravel-ml/unravel/train/rundir"
)

// startedBy runs a command line as a process in a folder. It returns the outcome, and the number of calls that change
// files, by this process and its child processes. It kills all of them before call number kill; 0 kills none.
func startedBy(t testing.TB, dir string, kill int, args ...string) (o clitest.Outcome, calls int) {
	t.Helper()
	base := t.TempDir()
	var files [3]*os.File
	for i := range files {
		f := must.Get(os.Create(filepath.Join(base, fmt.Sprint(i))))(t)
		defer f.Close() // read by name
		files[i] = f
	}
	program := must.Get(os.Executable())(t)
	attr := &syscall.ProcAttr{Dir: dir,
		Env: append(os.Environ(), clitest.AsProgram+"=1", fmt.Sprint("GOMAXPROCS=", runtime.GOMAXPROCS(0))), Sys: &syscall.SysProcAttr{Ptrace: true}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	w := &watched{kill: kill, seen: map[int]bool{}}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // permanently, because the filter of the thread ends with it
		err := filterCalls()
		if err == nil {
			w.first, err = syscall.ForkExec(program, append([]string{program}, args...), attr)
		}
		if err == nil {
			err = w.follow()
		}
		done <- err
	}()
	must.OK(t, <-done)
	return clitest.Outcome{Code: w.code, Out: string(must.Read(t, files[1].Name())), Log: string(must.Read(t, files[2].Name()))}, w.calls
}

// watched holds processes with counted calls.
type watched struct {
	first, kill, calls int
	code               int // exit code of the first process; -1: killed
	seen               map[int]bool
}

// follow resumes the processes until all have ended.
func (w *watched) follow() error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		if !status.Stopped() {
			if delete(w.seen, pid); pid == w.first {
				w.code = status.ExitStatus() // -1 after a signal
			}
			continue
		}
		if err := w.resume(pid, status); err != nil && !errors.Is(err, unix.ESRCH) { // it was killed meanwhile
			return err
		}
	}
}

// resume continues a stopped thread.
func (w *watched) resume(pid int, status syscall.WaitStatus) error {
	new := !w.seen[pid]
	w.seen[pid] = true
	signal := int(status.StopSignal())
	switch cause := int(status >> 16); {
	case new && pid == w.first: // it has started
		signal = 0
		if err := syscall.PtraceSetOptions(pid, unix.PTRACE_O_TRACESECCOMP|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|
			unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_EXITKILL); err != nil {
			return err
		}
	case cause == unix.PTRACE_EVENT_SECCOMP:
		w.calls++
		signal = 0
	case cause != 0, new && signal == int(syscall.SIGSTOP):
		signal = 0
	}
	if w.kill > 0 && w.calls >= w.kill {
		for at := range w.seen {
			_ = syscall.Kill(at, syscall.SIGKILL) // it may have ended
		}
		return nil
	}
	return syscall.PtraceCont(pid, signal)
}

// filterCalls makes calls that change files stop for the tracer, in this thread and in its child processes. It leaves out
// fsync and fdatasync: other processes see the same files before and after them.
func filterCalls() error {
	const (
		number   = 0 // offsets in seccomp_data
		argument = 16
	)
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	stop, allow := unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_TRACE},
		unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{load(number)}
	for call, flags := range map[uint32]uint32{unix.SYS_OPENAT: 2, unix.SYS_OPEN: 1} { // flags of write access
		program = append(program, equal(call, 0, 4), load(argument+8*flags),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K,
				K: unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC, Jf: 1}, stop, allow)
	}
	for _, call := range []uint32{unix.SYS_WRITE, unix.SYS_PWRITE64} { // of files, not standard output
		program = append(program, equal(call, 0, 4), load(argument),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: 2, Jf: 1}, stop, allow)
	}
	for _, call := range []uint32{
		unix.SYS_WRITEV, unix.SYS_COPY_FILE_RANGE, unix.SYS_SENDFILE, unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE, unix.SYS_FALLOCATE,
		unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINK, unix.SYS_UNLINKAT,
		unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_MKDIRAT, unix.SYS_LINK, unix.SYS_LINKAT, unix.SYS_SYMLINK,
		unix.SYS_SYMLINKAT, unix.SYS_UTIMENSAT,
	} {
		program = append(program, equal(call, 0, 1), stop)
	}
	program = append(program, allow)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&list)), 0, 0)
}

// killedPhases are the command lines to kill at their calls, in folders prepared by other command lines.
var killedPhases = []struct {
	name    string
	prepare []string
	command string
	again   string // command after a kill; empty: the same command
	whole   string // its output after a kill past its last change
}{
	{name: "train", command: "train tiny.yaml --run run train.checkpoint=0.02", again: "train tiny.yaml --run run train.checkpoint=0.02 --resume"},
	{name: "figures", command: "train tiny.yaml --run run train.figures=true", again: "train tiny.yaml --run run train.figures=true --resume"},
	{name: "more epochs", prepare: []string{"train tiny.yaml train.epochs=1 --run run"}, command: "train --run run --resume train.epochs=2"},
	{name: "stage", command: "train stage.yaml --run run", again: "train stage.yaml --run run --resume"},
	{name: "import", prepare: []string{"train tiny.yaml --run from", "export --run from --out tiny.safetensors"},
		command: "import --from tiny.safetensors --run run", whole: "run: the folder already contains a run"},
	{name: "encode", prepare: []string{"train tiny.yaml --run run"}, command: "encode --run run"},
	{name: "report", prepare: []string{"train tiny.yaml --run run"}, command: "report --run run"},
	{name: "runs", prepare: []string{"train tiny.yaml --run a", "train tiny.yaml seed=2 --run b"}, command: "runs ."},
	{name: "sweep", command: "sweep sweep.yaml --out runs"},
	{name: "search", command: "sweep search.yaml --out runs"},
	{name: "rungs", prepare: []string{"sweep first.yaml --out runs"}, command: "sweep rungs.yaml --out runs"}, // the first trial continues
	{name: "table", command: "table own.yaml --scale quick --runs runs --out out"},
	{name: "contribute", prepare: []string{"table own.yaml --scale quick --runs runs"}, command: "table own.yaml --scale quick --runs runs --contribute mine.jsonl"},
	{name: "accept", prepare: []string{"table own.yaml --scale quick --runs runs", "table own.yaml --scale quick --runs runs --contribute mine.jsonl"},
		command: "table own.yaml --accept mine.jsonl"},
}

// killedFiles are the files of the phases.
var killedFiles = map[string]string{
	"tiny.yaml":   clitest.Tiny,
	"small.yaml":  clitest.SweepExperiment,
	"stage.yaml":  clitest.LearnedExperiment,
	"sweep.yaml":  "name: s\nbase: small.yaml\nseeds: [1, 2]\n",
	"search.yaml": "name: s\nbase: small.yaml\nset: {train.epochs: 1}\nsearch: {tpe: {metric: dlsbd, startup: 2, runs: 3, space: {losses.1.kl.weight: {linear: [0, 4]}}}}\n",
	"first.yaml":  "name: s\nbase: small.yaml\nsearch: {asha: {metric: dlsbd, seed: 1, eta: 2, max: 2, runs: 1, space: {losses.1.kl.weight: {linear: [0, 4]}}}}\n",
	"rungs.yaml":  "name: s\nbase: small.yaml\nsearch: {asha: {metric: dlsbd, seed: 1, eta: 2, max: 2, runs: 2, space: {losses.1.kl.weight: {linear: [0, 4]}}}}\n",
	"own.yaml":    twoRuns,
	"own.csv":     twoRunsReference,
}

// A command killed before any call that changes files leaves no wrong files. Repeating it ends with the bits of an
// uninterrupted command.
func TestKilledAtCalls(t *testing.T) {
	long.NotShort(t)
	t.Setenv(clitest.AsProgram, "1")
	t.Setenv(cache.RootVariable, must.MappedDir(t))
	for _, p := range long.Sample(killedPhases, 2) {
		t.Run(p.name, func(t *testing.T) {
			prepared, calm := t.TempDir(), t.TempDir()
			for name, text := range killedFiles {
				must.Write(t, filepath.Join(prepared, name), text)
			}
			p.again = cmp.Or(p.again, p.command)
			t.Chdir(prepared)
			for _, line := range p.prepare {
				clitest.OK(t, strings.Fields(line)...)
			}
			before := resultsHere(t)
			copyTo(t, calm)
			o, calls := startedBy(t, calm, 0, strings.Fields(p.command)...)
			if o.Code != 0 || calls < 3 {
				t.Fatal(calls, o)
			}
			t.Chdir(calm)
			results := resultsHere(t)
			want := madeFiles(t)
			first, last := 1, calls
			if !long.Enabled() {
				first, last = calls/2, calls/2
			}
			t.Logf("%d calls", calls)
			for kill := first; kill <= last; kill++ {
				dir := t.TempDir()
				t.Chdir(prepared)
				copyTo(t, dir)
				if o, _ := startedBy(t, dir, kill, strings.Fields(p.command)...); o.Code != -1 && o.Code != 0 { // another order of threads may have fewer calls
					t.Fatalf("call %d of %d: %v", kill, calls, o)
				}
				t.Chdir(dir)
				for name, r := range resultsHere(t) {
					if len(r) > 0 && !maps.Equal(r, results[name]) && !maps.Equal(r, before[name]) {
						t.Errorf("call %d of %d: results of %s are %v; want %v", kill, calls, name, r, results[name])
					}
				}
				if o := clitest.Run(t, strings.Fields(p.again)...); o.Code != 0 && (p.whole == "" || !strings.Contains(o.Log, p.whole)) {
					t.Fatalf("call %d of %d: %v", kill, calls, o)
				}
				if got := resultsHere(t); !maps.EqualFunc(got, results, maps.Equal[map[string]float64]) {
					t.Errorf("call %d of %d: results %v; want %v", kill, calls, got, results)
				}
				if got := madeFiles(t); !maps.Equal(got, want) {
					for name := range want {
						if got[name] != want[name] {
							t.Errorf("call %d of %d: %s differs", kill, calls, name)
						}
					}
					for name := range got {
						if _, ok := want[name]; !ok && !disk.IsTemporary(filepath.Base(name)) { // these disappear when the run is opened

							t.Errorf("call %d of %d: %s is left", kill, calls, name)
						}
					}
				}
			}
		})
	}
}

// ownBytes matches files that contain times, machines or paths.
var ownBytes = regexp.MustCompile(`(^|/)(run\.json|log\.jsonl|output\.txt|timings\.json|report\.html|runs\.index|checkpoint\.safetensors|state\.json|mine\.jsonl|\.lock)$`)

// madeFiles returns the files below the current folder: their content, or "there" for files that vary.
func madeFiles(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{}
	must.OK(t, filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || e.IsDir():
			return err
		case strings.HasPrefix(e.Name(), rundir.PreviousFile): // depends on time
		case ownBytes.MatchString(path):
			list[path] = "there"
		case strings.HasPrefix(e.Name(), tfevents.FilePrefix):
			list[filepath.Join(filepath.Dir(path), tfevents.FilePrefix)] = "there"
		default:
			list[path] = string(must.Read(t, path))
		}
		return nil
	}))
	return list
}

// resultsHere lists results of the finished runs below the current folder. Their files must be unchanged.
func resultsHere(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	var list []struct {
		Dir     string
		State   string
		Problem string
		Results map[string]float64
	}
	if o := clitest.OK(t, "runs", ".", "--json"); json.Unmarshal([]byte(o.Out), &list) != nil {
		t.Fatal(o)
	}
	found := map[string]map[string]float64{}
	for _, r := range list {
		if found[r.Dir] = r.Results; (r.State == "finished") != (len(r.Results) > 0) ||
			r.Problem != "" && !strings.Contains(r.Problem, "elsewhere") {
			t.Errorf("%+v", r)
		}
	}
	if len(list) > 0 {
		if o := clitest.Run(t, "check", "."); o.Code != 0 {
			t.Error(o)
		}
	}
	return found
}
