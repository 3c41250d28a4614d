package memory

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine returns the minimum of the machine's memory, the limits of the control groups of this process, and the limit
// of the address space.
func machine() float64 {
	least := math.Inf(1)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		least = float64(info.Totalram) * float64(info.Unit)
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without it, only the root's files are used
	for _, file := range limitFiles(string(groups)) {
		text, err := os.ReadFile(file)
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

// limitFiles lists the files with the memory limits of the control groups, version 1 or 2, given a text such as
// /proc/self/cgroup. It includes the parent groups, because a limit applies to all groups inside.
func limitFiles(groups string) []string {
	const root, limit2, limit1 = "/sys/fs/cgroup", "memory.max", "memory/memory.limit_in_bytes"
	files := []string{path.Join(root, limit2), path.Join(root, limit1)}
	for line := range strings.Lines(groups) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		within, name := root, limit2
		switch {
		case parts[1] == "memory":
			within, name = path.Join(root, "memory"), path.Base(limit1)
		case parts[0] != "0" || parts[1] != "":
			continue
		}
		for group := path.Clean("/" + parts[2]); group != "/"; group = path.Dir(group) {
			files = append(files, path.Join(within, group, name))
		}
	}
	return files
}
