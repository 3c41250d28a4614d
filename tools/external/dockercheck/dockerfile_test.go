// Package dockercheck tests the Dockerfile with the parser and the linter of BuildKit.
package dockercheck

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// The image has the program and no shell, runs as an unprivileged user, and keeps runs and data in volumes.
func TestDockerfile(t *testing.T) {
	f, err := os.Open("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parsed, err := parser.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range parsed.Warnings {
		t.Errorf("%s %v", w.Short, w.Detail)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, description, url, message string,
		_ []parser.Range) {
		t.Errorf("%s: %s", rule, message)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("the image builds on %s, want scratch", last.BaseName)
	}
	user, entry, volumes := "", []string(nil), []string(nil)
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.EntrypointCommand:
			entry = c.CmdLine
		case *instructions.VolumeCommand:
			volumes = append(volumes, c.Volumes...)
		case *instructions.RunCommand:
			t.Errorf("%s: the image has no shell to run it", c)
		}
	}
	if !regexp.MustCompile(`^[1-9]\d+:[1-9]\d+$`).MatchString(user) {
		t.Errorf("the user is %q, want numbers above 0, because the image has no list of users", user)
	}
	if !slices.Equal(entry, []string{"unravel"}) || !slices.Equal(volumes, []string{"/unravel/runs", "/data"}) {
		t.Errorf("entry point %q, volumes %q", entry, volumes)
	}
}
