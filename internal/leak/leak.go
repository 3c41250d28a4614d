// Package leak finds goroutines that outlive the tests of a package.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// patience is the time limit for goroutines to end after the tests; the machine may be busy.
const patience = time.Minute

// kept are functions of goroutines that run as long as the program: helpers of the pool, and the signal handler.
var kept = []string{"internal/parallel.(*helpers).help(", "os/signal.loop("}

// Main runs the tests of a package and returns their exit code. If tests pass but leave goroutines, Main prints the
// stacks of these goroutines and returns 1.
func Main(run func() int) int {
	before := goroutines()
	code := run()
	if code != 0 {
		return code
	}
	if left := wait(before, patience); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "%d goroutines outlive the tests; want every call to end its goroutines:\n\n%s\n",
			len(left), strings.Join(left, "\n\n"))
		return 1
	}
	return 0
}

// wait waits until all goroutines except the earlier ones have ended. It returns the stacks of goroutines that remain.
func wait(before map[string]string, patience time.Duration) (left []string) {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left = nil
		for id, stack := range goroutines() {
			if _, known := before[id]; !known {
				left = append(left, stack)
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// goroutines returns the stacks of all goroutines by number, except the caller and the kept ones.
func goroutines() map[string]string {
	text := make([]byte, 1<<16)
	n := runtime.Stack(text, true)
	for n == len(text) {
		text = make([]byte, 2*n)
		n = runtime.Stack(text, true)
	}
	stacks := map[string]string{}
	for i, stack := range strings.Split(string(text[:n]), "\n\n") {
		first, _, _ := strings.Cut(stack, " [")
		stack = strings.TrimSpace(stack)
		if i > 0 && !serves(stack) { // the first stack is the caller
			stacks[first] = stack
		}
	}
	return stacks
}

// serves reports whether a stack belongs to a kept goroutine.
func serves(stack string) bool {
	return slices.ContainsFunc(kept, func(f string) bool { return strings.Contains(stack, f) })
}
