package sweep

import (
	"fmt"
	"time"
)

// Status is the progress of a sweep.
type Status struct {
	Runs, Finished, Failed int
	Running                int           // by this process
	Elsewhere              int           // by other processes
	Part                   float64       // fraction of all work that is done, 0 to 1
	Left                   time.Duration // estimated; negative: not known yet
}

// String returns the status in a line.
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

// measuring is the fraction of a run assumed to remain after training.
const measuring = 0.05

// meter estimates the progress of a sweep. It assumes that runs that differ only in seed take equally long, and the mean of
// the others for kinds not seen yet.
type meter struct {
	runs      []Run
	kinds     []string          // by run: equal for runs that differ only in seed
	done      []float64         // by run: fraction done, 0 to 1
	already   []float64         // by run: fraction done before this process took it on
	since     map[int]time.Time // start of the runs that this process makes
	elsewhere map[int]bool
	ended     map[int]bool
	known     map[string]*average // seconds of runs, by kind
	failed    int
}

type average struct{ sum, n float64 }

func (a *average) add(v float64) { a.sum, a.n = a.sum+v, a.n+1 }
func (a *average) mean() float64 { return a.sum / a.n }

func newMeter(runs []Run) *meter {
	m := &meter{runs: runs, done: make([]float64, len(runs)), already: make([]float64, len(runs)), since: map[int]time.Time{},
		elsewhere: map[int]bool{}, ended: map[int]bool{}, known: map[string]*average{}}
	for _, r := range runs {
		m.kinds = append(m.kinds, kindOf(r))
	}
	return m
}

// kindOf is the hash of a run's config without its seed and its start, which often is that of a seed.
func kindOf(r Run) string {
	c := r.Config
	c.Seed, c.Init = 0, nil
	hash, err := c.Hash()
	if err != nil { // it was hashed before
		return r.Hash
	}
	return hash
}

func (m *meter) begin(i int, now time.Time) {
	m.since[i], m.already[i] = now, -1
	delete(m.elsewhere, i)
}

func (m *meter) step(i, done, all int) {
	m.done[i] = (1 - measuring) * float64(done) / float64(max(all, 1))
	if m.already[i] < 0 {
		m.already[i] = m.done[i]
	}
}

func (m *meter) end(i int, o Outcome) {
	delete(m.since, i)
	delete(m.elsewhere, i)
	m.done[i], m.ended[i] = 1, true
	if o.State == Failed {
		m.failed++
		return
	}
	a := m.known[m.kinds[i]]
	if a == nil {
		a = &average{}
		m.known[m.kinds[i]] = a
	}
	a.sum += o.Record.Seconds
	a.n++
}

// typical returns the assumed seconds of a run of an unknown kind; 0: no kind is known.
func (m *meter) typical(now time.Time) float64 {
	var all average
	for _, a := range m.known {
		all.sum += a.sum / a.n
		all.n++
	}
	for i, since := range m.since {
		if part := m.done[i] - max(m.already[i], 0); part > 0.01 {
			all.sum += now.Sub(since).Seconds() / part
			all.n++
		}
	}
	if all.n == 0 {
		return 0
	}
	return all.sum / all.n
}

func (m *meter) status(now time.Time) Status {
	s := Status{Runs: len(m.runs), Failed: m.failed, Finished: len(m.ended) - m.failed, Running: len(m.since), Elsewhere: len(m.elsewhere), Left: -1}
	typical := m.typical(now)
	var all, done float64
	for i, part := range m.done {
		w := max(typical, 1)
		if a := m.known[m.kinds[i]]; a != nil {
			w = max(a.sum/a.n, 1e-3)
		}
		all += w
		done += w * part
	}
	if s.Part = 1; all > 0 {
		s.Part = done / all
	}
	if typical > 0 {
		s.Left = time.Duration((all - done) / float64(max(1, len(m.since))) * float64(time.Second))
	}
	return s
}
