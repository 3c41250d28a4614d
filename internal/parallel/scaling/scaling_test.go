package scaling

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/parallel"
)

// of returns spans in microseconds.
func of(us ...int) (list []time.Duration) {
	for _, n := range us {
		list = append(list, time.Duration(n)*time.Microsecond)
	}
	return list
}

// forOf returns the marks of a section with n items on at most the given number of threads.
func forOf(n, most int32) []mark {
	list := []mark{{section, n, most, -1}}
	for range n - 1 {
		list = append(list, mark{kind: item})
	}
	return append(list, mark{kind: done})
}

func TestOn(t *testing.T) {
	nested := []mark{{section, 2, 8, -1}, {section, 2, 8, -1}, {kind: item}, {kind: done}, {kind: item}, {kind: done}}
	beside := []mark{{kind: task}, {kind: given}, {kind: join}}
	costly := Costs{Publish: 1000, Invite: 500, Start: 2000, Wake: 9000, Spin: 10000, Claim: 250, Join: 4000}
	for name, c := range map[string]struct {
		marks   []mark
		spans   []time.Duration
		costs   Costs
		threads []int
		want    []float64 // microseconds
	}{
		"serial":             {nil, of(7), Costs{}, []int{1, 4}, []float64{7, 7}},
		"equal items":        {forOf(4, 8), of(1, 10, 10, 10, 10, 2), Costs{}, []int{1, 2, 3, 4, 9}, []float64{43, 23, 23, 13, 13}},
		"in order":           {forOf(4, 8), of(0, 1, 2, 3, 6, 0), Costs{}, []int{2}, []float64{8}},
		"limited":            {forOf(4, 2), of(0, 10, 10, 10, 10, 0), Costs{}, []int{4}, []float64{20}},
		"nested":             {nested, of(0, 0, 10, 10, 0, 20, 0), Costs{}, []int{1, 2, 3, 4}, []float64{40, 20, 20, 20}},
		"background":         {beside, of(1, 30, 20, 2), Costs{}, []int{1, 2}, []float64{53, 33}},
		"background alone":   {beside[:2], of(1, 30, 2), Costs{}, []int{1, 2}, []float64{33, 31}},
		"short background":   {beside, of(1, 10, 20, 2), Costs{}, []int{1, 2}, []float64{33, 23}},
		"several at once":    {forOf(128, 2), slices.Concat(of(0), slices.Repeat(of(1), 126), of(9, 9, 0)), Costs{}, []int{2}, []float64{62 + 18}},
		"costs, asleep":      {forOf(2, 8), of(1, 10, 10, 2), costly, []int{1, 2}, []float64{1 + 20.5 + 2, 1 + 1.5 + 9 + 10.25 + 4 + 2}},
		"costs, awake":       {append(forOf(2, 8), forOf(2, 8)...), of(0, 20, 20, 4, 30, 30, 0), costly, []int{2}, []float64{1.5 + 9 + 20.25 + 4 + 4 + 1.5 + 2 + 30.25 + 4}},
		"costs of many":      {forOf(4, 8), of(0, 100, 100, 100, 100, 0), costly, []int{4}, []float64{1 + 3*.5 + 9 + 100.25 + 4}},
		"asleep for a while": {append(forOf(2, 8), forOf(2, 8)...), of(0, 20, 20, 50, 30, 30, 0), costly, []int{2}, []float64{1.5 + 9 + 20.25 + 4 + 50 + 1.5 + 9 + 30.25 + 4}},
	} {
		for i, n := range c.threads {
			trace := &Trace{marks: c.marks, spans: c.spans}
			if got := trace.On(n, c.costs).Seconds() * 1e6; got < c.want[i]-1e-6 || !(got <= c.want[i]+1e-6) {
				t.Errorf("%s on %d threads: %.3f us, want %.3f", name, n, got, c.want[i])
			}
		}
	}
}

// A recording has the structure of the work. The work sees the given number of threads, and items do not run
// concurrently.
func TestRecord(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	b := parallel.NewBackground()
	defer b.Close()
	var order []int
	trace := Record(16, true, func() {
		if parallel.Threads() != 16 {
			t.Errorf("%d threads, want 16", parallel.Threads())
		}
		b.Start(func() { order = append(order, 100) })
		parallel.For(2, func(worker, i int) {
			order = append(order, 10*worker+i)
			parallel.ForWorkers(3, 3, func(_, j int) { order = append(order, 200+j) })
			parallel.For(1, func(_, j int) { order = append(order, 300) }) // not a section
		})
		if p := b.Wait(); p != nil {
			t.Error(p)
		}
	})
	if want := []int{100, 0, 200, 201, 202, 300, 1, 200, 201, 202, 300}; !slices.Equal(order, want) {
		t.Errorf("done in the order %v, want %v", order, want)
	}
	var kinds []kind
	for _, m := range trace.marks {
		kinds = append(kinds, m.kind)
	}
	inner := []kind{section, item, item, done}
	want := slices.Concat([]kind{task, given, section}, inner, []kind{item}, inner, []kind{done, join})
	if !slices.Equal(kinds, want) {
		t.Errorf("marks %v, want %v", kinds, want)
	}
	if m := trace.marks; m[2].n != 2 || m[2].most != 2 || m[3].n != 3 || m[3].most != 3 {
		t.Errorf("sections %v and %v", m[2], m[3])
	}
	if len(trace.spans) != len(trace.marks)+1 {
		t.Errorf("%d times of %d marks", len(trace.spans), len(trace.marks))
	}
	if len(trace.places) != 2 || !strings.HasPrefix(trace.places[0], "scaling.TestRecord.func1") {
		t.Errorf("places %q", trace.places)
	}
	if parallel.Threads() != 2 {
		t.Errorf("%d threads after the recording, want 2", parallel.Threads())
	}
	if p := trace.On(16, Costs{}); p > trace.Work() {
		t.Errorf("%v on 16 threads, %v on one", p, trace.Work())
	}
}

// A panic ends the recording. A panic of background work reaches the goroutine that waits for it.
func TestRecordPanics(t *testing.T) {
	func() {
		defer func() {
			if p := recover(); p != "item" {
				t.Errorf("panic %v", p)
			}
		}()
		Record(4, false, func() { parallel.For(3, func(int, int) { panic("item") }) })
	}()
	b := parallel.NewBackground()
	defer b.Close()
	for _, recorded := range []bool{false, true} {
		var failed *parallel.Panic
		work := func() {
			b.Start(func() { panic("beside") })
			failed = b.Wait()
		}
		if recorded {
			Record(4, false, work)
		} else {
			work()
		}
		if failed == nil || failed.Value != "beside" {
			t.Errorf("recorded %v: panic %v", recorded, failed)
		}
	}
}

func TestLeast(t *testing.T) {
	a := &Trace{marks: forOf(2, 2), spans: of(5, 2, 9, 1)}
	a.Least(&Trace{marks: forOf(2, 2), spans: of(4, 3, 8, 2)})
	if want := of(4, 2, 8, 1); !slices.Equal(a.spans, want) {
		t.Errorf("least times %v, want %v", a.spans, want)
	}
	if a.Work() != 15*time.Microsecond || a.Serial() != 5*time.Microsecond {
		t.Errorf("work %v, of it serial %v", a.Work(), a.Serial())
	}
	a.Least(&Trace{marks: forOf(3, 2), spans: of(1, 1, 1, 1, 1)})
	a.Least(&Trace{marks: forOf(2, 2), spans: of(1, 1, 1, 9)})
	if want := of(1, 1, 1, 1, 1); !slices.Equal(a.spans, want) {
		t.Errorf("other work in less time: %v, want %v", a.spans, want)
	}
}

func TestLimits(t *testing.T) {
	trace := &Trace{marks: slices.Concat(forOf(2, 8), forOf(4, 8)), spans: of(3, 10, 10, 1, 8, 8, 8, 8, 2), places: []string{"first", "second"}}
	trace.marks[0].at, trace.marks[3].at = 0, 1
	got := trace.Limits(4, Costs{})
	want := `on one thread 58µs, on 4 24µs; us lost of it, by place: serial before, in sections, their work, sections, items
      8.0       3.0       5.0      20.0    1      2  first
      2.0       2.0       0.0       0.0    0      0  (after the last section)
      1.0       1.0       0.0      32.0    1      4  second
`
	if got != want {
		t.Errorf("limits\n%s\nwant\n%s", got, want)
	}
}
