package parallel

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkFor times sections of two items of a microsecond, by the pause between two sections. With pause=0 helpers
// look for work; after 100 microseconds they sleep. The time beyond a microsecond is the costs of package scaling.
//
//	go test ./internal/parallel -run '^$' -bench For
func BenchmarkFor(b *testing.B) {
	spin := func(d time.Duration) {
		for begin := time.Now(); time.Since(begin) < d; {
		}
	}
	body := func(int, int) { spin(time.Microsecond) }
	for _, threads := range []int{1, 2, 16} {
		for _, pause := range []time.Duration{0, 5 * time.Microsecond, 100 * time.Microsecond} {
			b.Run(fmt.Sprintf("threads=%d/pause=%v", threads, pause), func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
				var sections time.Duration
				for b.Loop() {
					spin(pause)
					begin := time.Now()
					For(threads, body)
					sections += time.Since(begin)
				}
				b.ReportMetric(float64(sections.Nanoseconds())/float64(b.N), "ns/section")
			})
		}
	}
}
