package leak

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// A waiting goroutine is a leak. Goroutines that have ended and helpers of the pool are not.
func TestWait(t *testing.T) {
	before := goroutines()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	parallel.For(100, func(int, int) { time.Sleep(time.Microsecond) })
	end := make(chan struct{})
	go func() { <-end }()
	if left := wait(before, 20*time.Millisecond); len(left) != 1 || !strings.Contains(left[0], "leak.TestWait.func") {
		t.Errorf("a waiting goroutine: %q", left)
	}
	close(end)
	if left := wait(before, patience); len(left) != 0 {
		t.Errorf("after its end: %q", left)
	}
}
