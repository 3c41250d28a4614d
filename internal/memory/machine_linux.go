package memory

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine returns the least of the machine's memory, the limit of its control group, and the limit of
// the address space.
func machine() float64 {
	least := math.Inf(1)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		least = float64(info.Totalram) * float64(info.Unit)
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(path)
		if limit, wrong := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil && wrong == nil {
			least = min(least, limit)
		}
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil {
		least = min(least, float64(limit.Cur))
	}
	return least
}
