package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
)

// snapshot commits the files of this working tree, including changes, to a temporary repository.
func snapshot(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	for name, value := range map[string]string{
		"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_AUTHOR_DATE": "2026-12-01T12:00:00Z",
		"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com", "GIT_COMMITTER_DATE": "2026-12-01T12:00:00Z",
	} {
		t.Setenv(name, value)
	}
	list, err := command(t.Context(), "../..", nil, "git", "ls-files", "-co", "--exclude-standard")
	if err != nil {
		t.Skipf("this is no repository: %v", err)
	}
	for name := range strings.Lines(list) {
		name = strings.TrimSpace(name)
		content, err := os.ReadFile(filepath.Join("../..", name))
		if os.IsNotExist(err) { // the file was deleted without a commit
			continue
		}
		must.OK(t, err)
		must.Write(t, filepath.Join(dir, name), content)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "a release"}} {
		must.Get(command(t.Context(), dir, nil, "git", args...))(t)
	}
	return dir
}

// Two builds have the same bytes, and the commands in README.md need only the archive.
func TestRelease(t *testing.T) {
	long.Only(t)
	tree, host := snapshot(t), runtime.GOOS+"/"+runtime.GOARCH
	var dirs []string
	for range 2 {
		dir := filepath.Join(t.TempDir(), "dist")
		r := release{version: "v0.1.0", out: dir, systems: []string{host}, root: tree}
		var log bytes.Buffer
		must.OK(t, r.make(t.Context(), &log))
		t.Log(log.String())
		dirs = append(dirs, dir)
	}
	entries, err := os.ReadDir(dirs[0])
	want := 11 + len((&release{systems: []string{host}}).variants())
	if err != nil || len(entries) != want {
		t.Errorf("%d files, want %d; %v", len(entries), want, err)
	}
	for _, e := range entries {
		one := must.Read(t, filepath.Join(dirs[0], e.Name()))
		two, err := os.ReadFile(filepath.Join(dirs[1], e.Name()))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: other bytes the second time, %v", e.Name(), err)
		}
	}
	if runtime.GOOS != "windows" {
		strangersTest(t, filepath.Join(dirs[0], "unravel-v0.1.0-"+fileName(host)+".tar.gz"))
	}
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// strangersTest unpacks an archive into an empty folder and runs the commands in its README.md. PATH has no other
// programs.
func strangersTest(t *testing.T, archive string) {
	home := t.TempDir()
	must.Get(command(t.Context(), home, nil, "tar", "xzf", archive))(t)
	found, err := filepath.Glob(filepath.Join(home, "*", "unravel"))
	if err != nil || len(found) != 1 {
		t.Fatalf("programs %q, %v", found, err)
	}
	folder := filepath.Dir(found[0])
	run := func(args ...string) (string, error) {
		c := exec.CommandContext(t.Context(), found[0], args...)
		c.Dir, c.Env = home, []string{"PATH=" + folder, "HOME=" + home, "TMPDIR=" + home}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	readme := must.Read(t, filepath.Join(folder, "README.md"))
	count := 0
	for _, block := range shellBlock.FindAllStringSubmatch(string(readme), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.Replace(line, "go run ./cmd/unravel", "unravel", 1) // as suggested on the page
			if words := strings.Fields(line); len(words) > 0 && words[0] == "unravel" {
				count++
				if out, err := run(words[1:]...); err != nil {
					t.Errorf("%s: %v\n%s", line, err, out)
				}
			}
		}
	}
	if count < 3 {
		t.Errorf("README.md has %d commands, want 3 or more", count)
	}
	if _, err := os.Stat(filepath.Join(home, "runs/quickstart/report.html")); err != nil {
		t.Error(err)
	}
	out, err := run("version", "--json")
	var version struct{ Release, Version string }
	if err := json.Unmarshal([]byte(out), &version); err != nil || version.Release != "v0.1.0" || len(version.Version) != 40 {
		t.Errorf("version: %s %v", out, err)
	}
	for _, name := range []string{"LICENSE", "NOTICE", "CHANGELOG.md", "unravel.1", "completion/unravel.bash",
		"completion/_unravel", "completion/unravel.fish"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, fmt.Sprint(err))
		}
	}
	if err != nil {
		t.Error(err)
	}
}
