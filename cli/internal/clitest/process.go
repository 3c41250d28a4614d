package clitest

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/must"
)

// Process is a running process of the program.
type Process struct {
	*exec.Cmd
	Out  bytes.Buffer
	Log  Heard
	Done chan struct{} // closed when it has ended
}

// Start runs a command line in a new process.
func Start(t testing.TB, args ...string) *Process {
	t.Helper()
	return StartWith(t, func(*exec.Cmd) {}, args...)
}

// StartWith is [Start], with a change to the process.
func StartWith(t testing.TB, change func(*exec.Cmd), args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(os.Args[0], args...), Done: make(chan struct{})}
	p.Env = append(os.Environ(), AsProgram+"=1")
	p.Stdout, p.Stderr = &p.Out, &p.Log
	change(p.Cmd)
	must.OK(t, p.Start())
	go func() {
		_ = p.Wait() // the exit code reports the error
		close(p.Done)
	}()
	t.Cleanup(func() { // if the test ends early
		_ = p.Process.Kill()
		<-p.Done
	})
	return p
}

// Until waits until a condition holds, or returns false if the process ends first.
func (p *Process) Until(holds func() bool) bool {
	for !holds() {
		select {
		case <-p.Done:
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// End waits for the process and returns its outcome. Code -1 means killed.
func (p *Process) End() Outcome {
	<-p.Done
	return Outcome{p.ProcessState.ExitCode(), p.Out.String(), p.Log.String()}
}
