package train

import (
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Two concurrent runs with different numbers of threads give the bits of single runs, and do not change GOMAXPROCS.
func TestConcurrentThreads(t *testing.T) {
	long.NotShort(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	configs := []Config{load(t, "train.threads=1"), load(t, "train.threads=3", "seed=2")}
	want := make([]map[string]string, len(configs))
	for i, c := range configs {
		c.Train.Threads = 0
		dir := filepath.Join(t.TempDir(), "alone")
		trainIn(t, dir, c, false)
		want[i] = bits(t, dir)
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	errs := make([]error, len(configs))
	changed := make([]int, len(configs))
	for i, c := range configs {
		all.Go(func() {
			_, errs[i] = Run(t.Context(), c, Options{Dir: filepath.Join(dir, string(rune('a'+i))), Progress: func(int, int) {
				if n := runtime.GOMAXPROCS(0); n != 4 {
					changed[i] = n
				}
			}})
		})
	}
	all.Wait()
	for i, c := range configs {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		must.Equal(t, changed[i], 0, "GOMAXPROCS was", "during the run")
		run := filepath.Join(dir, string(rune('a'+i)))
		sameBits(t, c.Name, bits(t, run), want[i])
		r, err := rundir.ReadRecord(run)
		if err != nil || r.Machine.Threads != c.Train.Threads {
			t.Errorf("the record has %d threads (%v), want %d", r.Machine.Threads, err, c.Train.Threads)
		}
	}
}
