// Package tapetest compares recorded commands for a GPU with a file of a test.
package tapetest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// Check compares the commands of tasks with a file, which has a line for each kernel of a task: the number of its
// commands, and a checksum of them in any order. The tapes of a task are texts of [vulkan.Recorder.Tapes]; the option -v
// prints them. With update, Check writes the file instead.
func Check(t *testing.T, path string, update bool, tasks map[string][]string) {
	t.Helper()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		if testing.Verbose() {
			t.Logf("%s\n%s", name, strings.Join(tasks[name], "\n"))
		}
		for _, line := range byKernel(tasks[name]) {
			got = append(got, name+": "+line)
		}
	}
	if update {
		must.OK(t, os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644))
		t.Logf("%s is written; run the tests with -tags gpu, which compare the results of kernels with the CPU", path)
		return
	}
	kept := must.Read(t, path)
	want := strings.Split(strings.TrimSpace(string(kept)), "\n")
	for i, line := range got {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d of %s: got %q; the commands for a GPU changed: see -v and -update", i+1, path, line)
		}
	}
	if len(want) > len(got) {
		t.Fatalf("%s has %d lines; want %d", path, len(want), len(got))
	}
}

// byKernel returns a line for each kernel.
func byKernel(tapes []string) (lines []string) {
	commands := map[string][]string{}
	for _, tape := range tapes {
		for line := range strings.Lines(tape) {
			name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "wait ")), " ")
			commands[name] = append(commands[name], line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		slices.Sort(commands[name])
		sum := sha256.Sum256([]byte(strings.Join(commands[name], "")))
		lines = append(lines, fmt.Sprintf("%s %d %.4x", name, len(commands[name]), sum))
	}
	return lines
}
