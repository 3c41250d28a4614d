package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// goPackage is a package as described by go list.
type goPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string
	TestImports  []string
	XTestImports []string
	TestGoFiles  []string
	XTestGoFiles []string
}

// longPackage is a package that test files import if they accept -long.
const longPackage = "github.com/unravel-ml/unravel/internal/long"

func (p *goPackage) takesLong() bool {
	return slices.Contains(p.TestImports, longPackage) || slices.Contains(p.XTestImports, longPackage)
}

// list describes the packages of the module.
func list(ctx context.Context) ([]*goPackage, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-json", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var packages []*goPackage
	d := json.NewDecoder(bytes.NewReader(out))
	for {
		p := &goPackage{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

// dependents returns, for each package, the packages with tests that depend on it, nearest first.
func dependents(packages []*goPackage) map[string][]*goPackage {
	importers, testers := map[string][]*goPackage{}, map[string][]*goPackage{}
	for _, p := range packages {
		for _, i := range p.Imports {
			importers[i] = append(importers[i], p)
		}
		if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
			for _, i := range slices.Concat([]string{p.ImportPath}, p.Imports, p.TestImports, p.XTestImports) {
				testers[i] = append(testers[i], p)
			}
		}
	}
	all := map[string][]*goPackage{}
	for _, p := range packages {
		seen, tested := map[string]bool{p.ImportPath: true}, map[*goPackage]bool{}
		for level := []*goPackage{p}; len(level) > 0; {
			var next, found []*goPackage
			for _, at := range level {
				for _, t := range testers[at.ImportPath] {
					if !tested[t] {
						tested[t] = true
						found = append(found, t)
					}
				}
				for _, i := range importers[at.ImportPath] {
					if !seen[i.ImportPath] {
						seen[i.ImportPath] = true
						next = append(next, i)
					}
				}
			}
			slices.SortStableFunc(found, func(a, b *goPackage) int { // the package's own tests first
				return cmp.Compare(other(a == p), other(b == p))
			})
			all[p.ImportPath] = append(all[p.ImportPath], found...)
			level = next
		}
	}
	return all
}

func other(same bool) int {
	if same {
		return 0
	}
	return 1
}

// errInvalid is the error for a change that does not compile or does not change the program.
var errInvalid = errors.New("not a change")

type tester struct {
	graph map[string][]*goPackage
	long  bool
	limit time.Duration
	near  int // maximum number of packages; 0: all
}

var (
	failedTest    = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	failedPackage = regexp.MustCompile(`(?m)^FAIL\s+github.com/unravel-ml/unravel/(\S+)`)
)

// kill returns the first package and test that detect a change, or "" if all tests pass.
func (t *tester) kill(ctx context.Context, m mutant) (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.file: changed}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return "", err
	}
	if err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, m.pkg).Run(); err != nil {
		return "", cmp.Or(ctx.Err(), errInvalid)
	}
	left := t.graph[m.pkg]
	if t.near > 0 {
		left = left[:min(t.near, len(left))]
	}
	for n := 1; len(left) > 0; n *= 4 {
		part := left[:min(n, len(left))]
		left = left[len(part):]
		for _, long := range []bool{false, true} {
			killer, err := t.test(ctx, overlay, part, long)
			if killer != "" || err != nil {
				return killer, err
			}
		}
	}
	return "", nil
}

// test runs the tests of packages that accept -long, or of packages that do not, and returns the first failure.
func (t *tester) test(ctx context.Context, overlay string, packages []*goPackage, long bool) (string, error) {
	args := []string{"test", "-overlay", overlay, "-failfast", "-vet=off", "-timeout", t.limit.String()}
	before := len(args)
	for _, p := range packages {
		if (t.long && p.takesLong()) == long {
			args = append(args, p.ImportPath)
		}
	}
	if len(args) == before {
		return "", nil
	}
	if long {
		args = append(args, "-long")
	}
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err == nil {
		return "", nil
	}
	name := "a build or the end of a test"
	if found := failedTest.FindSubmatch(out); found != nil {
		name = string(found[1])
	}
	if found := failedPackage.FindSubmatch(out); found != nil {
		name = string(found[1]) + " " + name
	}
	return name, nil
}
