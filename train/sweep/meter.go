package sweep

import (
	"fmt"
	"time"

	"github.com/unravel-ml/unravel/train/rundir"
)

// Status is the progress of a sweep.
type Status struct {
	Runs, Finished, Failed int
	Running                int           // runs that this process trains
	Elsewhere              int           // runs that other processes train
	Part                   float64       // fraction of all work that is done, 0 to 1
	Left                   time.Duration // estimated; negative: unknown
}

// String returns the status as one line.
func (s Status) String() string {
	text := fmt.Sprintf("%d of %d runs  %.0f %%", s.Finished+s.Failed, s.Runs, 100*s.Part)
	for _, n := range []struct {
		count int
		what  string
	}{{s.Running, "running"}, {s.Elsewhere, "in other processes"}, {s.Failed, "failed"}} {
		if n.count > 0 {
			text += fmt.Sprintf("  %d %s", n.count, n.what)
		}
	}
	if s.Left >= 0 && s.Finished+s.Failed < s.Runs {
		text += "  " + s.Left.Round(time.Second).String() + " left"
	}
	return text
}

const finishingShare = 0.05 // assumed fraction of a run's time after training, until a run has finished

// meter estimates the progress of a sweep. It assumes that runs take equally long if they differ only in the seed. For
// a kind without a finished run, it assumes the mean of the other kinds.
type meter struct {
	runs       []Run
	kinds      []string          // by run: equal for runs that differ only in the seed
	done       []float64         // by run: fraction of the training that is done, 0 to 1
	doneBefore []float64         // by run: fraction of the training that was done when this process took over
	started    map[int]time.Time // start times of the runs that this process trains
	elsewhere  map[int]bool
	ended      map[int]bool
	known      meanTimes // seconds of finished runs, by kind
	finishing  average   // mean fraction of a finished run's time after training
	failed     int
}

type average struct{ sum, n float64 }

func (a *average) add(v float64) { a.sum, a.n = a.sum+v, a.n+1 }
func (a *average) mean() float64 { return a.sum / a.n }

func newMeter(runs []Run) *meter {
	m := &meter{runs: runs, done: make([]float64, len(runs)), doneBefore: make([]float64, len(runs)),
		started: map[int]time.Time{}, elsewhere: map[int]bool{}, ended: map[int]bool{}, known: meanTimes{}}
	for _, r := range runs {
		m.kinds = append(m.kinds, kindOf(r))
	}
	return m
}

// kindOf returns the hash of a run's config without the seed, and without the start, which often depends on the seed.
func kindOf(r Run) string {
	c := r.Config
	c.Seed, c.Init = 0, nil
	hash, err := c.Hash()
	if err != nil { // unreachable: the config was hashed before
		return r.Hash
	}
	return hash
}

func (m *meter) begin(i int, now time.Time) {
	m.started[i], m.doneBefore[i] = now, -1
	delete(m.elsewhere, i)
}

func (m *meter) step(i, done, all int) {
	m.done[i] = float64(done) / float64(max(all, 1))
	if m.doneBefore[i] < 0 {
		m.doneBefore[i] = m.done[i]
	}
}

func (m *meter) end(i int, o Outcome) {
	delete(m.started, i)
	delete(m.elsewhere, i)
	m.ended[i] = true
	if o.State == Failed {
		m.failed++
		return
	}
	m.known.add(m.kinds[i], secondsOf(o.Record))
	for _, t := range o.Record.Timings {
		if t.Name == rundir.FinishingTiming && o.Record.Seconds > 0 {
			m.finishing.add(t.Seconds / o.Record.Seconds)
		}
	}
}

// part returns the fraction of a run that is done, given the fraction of its training.
func (m *meter) part(i int, done float64) float64 {
	switch {
	case m.ended[i]:
		return 1
	case m.finishing.n > 0:
		return done * (1 - m.finishing.mean())
	}
	return done * (1 - finishingShare)
}

// typical returns the assumed seconds of a run of an unknown kind, or 0 if no kind is known.
func (m *meter) typical(now time.Time) float64 {
	var all average
	for _, a := range m.known {
		all.add(a.mean())
	}
	for i, since := range m.started {
		if part := m.part(i, m.done[i]) - m.part(i, max(m.doneBefore[i], 0)); part > 0.01 {
			all.add(now.Sub(since).Seconds() / part)
		}
	}
	if all.n == 0 {
		return 0
	}
	return all.mean()
}

func (m *meter) status(now time.Time) Status {
	s := Status{Runs: len(m.runs), Failed: m.failed, Finished: len(m.ended) - m.failed, Running: len(m.started),
		Elsewhere: len(m.elsewhere), Left: -1}
	typical := m.typical(now)
	var all, done float64
	var lanes, queue []time.Duration // remaining time of the active runs, and of the waiting runs
	for i := range m.done {
		w := max(typical, 1)
		if a := m.known[m.kinds[i]]; a != nil {
			w = max(a.mean(), 1e-3)
		}
		part := m.part(i, m.done[i])
		all += w
		done += w * part
		left := time.Duration(w * (1 - part) * float64(time.Second))
		if _, running := m.started[i]; running || m.elsewhere[i] {
			lanes = append(lanes, left)
		} else {
			queue = append(queue, left)
		}
	}
	if s.Part = 1; all > 0 {
		s.Part = done / all
	}
	if typical > 0 {
		s.Left = Span(append(lanes, queue...), max(1, len(lanes)))
	}
	return s
}
