package serve

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// apart gives a process little priority, before it starts.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.BELOW_NORMAL_PRIORITY_CLASS}
}

// lower does nothing: see apart.
func lower(*exec.Cmd) {}
