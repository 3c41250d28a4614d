//go:build unix

package serve

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// niceness is that of processes beside training: on a busy processor they get about a tenth of it.
const niceness = 10

// apart makes a process lead a group of its own, before it starts: the priority of a group is that of all its threads.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// lower gives a process that has started little priority. Where that fails it has what it had.
func lower(cmd *exec.Cmd) { _ = unix.Setpriority(unix.PRIO_PGRP, cmd.Process.Pid, niceness) }
