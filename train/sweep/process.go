package sweep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/plain"
	"github.com/unravel-ml/unravel/train"
	"github.com/unravel-ml/unravel/train/rundir"
)

// OutputFile holds the messages of a run's process, in the run's folder.
const OutputFile = "output.txt"

// message is a line from a process that trains a run to the process that started it.
type message struct {
	Done  int    `json:"done,omitempty"`
	All   int    `json:"all,omitempty"`
	End   string `json:"end,omitempty"` // how the run ended
	Error string `json:"error,omitempty"`
}

// outcomeNames are the errors of runs that did not fail, by their names in messages.
var outcomeNames = map[string]error{"finished": nil, "stopped": train.ErrStopped, "locked": rundir.ErrLocked}

const endFailed = "failed"

const saveWait = time.Minute // maximum time for a process to save after a request to stop

// Processes returns a Starter that trains each run in a separate process: a crash then affects only one run. It starts
// the program with args, the run's folder and the number of threads. The program must call [Work]. A program that
// registers its own parts should start itself (os.Executable): the process then knows these parts.
func Processes(program string, args ...string) Starter {
	return func(ctx context.Context, dir string, threads int, report func(done, all int)) error {
		output, err := disk.OpenFile(filepath.Join(dir, OutputFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY)
		if err != nil {
			return err
		}
		defer output.Close()
		last := &outputTail{}
		cmd := exec.CommandContext(ctx, program,
			append(args[:len(args):len(args)], disk.Argument(dir), strconv.Itoa(threads))...)
		// This also limits the threads of Go's garbage collector.
		cmd.Env = append(cmd.Environ(), fmt.Sprint("GOMAXPROCS=", max(1, threads)))
		cmd.Stderr = io.MultiWriter(plain.NewLog(output), last) // a full disk does not close the pipe
		cmd.Cancel, cmd.WaitDelay = func() error { return interrupt(cmd.Process) }, saveWait
		// The process's end of this pipe closes when this process ends, even after a crash.
		if _, err := cmd.StdinPipe(); err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		end, listening := listen(out, report)
		return runError(end, errors.Join(listening, cmd.Wait()), last)
	}
}

// listen reads the messages of a process until the process closes its output.
func listen(out io.Reader, report func(done, all int)) (end message, err error) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return end, fmt.Errorf("a line that is no message: %q", lines.Text())
		}
		if m.End != "" {
			end = m
		} else {
			report(m.Done, m.All)
		}
	}
	return end, lines.Err()
}

func runError(end message, err error, last *outputTail) error {
	if known, ok := outcomeNames[end.End]; ok {
		return known
	}
	if end.End == endFailed {
		return errors.New(end.Error)
	}
	if err == nil {
		err = errors.New("it ended without a result or an error")
	}
	return fmt.Errorf("the process of the run: %w%s", err, last)
}

type outputTail struct{ text []byte } // keeps the last part of a text

const tailSize = 2000

func (t *outputTail) Write(p []byte) (int, error) {
	if t.text = append(t.text, p...); len(t.text) > tailSize {
		t.text = bytes.Clone(t.text[len(t.text)-tailSize:])
	}
	return len(p), nil
}

func (t *outputTail) String() string {
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return "; it said last: " + text
	}
	return ""
}

const reportEvery = 500 * time.Millisecond // time between two messages about steps

// Work trains the run in a folder, in a process started by [Processes]. in and out are the standard input and output;
// log receives the events of the run. When in ends because the starter died, Work saves the run and returns. The
// goroutine that reads in ends with in.
func Work(ctx context.Context, dir string, threads int, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // until the starter closes in or dies
		cancel()
	}()
	lines := json.NewEncoder(out)
	var said time.Time
	err := resume(ctx, dir, threads, train.Options{Log: log, Progress: func(done, all int) {
		if now := time.Now(); now.Sub(said) >= reportEvery {
			said = now
			_ = lines.Encode(message{Done: done, All: all}) // the goroutine above notices a dead starter
		}
	}})
	end := message{End: endFailed}
	for name, known := range outcomeNames {
		if errors.Is(err, known) {
			end.End = name
		}
	}
	if end.End == endFailed {
		end.Error = err.Error()
	}
	if saying := lines.Encode(end); saying != nil {
		return errors.Join(err, saying)
	}
	return nil
}
