package sweep

import (
	"math"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// The remaining time is estimated from finished runs of the same kind and, for other kinds, from the progress of active
// runs.
func TestMeter(t *testing.T) {
	m := newMeter([]Run{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}})
	m.kinds = []string{"x", "x", "y", "y"}
	now := time.Now()
	if s := m.status(now); s.Left >= 0 || s.Part != 0 {
		t.Errorf("before: %+v", s)
	}
	// a was at 47.5 % when this process took over, and reached 71.25 % in 10 s, so a whole run takes 42 s.
	m.begin(0, now.Add(-10*time.Second))
	m.step(0, 50, 100)
	m.step(0, 75, 100)
	whole := 10 / (0.25 * 0.95)
	s := m.status(now)
	if want := whole * (4 - 0.75*0.95); !(math.Abs(s.Left.Seconds()-want) <= 1e-6) || s.Running != 1 ||
		!(math.Abs(s.Part-0.75*0.95/4) <= 1e-12) {
		t.Errorf("%+v, want %v left", s, want)
	}
	// a took 40 s in total. b should take as long, and so should c and d, whose kinds are unknown.
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
	// c took 60 s, a quarter of it after training. d has finished two thirds of its training, which is half of the run.
	m.end(2, Outcome{Entry: Entry{State: Finished,
		Record: &rundir.Record{Seconds: 60, Timings: []models.Timing{{Name: rundir.FinishingTiming, Seconds: 15}}}}})
	m.step(3, 2, 3)
	if s = m.status(now); s.Left != 30*time.Second || s.Part != (40+40+60+30)/200. {
		t.Errorf("the last: %+v", s)
	}
}

// Two concurrent runs are done when the longer lane is done.
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
