package cputime

import (
	"github.com/unravel-ml/unravel/internal/long"
	"testing"
	"time"
)

// Work takes CPU time, and waiting takes almost none.
func TestProcess(t *testing.T) {
	long.NotShort(t)
	begin := Process()
	if begin == 0 {
		t.Skip("the system does not tell")
	}
	work := func() time.Duration { return Process() - begin }
	for wall := time.Now(); work() < 50*time.Millisecond; {
		if time.Since(wall) > 5*time.Minute { // beside other programs
			t.Fatalf("five minutes of work have taken %v of a core", work())
		}
	}
	begin = Process()
	time.Sleep(300 * time.Millisecond)
	if waited := Process() - begin; waited > 150*time.Millisecond {
		t.Errorf("waiting has taken %v of a core", waited)
	}
}
