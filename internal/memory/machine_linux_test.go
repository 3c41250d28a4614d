package memory

import (
	"slices"
	"strings"
	"testing"
)

func TestLimitFiles(t *testing.T) {
	always := []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}
	for groups, want := range map[string][]string{
		"":                       nil,
		"0::/\n":                 nil,
		"0::/user.slice/job-7\n": {"/sys/fs/cgroup/user.slice/job-7/memory.max", "/sys/fs/cgroup/user.slice/memory.max"},
		"12:cpu,cpuacct:/a\n5:memory:/box/one\n0::/other\n": {"/sys/fs/cgroup/memory/box/one/memory.limit_in_bytes", "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "/sys/fs/cgroup/other/memory.max"},
		"0::/../../out\n":              {"/sys/fs/cgroup/out/memory.max"},
		"odd\n1:cpu:/a\n0::/b\n":       {"/sys/fs/cgroup/b/memory.max"},
		"nothing of the kind\n:\n::\n": nil,
	} {
		if got := limitFiles(groups); !slices.Equal(got, append(slices.Clone(always), want...)) {
			t.Errorf("%q: %v, want %v and %v", groups, got, always, want)
		}
	}
}

func FuzzLimitFiles(f *testing.F) {
	f.Add("0::/a/b\n5:memory:/c")
	f.Add("0::../..")
	f.Fuzz(func(t *testing.T, groups string) {
		for _, file := range limitFiles(groups) {
			if !strings.HasPrefix(file, "/sys/fs/cgroup/") {
				t.Errorf("%q: %s", groups, file)
			}
		}
	})
}
