package conformance_test

import (
	"os"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

// clock returns the time in nanoseconds, for faults that depend on the time. It waits for another time, because the
// clocks of some systems stand still for milliseconds.
func clock() int64 {
	begun := time.Now().UnixNano()
	for {
		if now := time.Now().UnixNano(); now != begun {
			return now
		}
	}
}
