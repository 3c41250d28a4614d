package version

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestVersion(t *testing.T) {
	ours := func(version string) debug.Module { return debug.Module{Path: modulePath, Version: version} }
	theirs := debug.Module{Path: "example.com/program", Version: "v3.0.0"}
	git := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.modified", Value: "false"}}
	local := ours("v0.0.0")
	local.Replace = &debug.Module{Path: "../unravel"}
	fork := ours("v1.2.3")
	fork.Replace = &debug.Module{Path: "example.com/fork", Version: "v1.2.4"}
	dependency := ours("v1.2.3")
	for _, c := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: ours("v0.0.0-2026+dirty"), Settings: git}, "abc123"},
		{debug.BuildInfo{Main: ours("(devel)"), Settings: append(git[:2:2], debug.BuildSetting{Key: "vcs.modified", Value: "true"})}, "abc123+"},
		{debug.BuildInfo{Main: ours("v1.2.3")}, "v1.2.3"},
		{debug.BuildInfo{Main: ours("(devel)")}, ""},
		{debug.BuildInfo{Main: theirs, Settings: git, Deps: []*debug.Module{{Path: "x", Version: "v9.0.0"}, &dependency}}, "v1.2.3"},
		{debug.BuildInfo{Main: theirs, Settings: git, Deps: []*debug.Module{&local}}, ""},
		{debug.BuildInfo{Main: theirs, Deps: []*debug.Module{&fork}}, "v1.2.4"},
		{debug.BuildInfo{Main: theirs, Settings: git}, ""},
	} {
		must.Equal(t, versionOf(&c.info), c.want, c.info)
	}
	if v := Code(); !regexp.MustCompile(`^(devel-)?[0-9a-f]{12,40}\+?$`).MatchString(v) {
		t.Errorf("the version of this test is %q", v)
	}
}

// The hash needs only the start of a program with a build ID, and otherwise the whole program.
func TestHash(t *testing.T) {
	const id = "ZNDyKjYTVRmJvg8yzrWF/jWKVJ79KREAL7QVpApyj/T-z7N9ZIC9p8c5Lcp3e1"
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"Go\x00\x00" + id + "\x00" + long + "1", "Go\x00\x00" + id + "\x00" + long + "2", true},
		{long[:9] + `Go build ID: "` + id + `"` + long, `Go build ID: "` + id + `"`, true},
		{"Go\x00\x00" + id, "Go\x00\x00" + id[1:], false},
		{`Go build ID: "` + id + `"`, `Go build ID: "` + id[1:] + `"`, false},
		{`Go build ID: ""` + long + "1", `Go build ID: ""` + long + "2", false},
		{long, long[1:], false},
	} {
		a, b := hashOf(strings.NewReader(c.a)), hashOf(strings.NewReader(c.b))
		if (a == b) != c.same || len(a) != len("-123456789abc") {
			t.Errorf("%.50q of %d bytes: %s, %.50q of %d bytes: %s; want equal hashes: %t", c.a, len(c.a), a, c.b, len(c.b), b, c.same)
		}
	}
	program := must.Get(os.Executable())(t)
	content := must.Read(t, program)
	if !buildID.Match(content[:min(len(content), 64<<10)]) {
		t.Error("this test has no build ID in its first 64 KB")
	}
}

func TestRelease(t *testing.T) {
	for _, c := range []struct{ path, version, want string }{
		{modulePath, "v0.1.0", "v0.1.0"},
		{modulePath, "v1.2.3-rc.1", "v1.2.3-rc.1"},
		{modulePath, "v0.1.1-0.20261126120000-0123456789ab", ""},
		{modulePath, "v0.1.0+dirty", ""},
		{modulePath, "(devel)", ""},
		{"example.com/program", "v3.0.0", ""},
	} {
		info := debug.BuildInfo{Main: debug.Module{Path: c.path, Version: c.version}}
		must.Equal(t, releaseOf(&info), c.want, c.path, c.version)
	}
}
