package tapetest

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

// casesFile has a line for each case of a package's tests that runs on a GPU: a checksum of the commands, and the name.
const casesFile = "testdata/cases.txt"

var writeCases = flag.Bool("tapes", false, "write the commands for a GPU of a package's cases into "+casesFile)

// cases are the lines of casesFile, and the number of cases by name in the tests that run.
var cases = sync.OnceValues(func() (*caseList, error) {
	l := &caseList{sums: map[string]string{}, count: map[string]int{}}
	text, err := os.ReadFile(casesFile)
	if errors.Is(err, fs.ErrNotExist) && *writeCases {
		return l, nil
	}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		l.sums[name] = sum
	}
	return l, err
})

type caseList struct {
	mutex sync.Mutex
	sums  map[string]string // checksum by name
	count map[string]int
}

// HasCases reports whether the package in the current folder has a file of cases, or the flag -tapes writes one.
func HasCases() bool {
	_, err := cases()
	return err == nil
}

// CheckCase compares the commands of a test's case with the file of cases in the package. The tapes are texts of
// [vulkan.Recorder.Tapes]; the option -v prints them. The flag -tapes writes the file instead.
func CheckCase(t testing.TB, name string, tapes []string) {
	t.Helper()
	l := must.Get(cases())(t)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	test := t.Name()
	name = strings.Join(strings.Fields(test+" "+name), " ")
	if l.count[name]++; l.count[name] == 1 {
		t.Cleanup(func() { // for -count
			l.mutex.Lock()
			defer l.mutex.Unlock()
			delete(l.count, name)
		})
	} else {
		name += fmt.Sprint(" #", l.count[name])
	}
	text, sum := strings.Join(tapes, "\n"), ""
	if text != "" { // an empty text: the case runs on the CPU
		sum = fmt.Sprintf("%.4x", sha256.Sum256([]byte(text)))
	}
	if *writeCases {
		if l.sums[name] = sum; sum == "" {
			delete(l.sums, name)
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(l.sums)) {
			lines = append(lines, l.sums[name]+" "+name+"\n")
		}
		must.OK(t, os.WriteFile(casesFile, []byte(strings.Join(lines, "")), 0o644))
		return
	}
	if want := l.sums[name]; sum != want {
		if testing.Verbose() {
			t.Log(text)
		}
		t.Errorf("%s: the commands for a GPU have the checksum %q, want %q of %s; if the change is right, run the tests with -tapes, and then with -tags gpu",
			name, sum, want, casesFile)
	}
}
