package index_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/sweep"
	"github.com/unravel-ml/unravel/train/sweep/index"
)

// many writes the folders of n runs. One run in ten has not begun.
func many(b *testing.B, n int) (dir string) {
	b.Helper()
	dir = b.TempDir()
	if kept := os.Getenv("UNRAVEL_MANY"); kept != "" { // to measure several programs on the same folders
		dir = filepath.Join(kept, fmt.Sprint(n))
	}
	if list, err := os.ReadDir(dir); err == nil && len(list) >= n {
		return dir
	}
	plan := must.Get(planOf(n))(b)
	runs := must.Get(plan.Runs())(b)
	must.OK(b, writeMany(dir, runs, 10))
	return dir
}

// touch replaces the records of some runs, like runs that end.
func touch(b *testing.B, dir string, n int) {
	b.Helper()
	records, err := filepath.Glob(filepath.Join(dir, "*_seed7", "run.json"))
	if err != nil || len(records) == 0 {
		b.Fatal(len(records), err)
	}
	for _, name := range records[:min(n, len(records))] {
		text := must.Read(b, name)
		must.OK(b, disk.WriteFile(name, func(w io.Writer) error { _, err := w.Write(text); return err }, false))
	}
}

func list(b *testing.B, dir string, want int) []*index.Run {
	b.Helper()
	runs, err := index.List(b.Context(), dir)
	if err != nil || len(runs) != want {
		b.Fatalf("%d runs, want %d, %v", len(runs), want, err)
	}
	return runs
}

// BenchmarkIndex times `unravel runs` without a list, with one, and with one after changes to 300 runs.
// UNRAVEL_MANY=DIR keeps the folders, because 100,000 runs take 3 GB. Without it, there are 2,000 runs.
func BenchmarkIndex(b *testing.B) {
	sizes := []int{2000}
	if os.Getenv("UNRAVEL_MANY") != "" {
		sizes = []int{10000, 100000}
	}
	for _, n := range sizes {
		dir := many(b, n)
		b.Run(fmt.Sprintf("cold-%d", n), func(b *testing.B) {
			for b.Loop() {
				must.OK(b, os.RemoveAll(filepath.Join(dir, index.File)))
				list(b, dir, n)
			}
		})
		b.Run(fmt.Sprintf("warm-%d", n), func(b *testing.B) {
			for b.Loop() {
				list(b, dir, n)
			}
		})
		b.Run(fmt.Sprintf("changed-%d", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				touch(b, dir, 300)
				b.StartTimer()
				list(b, dir, n)
			}
		})
		runs := list(b, dir, n)
		index.Live(dir, runs)
		b.Run(fmt.Sprintf("live-%d", n), func(b *testing.B) {
			for b.Loop() {
				for _, r := range runs {
					if r.State == sweep.Waiting {
						r.State = sweep.Unfinished
					}
				}
				index.Live(dir, runs)
			}
		})
		b.Run(fmt.Sprintf("filter-%d", n), func(b *testing.B) {
			for b.Loop() {
				kept, err := index.Filter(runs, "mig>0.5", "losses.1.kl.weight<20", "state=finished")
				if err != nil || len(kept) == 0 {
					b.Fatal(len(kept), err)
				}
			}
		})
		b.Run(fmt.Sprintf("by-%d", n), func(b *testing.B) {
			for b.Loop() {
				groups, err := index.GroupBy(runs, "losses.1.kl.weight", "train.optimizer.adam.lr")
				if err != nil || len(groups) != n/10 {
					b.Fatal(len(groups), err)
				}
			}
		})
		b.Run(fmt.Sprintf("differing-%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(index.Differing(runs)) != 3 {
					b.Fatal("settings that differ")
				}
			}
		})
	}
}
