package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// measureCommand is the first argument of the processes that go test starts instead of test binaries.
const measureCommand = "measure"

// measure runs a test binary, stops it at the limit, and stores its core time in a folder. The arguments are the
// folder, the limit, the binary and its arguments; the result is the exit status.
func measure(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, "testbudget measure: want a folder, a limit and a test binary")
		return 2
	}
	limit, err := time.ParseDuration(args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbudget measure:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[2], args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "testbudget measure:", err)
		return 2
	}
	if ctx.Err() == context.DeadlineExceeded {
		fmt.Printf("\ntestbudget: the package was stopped after its limit of %v; -limit sets another\n", limit)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	name := strings.TrimSuffix(filepath.Base(args[2]), ".test")
	f, err := os.CreateTemp(args[0], name+"-*")
	if err == nil {
		var dir string
		dir, err = os.Getwd() // folder of the package
		if err == nil {
			_, err = fmt.Fprintf(f, "%s\n%d\n", dir, cpu)
		}
		if closing := f.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testbudget measure:", err)
		return 2
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 1
	}
	return cmd.ProcessState.ExitCode()
}
