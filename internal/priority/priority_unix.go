//go:build unix && !linux

package priority

import "golang.org/x/sys/unix"

func lower() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) }
