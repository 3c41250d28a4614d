package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// module is the prefix that is removed from printed package names.
const module = "github.com/unravel-ml/unravel/"

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // set for the output of a build
	Test       string
	Elapsed    float64
	Output     string
}

// results are the results of go test -json, with core times if they were measured.
type results struct {
	packages map[string]*packageResult
	tests    []testResult // without subtests
	skipped  []string     // PACKAGE TEST: REASON, without subtests and without tests that -short and -long skip
	builds   []string     // output of the builds
}

type packageResult struct {
	state   string // pass, fail or skip
	elapsed time.Duration
	cpu     time.Duration // elapsed time, if core time was not measured
	output  []string      // output of the package, and of its failed tests
}

type testResult struct {
	name    string // PACKAGE TEST
	elapsed time.Duration
}

// read parses the output of go test -json up to the end of in.
func read(in io.Reader) (*results, error) {
	r := &results{packages: map[string]*packageResult{}}
	outputs := map[[2]string][]string{}
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			var e event
			if json.Unmarshal(text, &e) != nil {
				return nil, fmt.Errorf("not a line of go test -json: %q", text)
			}
			r.add(e, outputs)
		}
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (r *results) add(e event, outputs map[[2]string][]string) {
	name, elapsed := strings.TrimPrefix(e.Package, module), time.Duration(e.Elapsed*float64(time.Second))
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.builds = append(r.builds, e.Output)
	case "output":
		outputs[key] = append(outputs[key], e.Output)
	case "pass", "fail", "skip":
		p := r.packages[name]
		if p == nil {
			p = &packageResult{}
			r.packages[name] = p
		}
		switch {
		case e.Test == "":
			p.state, p.elapsed, p.cpu = e.Action, elapsed, elapsed
			if e.Action == "fail" {
				p.output = append(p.output, outputs[key]...)
			}
		case e.Action == "fail":
			p.output = append(p.output, outputs[key]...)
		case e.Action == "skip" && !strings.Contains(e.Test, "/"):
			if reason := reasonOf(outputs[key]); !strings.Contains(reason, "-long") && !strings.Contains(reason, "-short") {
				r.skipped = append(r.skipped, fmt.Sprintf("%s %s: %s", name, e.Test, reason))
			}
		}
		if e.Test != "" && !strings.Contains(e.Test, "/") {
			r.tests = append(r.tests, testResult{name + " " + e.Test, elapsed})
		}
		delete(outputs, key)
	}
}

// reasonOf returns the reason why a test was skipped.
func reasonOf(output []string) string {
	for _, line := range output {
		if _, reason, ok := strings.Cut(line, ".go:"); ok {
			_, reason, _ = strings.Cut(reason, ": ")
			return strings.TrimSpace(reason)
		}
	}
	return "no reason given"
}

// readTimes reads the times that measure stored.
func (r *results) readTimes(dir string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		folder, number, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		cpu, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		name, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		if name == "." { // the import path of the root package is the module path
			name = strings.TrimSuffix(module, "/")
		}
		if p := r.packages[filepath.ToSlash(name)]; p != nil {
			p.cpu = time.Duration(cpu)
		}
	}
	return nil
}

// failed lists the packages with failed tests.
func (r *results) failed() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		if r.packages[name].state == "fail" {
			list = append(list, name)
		}
	}
	return list
}

// total returns the sum of the core times.
func (r *results) total() (sum time.Duration) {
	for _, p := range r.packages {
		sum += p.cpu
	}
	return sum
}

// slowest is the number of tests and packages to print.
const slowest = 10

// print writes failures, the slowest tests and packages, and skipped tests.
func (r *results) print(w io.Writer, unit time.Duration) {
	for _, line := range r.builds {
		fmt.Fprint(w, line)
	}
	for _, name := range r.failed() {
		fmt.Fprintf(w, "FAIL %s\n%s\n", name, strings.Join(r.packages[name].output, ""))
	}
	fmt.Fprintf(w, "the slowest tests, in seconds of the clock:\n")
	slices.SortFunc(r.tests, func(a, b testResult) int { return cmp.Compare(b.elapsed, a.elapsed) })
	for _, t := range r.tests[:min(slowest, len(r.tests))] {
		fmt.Fprintf(w, "%8.2f  %s\n", t.elapsed.Seconds(), t.name)
	}
	fmt.Fprintf(w, "the slowest packages, in seconds on cores (of the clock):\n")
	names := slices.SortedFunc(maps.Keys(r.packages),
		func(a, b string) int { return cmp.Compare(r.packages[b].cpu, r.packages[a].cpu) })
	for _, name := range names[:min(slowest, len(names))] {
		p := r.packages[name]
		fmt.Fprintf(w, "%8.2f (%.2f)  %s\n", p.cpu.Seconds(), p.elapsed.Seconds(), name)
	}
	fmt.Fprintf(w, "all packages: %.1f seconds on cores, %.0f units of %v\n",
		r.total().Seconds(), units(r.total(), unit), unit.Round(time.Millisecond))
	for _, line := range r.skipped {
		fmt.Fprintf(w, "skipped: %s\n", line)
	}
}
