// Package long divides tests into default tests and complete tests.
//
// go test runs the default tests. A test binary that imports this package also has the flag -long, which runs all
// tests:
//
//	go test ./train -long
//
// A default test stays short: it skips itself ([Only]) or uses a sample of its cases ([Sample]). A study takes minutes
// to hours, and the documents contain its result. It only runs with -study ([Study]).
package long

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

var (
	complete = flag.Bool("long", false, "run the complete tests: every case, and the long tests")
	studies  = flag.Bool("study", false, "run the studies that the documents report: minutes to hours")
)

// memoryLimit is the maximum amount of garbage that the tests of a package leave uncollected.
const memoryLimit = 1 << 30

// Run runs the tests of a package and returns the exit code. Call it in TestMain. Default tests run on one thread with
// rare garbage collections, to save CPU time. go test runs one package per processor at the same time, so more threads
// would only wait for each other.
func Run(m interface{ Run() int }) int {
	flag.Parse()
	if !Enabled() {
		runtime.GOMAXPROCS(1)
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memoryLimit)
	if limit, ok := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration); ok && limit > 0 {
		time.AfterFunc(limit*19/20, func() { // before the testing package prints all goroutines
			fmt.Fprintf(os.Stderr, "the tests of this package took %v of their limit of %v; go test -timeout %v gives them more, -short leaves out the slow ones\n",
				limit*19/20, limit, 3*limit)
			os.Exit(1)
		})
	}
	return m.Run()
}

// Enabled reports whether the complete tests run.
func Enabled() bool { return *complete }

// Only skips a test unless the complete tests run.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("a complete test: it runs with -long")
	}
}

// NotShort skips a test that takes tenths of a second if -short is set. With -long it skips nothing.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() && !Enabled() {
		t.Skip("takes long: it runs without -short")
	}
}

// Study skips a test unless the studies run.
func Study(t testing.TB) {
	t.Helper()
	if !*studies {
		t.Skip("a study: it runs with -study, not with -long")
	}
}

// Sample returns n of the cases, evenly spaced and including the first and the last. In a complete test run, it returns
// all cases.
func Sample[T any](cases []T, n int) []T {
	if Enabled() || n >= len(cases) {
		return cases
	}
	sample := make([]T, n)
	for i := range sample {
		sample[i] = cases[i*(len(cases)-1)/max(n-1, 1)]
	}
	return sample
}
