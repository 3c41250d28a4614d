package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
)

// watchState is the state of early stopping.
type watchState struct {
	Seen  int     `json:"seen"` // evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // evaluations since the best
}

// observe notes a metric's result.
func (w *watchState) observe(r metrics.Result) {
	if w.Seen == 0 || improves(r, w.Best) {
		w.Best, w.Since = r.Value, 0
	} else {
		w.Since++
	}
	w.Seen++
}

// improves reports whether a result is better than another value of its metric.
func improves(r metrics.Result, than float64) bool {
	if r.Better == metrics.LowerIsBetter {
		return r.Value < than
	}
	return r.Value > than
}

// enough returns the reason to end training; empty: there is none.
func (w *watchState) enough(s *EarlyStop, better metrics.Direction) string {
	if w.Seen == 0 {
		return ""
	}
	good := s.Reach != nil && w.Best >= *s.Reach
	if better == metrics.LowerIsBetter {
		good = s.Reach != nil && w.Best <= *s.Reach
	}
	switch {
	case good:
		return fmt.Sprintf("early stop: %s is %.4g, and %.4g was to be reached", s.Metric, w.Best, *s.Reach)
	case s.Patience > 0 && w.Since >= s.Patience:
		return fmt.Sprintf("early stop: %s has not improved on %.4g in %d evaluations", s.Metric, w.Best, w.Since)
	}
	return ""
}

// earlyStop ends training when a metric that is measured during training is good enough, or no longer improves.
type earlyStop struct {
	settings *EarlyStop
	better   metrics.Direction
	monitor  *monitor
	seen     *watchState
}

// newEarlyStop watches the results of a monitor, and keeps in seen what it saw; nil without settings.
func newEarlyStop(s *EarlyStop, m *monitor, seen *watchState) *earlyStop {
	if s == nil {
		return nil
	}
	return &earlyStop{settings: s, monitor: m, seen: seen, better: m.direction(s.Metric)}
}

// enough returns the reason to end training; empty: there is none.
func (e *earlyStop) enough() string {
	if e == nil {
		return ""
	}
	return e.seen.enough(e.settings, e.better)
}

// hook looks at the evaluation of an epoch, if there is one.
func (e *earlyStop) hook(c *console) engine.Hook {
	return engine.Hook{Name: "early stop", Priority: stopPriority, OnEpoch: func(l *engine.Loop, r *engine.EpochReport) error {
		if e.monitor.measuredAt != r.Epoch {
			return nil
		}
		for _, m := range e.monitor.results {
			if m.Name == e.settings.Metric {
				e.seen.observe(m)
			}
		}
		if why := e.enough(); why != "" {
			c.say("%s", why)
			l.Stop(why)
		}
		return nil
	}}
}
