package scaling

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Threads is the number of threads for the metric speedup-16.
const Threads = 16

// The time and the number of recordings of [Report].
const (
	enough = 700 * time.Millisecond
	fewest = 2
	most   = 30
)

// Report adds metrics to a benchmark on one thread (-cpu 1). speedup-2 and speedup-16 are the predicted speedups on 2
// and 16 threads. serial-% is the percentage of the time outside all parallel sections. Report runs the work several
// times. With -v, it logs what limits the speedup.
func Report(b *testing.B, work func()) {
	b.Helper()
	if runtime.GOMAXPROCS(0) > 1 {
		return
	}
	Record(Threads, false, work) // allocates the scratch memory of all threads
	t := Record(Threads, testing.Verbose(), work)
	for i, begin := 1, time.Now(); i < fewest || i < most && time.Since(begin) < enough; i++ {
		t.Least(Record(Threads, testing.Verbose(), work))
	}
	all := t.Work().Seconds()
	b.ReportMetric(all/t.On(2, Measured).Seconds(), "speedup-2")
	b.ReportMetric(all/t.On(Threads, Measured).Seconds(), "speedup-16")
	b.ReportMetric(100*t.Serial().Seconds()/all, "serial-%")
	if testing.Verbose() {
		b.Log(t.Limits(Threads, Measured))
	}
}

// Limits describes why the speedup is smaller than the number of threads. It lists sections by the time lost in them
// and in the serial work before them.
func (t *Trace) Limits(threads int, c Costs) string {
	type limit struct {
		count, items       int
		work, wall, before time.Duration
	}
	parts := t.parse()
	whole := t.run(parts, threads, c)
	limits := map[string]*limit{}
	for _, p := range parts {
		name := "(after the last section)"
		if p.begin != nil && p.begin.place >= 0 {
			name = t.places[p.begin.place]
		}
		l := limits[name]
		if l == nil {
			l = &limit{}
			limits[name] = l
		}
		l.before += p.time
		if w := p.begin; w != nil {
			l.count++
			l.items += len(w.items)
			l.wall += w.ended - w.begun
			for _, i := range w.items {
				l.work += total(i)
			}
		}
	}
	lost := func(l *limit) time.Duration { return l.wall - l.work/time.Duration(threads) + l.before }
	names := slices.SortedFunc(maps.Keys(limits), func(a, b string) int {
		return cmp.Or(-cmp.Compare(lost(limits[a]), lost(limits[b])), cmp.Compare(a, b))
	})
	var text strings.Builder
	fmt.Fprintf(&text, "on one thread %v, on %d %v; us lost of it, by place: serial before, in sections, their work, sections, items\n", t.Work(), threads, whole)
	for _, name := range names {
		l := limits[name]
		us := func(d time.Duration) float64 { return float64(d) / 1e3 }
		fmt.Fprintf(&text, "%9.1f %9.1f %9.1f %9.1f %4d %6d  %s\n", us(lost(l)), us(l.before), us(l.wall-l.work/time.Duration(threads)), us(l.work), l.count, l.items, name)
	}
	return text.String()
}

// total is the time of parts, including all nested work.
func total(parts []part) (sum time.Duration) {
	for _, p := range parts {
		sum += p.time
		if p.begin != nil {
			for _, i := range p.begin.items {
				sum += total(i)
			}
		}
		if p.start != nil {
			sum += total(p.start.parts)
		}
	}
	return sum
}
