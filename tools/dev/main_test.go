package main

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestPlan(t *testing.T) {
	for line, want := range map[string][]string{
		"test":                        {"go test ./..."},
		"test ./losses -long":         {"go test ./losses -long"},
		"bench ./graph/machine":       {"go test -run ^$ -bench . ./graph/machine"},
		"ci":                          {".ci/run"},
		"ci quick":                    {".ci/run quick"},
		"docs -run TestDocs/start.md": {"go run ./cmd/unravel docs --reference docs/reference", "go test ./cli/pages -run TestDocs/start.md", "go test ./cli -run TestSite"},
		"lint ./losses":               {"gofmt -l .", "go vet ./losses", "go tool -modfile=tools/external/go.mod staticcheck ./losses", "go tool -modfile=tools/external/go.mod actionlint", "go run ./tools/prose -check"},
	} {
		words := strings.Fields(line)
		must.EqualSlices(t, must.Get(plan(words[0], words[1:]))(t), want, line)
	}
	for _, name := range []string{"", "tests"} {
		if _, err := plan(name, nil); err == nil {
			t.Errorf("%q is no error", name)
		}
	}
}

func TestRun(t *testing.T) {
	if _, err := exec.LookPath("gofmt"); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	must.Write(t, "a.go", "package a\n")
	var out bytes.Buffer
	if err := run(t.Context(), &out, "gofmt -l ."); err != nil || out.String() != "$ gofmt -l .\n" {
		t.Errorf("a formatted file: %q, %v", &out, err)
	}
	must.Write(t, "b.go", "package  a\n")
	if err := run(t.Context(), &out, "gofmt -l ."); err == nil || !strings.HasSuffix(out.String(), "\nb.go\n") {
		t.Errorf("an unformatted file: %q, %v", &out, err)
	}
}
