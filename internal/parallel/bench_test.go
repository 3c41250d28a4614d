package parallel

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// BenchmarkFor times parallel sections with two items of one microsecond, for several pauses between sections. With
// pause=0, idle helpers are still polling; after 100 microseconds they sleep.
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
