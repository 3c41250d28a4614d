// Package rehearsal times the first steps of a run and extrapolates the time of the whole run.
package rehearsal

import (
	"context"
	"math"
	"time"

	"github.com/unravel-ml/unravel/train/engine"
)

// Limits of a rehearsal. Steps are timed for at least stepsTime and at least fewestSteps, but for at most mostStepsTime
// once a step was timed. The work after training is timed for Images images, then for twice as many and so on, until it
// takes growTime.
const (
	stepsTime     = 300 * time.Millisecond
	mostStepsTime = 4 * time.Second
	fewestSteps   = 10
	Images        = 1024
	growTime      = 250 * time.Millisecond
)

const warmSteps = 2 // number of untimed first steps of an objective, which touch memory for the first time

// Steps times training steps, without the first steps of each objective.
type Steps struct {
	Warm, Sum time.Duration // time of the first steps, and of the timed steps
	Count     int           // number of timed steps
	Last      time.Time     // end of the last step
}

// Hook stops training when enough steps have been timed.
func (t *Steps) Hook() engine.Hook {
	count := map[string]int{}
	step := func(_ context.Context, l *engine.Loop, r *engine.StepReport) error {
		took := time.Since(t.Last)
		t.Last = t.Last.Add(took)
		if count[r.Objective]++; count[r.Objective] > warmSteps {
			t.Sum += took
			t.Count++
		} else {
			t.Warm += took
		}
		if t.Sum > mostStepsTime || t.Sum > stepsTime && t.Count >= fewestSteps {
			l.Stop("rehearsed")
		}
		return nil
	}
	return engine.Hook{Name: "rehearsal", NoParams: true, OnStep: step}
}

// Grow times work on increasing numbers of rows, up to n, and estimates its seconds for all rows. work returns its
// start time. Grow extrapolates from the last two sizes, with at most a quadratic growth. work may fail for few rows.
// If the context ends, the error is engine.ErrStopped.
func Grow(ctx context.Context, n int, work func(k int) (time.Time, error)) (float64, error) {
	var last, before time.Duration
	all := time.Now()
	for k := min(n, Images); ; k = min(n, 2*k) {
		begin, err := work(k)
		if ctx.Err() != nil {
			return 0, engine.ErrStopped
		}
		before, last = last, time.Since(begin)
		if k == n || err == nil && before > 0 && (last > growTime || time.Since(all) > 4*growTime) {
			return grown(before, last, k, n), nil
		}
		if err != nil {
			last = 0
		}
	}
}

// grown extrapolates from the times for k/2 and for k rows to n rows. If doubling the rows at least doubled the time,
// it uses a power law, and otherwise a line. Work on a fixed number of drawn rows, for example, takes about the same
// time for any n.
func grown(before, last time.Duration, k, n int) float64 {
	a, b, times := before.Seconds(), last.Seconds(), float64(n)/float64(k)
	switch {
	case before == 0:
		return b * times
	case b < 2*a:
		return b + 2*max(b-a, 0)*(times-1)
	}
	return b * math.Pow(times, min(math.Log2(b/a), 2))
}
