package sweep

import (
	"math"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// What is left is what runs of the same kind took, and what the others take by their progress.
func TestMeter(t *testing.T) {
	m := newMeter([]Run{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}})
	m.kinds = []string{"x", "x", "y", "y"}
	now := time.Now()
	if s := m.status(now); s.Left >= 0 || s.Part != 0 {
		t.Errorf("before: %+v", s)
	}
	// a was at 47.5 % when it began here, and came to 71.25 % in 10 s: a whole run takes 42 s.
	m.begin(0, now.Add(-10*time.Second))
	m.step(0, 50, 100)
	m.step(0, 75, 100)
	whole := 10 / (0.25 * 0.95)
	s := m.status(now)
	if want := whole * (4 - 0.75*0.95); math.Abs(s.Left.Seconds()-want) > 1e-6 || s.Running != 1 || math.Abs(s.Part-0.75*0.95/4) > 1e-12 {
		t.Errorf("%+v, want %v left", s, want)
	}
	// It took 40 s in all: b is expected to take as long, and c and d, of which nothing is known, too.
	m.end(0, Outcome{Entry: Entry{State: Finished, Record: &rundir.Record{Seconds: 40}}})
	if s = m.status(now); s.Left != 120*time.Second || s.Running != 0 {
		t.Errorf("between two runs: %+v", s)
	}
	m.begin(1, now)
	if s = m.status(now); s.Left != 120*time.Second || s.Finished != 1 {
		t.Errorf("%+v", s)
	}
	m.end(1, Outcome{Entry: Entry{State: Failed}})
	m.begin(2, now)
	m.begin(3, now)
	if s = m.status(now); s.Left != 40*time.Second || s.Failed != 1 || s.Running != 2 || s.Part != 0.5 {
		t.Errorf("two at once: %+v", s)
	}
	// c took 60 s, a quarter of them after training: d, which has trained to two thirds, is half done.
	m.end(2, Outcome{Entry: Entry{State: Finished, Record: &rundir.Record{Seconds: 60, Timings: []models.Timing{{Name: rundir.FinishingTiming, Seconds: 15}}}}})
	m.step(3, 2, 3)
	if s = m.status(now); s.Left != 30*time.Second || s.Part != (40+40+60+30)/200. {
		t.Errorf("the last: %+v", s)
	}
}

// Two runs at once are done when the longer lane is.
func TestMeterLanes(t *testing.T) {
	m := newMeter([]Run{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	m.kinds = []string{"x", "x", "x"}
	m.known["x"] = &average{30, 1}
	m.begin(0, time.Now())
	m.begin(1, time.Now())
	if s := m.status(time.Now()); s.Left != 60*time.Second {
		t.Errorf("%+v, want 60 s left", s)
	}
}
