//go:build unix

package faults

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/mlflowtest"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// replaceFile replaces a file by an object of another kind.
func replaceFile(t *testing.T, path, kind string) {
	t.Helper()
	err := os.RemoveAll(path)
	if err == nil {
		switch kind {
		case "a pipe":
			err = syscall.Mkfifo(path, 0o600)
		case "a socket":
			err = socketAt(path)
		case "a folder":
			err = os.Mkdir(path, 0o700)
		case "bytes":
			if err = os.WriteFile(path, nil, 0o600); err == nil {
				err = os.Truncate(path, 1<<43)
			}
		}
	}
	if err != nil {
		t.Skip(kind, err)
	}
}

// socketAt makes a socket in a folder, even if the folder's path is too long for a socket.
func socketAt(path string) error {
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(short)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(short, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Rename(filepath.Join(short, "s"), path); err != nil {
		return err
	}
	return l.Close()
}

// A pipe, a socket, a folder or an empty file of 8 TB replaces a file of a run. No command hangs or crashes. Errors
// name the file and its kind.
func TestIrregularFiles(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	type place struct{ file, kind string }
	var places []place
	for _, file := range []string{rundir.Config, rundir.RecordFile, rundir.MetricsFile, rundir.FitFile, rundir.LogFile, rundir.CheckpointFile,
		rundir.StateFile, rundir.ReportFile, rundir.CodesFile, rundir.FactorsFile} {
		for _, kind := range []string{"a pipe", "a socket", "a folder", "bytes"} {
			places = append(places, place{file, kind})
		}
	}
	for _, p := range long.Sample(places, 8) {
		t.Run(p.file+" "+p.kind, func(t *testing.T) {
			bad := clitest.Finished(t)
			dir := filepath.Dir(bad)
			good := filepath.Join(dir, "good")
			must.OK(t, os.CopyFS(good, os.DirFS(bad)))
			replaceFile(t, filepath.Join(bad, p.file), p.kind)
			for _, args := range [][]string{
				{"runs", dir}, {"runs", dir, "--mlflow", mlflowtest.New(t).URL}, {"compare", bad, good}, {"report", "--run", bad, "--out", filepath.Join(t.TempDir(), "page.html")},
				{"eval", "--run", bad}, {"encode", "--run", bad, "--out", filepath.Join(t.TempDir(), "c.npy")}, {"preview", bad}, {"train", "--resume", "--run", bad},
			} {
				o := within(t, args...)
				switch {
				case strings.Contains(o.Log, "goroutine ") || strings.Contains(o.Log, "out of memory"):
					t.Fatalf("%q: %v", args, o)
				case args[0] == "runs" && len(args) == 2 && (o.Code != 0 || !strings.Contains(o.Out, "\ngood ")):
					t.Errorf("%q: the list does not go on: %v", args, o)
				case o.Code != 0 && (!strings.Contains(o.Log, p.file) || !strings.Contains(o.Log, p.kind) && !strings.Contains(o.Log, "too ")):
					t.Errorf("%q: %v", args, o)
				}
			}
		})
	}
}

// within runs a command that must end in time.
func within(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	done := make(chan clitest.Outcome, 1)
	go func() { done <- clitest.Run(t, args...) }()
	select {
	case o := <-done:
		return o
	case <-time.After(2 * time.Minute):
		t.Fatalf("%q does not end", args)
		return clitest.Outcome{}
	}
}

// Commands name a damaged run among several, and continue with the others.
func TestDamagedAmongOthers(t *testing.T) {
	bad := clitest.Finished(t)
	dir := filepath.Dir(bad)
	var good []string
	for _, name := range []string{"one", "two"} {
		good = append(good, filepath.Join(dir, name))
		must.OK(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(bad)))
	}
	must.Write(t, filepath.Join(bad, rundir.MetricsFile), "[{")
	o := clitest.Run(t, "compare", "--udr=none", good[0], bad, good[1])
	clitest.Mistake(t, clitest.Outcome{Code: o.Code, Log: o.Log}, 1, bad+": results of metrics: unexpected end of JSON input")
	if strings.Contains(o.Out, bad) || !strings.Contains(o.Out, good[0]) || !strings.Contains(o.Out, good[1]) ||
		!strings.Contains(o.Out, "dlsbd") {
		t.Error(o)
	}
	clitest.Mistake(t, clitest.Run(t, "compare", good[0], bad), 1, bad+": results of metrics: unexpected end of JSON input")
	if o := clitest.Run(t, "runs", dir); o.Code != 0 || !strings.Contains(o.Log, "run is damaged: ") || !strings.Contains(o.Out, "\ntwo ") {
		t.Error(o)
	}
	must.Write(t, filepath.Join(bad, rundir.MetricsFile), must.Read(t, filepath.Join(good[0], rundir.MetricsFile)))
	replaceFile(t, filepath.Join(bad, rundir.LogFile), "a pipe")
	o = clitest.Run(t, "runs", dir, "--mlflow", mlflowtest.New(t).URL)
	clitest.Mistake(t, clitest.Outcome{Code: o.Code, Log: o.Log}, 1, "unravel: run: ", rundir.LogFile+" is a pipe")
	if !strings.HasPrefix(o.Out, "on the server: 2 runs in 1 experiment, 2 new") {
		t.Error(o)
	}
}

// Endless files are errors and do not fill the memory.
func TestEndlessFiles(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	must.Write(t, "x.csv", "0,1,shape,same\n")
	if err := os.Truncate("x.csv", 100<<30); err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"train", clitest.TinyFile(t), "init={file: /dev/zero}"}, "init.file: /dev/zero is a device; want a file"},
		{1, []string{"import", clitest.TinyFile(t), "--from", "/dev/zero", "--run", "i"}, "/dev/zero is a device; want a file"},
		{1, []string{"import", clitest.TinyFile(t), "--from", "x.csv", "--run", "i"}, "x.csv: "},
		{1, []string{"eval", "--codes", "x.csv", "--factors", "x.csv"}, "x.csv: its text would take"},
		{1, []string{"table", "lsbd-vae-table9", "--accept", "x.csv"}, "x.csv"},
		{1, []string{"table", "lsbd-vae-table9", "--accept", "/dev/zero"}, "/dev/zero has more than 268435456 bytes"},
		{1, []string{"data", "fetch", "mpi3d", "--from", fifo(t, "pipe"), "--data", "d"}, "/pipe is a pipe; want a file"},
		{1, []string{"train", clitest.TinyFile(t), "dataset={grid: {path: " + fifo(t, "grid.npz") + "}}", "--run", "g"}, "/grid.npz is a pipe; want a file"},
		{1, []string{"train", clitest.TinyFile(t), "dataset={turntable: {path: " + fifo(t, "mesh.obj") + "}}", "--run", "g"}, "/mesh.obj is a pipe; want a file"},
		{1, []string{"data", "ask", "square", "--answers", "x.csv", "--out", "o"}, "x.csv has zero bytes"},
	} {
		o := within(t, test.args...)
		clitest.Mistake(t, o, test.code, test.want)
	}
}

// Child processes also accept a folder whose name begins like a flag.
func TestFolderLikeFlag(t *testing.T) {
	long.NotShort(t)
	config := clitest.TinyFile(t)
	t.Setenv(clitest.AsProgram, "1") // this program makes the runs of the sweep
	t.Chdir(t.TempDir())
	must.Write(t, "sweep.yaml", "name: s\nbase: "+config+"\nseeds: [1]\n")
	if o := clitest.Run(t, "sweep", "sweep.yaml", "--out=-x"); o.Code != 0 || !ui.Exists(filepath.Join("-x", "tiny", rundir.RecordFile)) {
		t.Error(o)
	}
}
