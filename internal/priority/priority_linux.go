package priority

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lower lowers every thread: on Linux each thread has a priority, which new threads inherit from their parent.
func lower() {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
		return
	}
	for _, t := range threads {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, id, niceness)
		}
	}
}
