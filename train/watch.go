package train

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
)

// watchState is the state of early stopping.
type watchState struct {
	Seen  int     `json:"seen"` // evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // number of evaluations since the best

	Columns string `json:"columns,omitempty"` // of the best result: columns that a sentence's metric chose for the factors
}

// observe records a metric's result. A gain of less than delta is no improvement.
func (w *watchState) observe(r metrics.Result, delta float64) {
	than := w.Best + delta
	if r.Better == metrics.LowerIsBetter {
		than = w.Best - delta
	}
	if w.Seen == 0 || improves(r, than) {
		w.Best, w.Since, w.Columns = r.Value, 0, chosenColumns(r)
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

// enough returns the reason to end training; empty if there is no reason.
func (w *watchState) enough(s *EarlyStop, better metrics.Direction) string {
	if w.Seen == 0 {
		return ""
	}
	good := s.Reach != nil && w.Best >= *s.Reach
	if better == metrics.LowerIsBetter {
		good = s.Reach != nil && w.Best <= *s.Reach
	}
	columns := ""
	if w.Columns != "" {
		columns = "; columns of factors: " + w.Columns
	}
	switch {
	case good:
		return fmt.Sprintf("early stop: %s is %.4g, and %.4g was to be reached%s", s.name(), w.Best, *s.Reach, columns)
	case s.Patience > 0 && w.Since >= s.Patience:
		return fmt.Sprintf("early stop: %s has not improved on %.4g in %d evaluations%s", s.name(), w.Best, w.Since, columns)
	}
	return ""
}

// name returns the name of the watched loss or metric.
func (s *EarlyStop) name() string {
	if s.Loss != "" {
		return s.Loss
	}
	return s.Metric
}

// earlyStop ends training when a metric or a loss is good enough or no longer improves.
type earlyStop struct {
	settings *EarlyStop
	result   string // name of the watched result
	better   metrics.Direction
	monitor  *monitor // nil for a loss
	seen     *watchState
}

// newEarlyStop watches the results of a monitor, or losses, and keeps its observations in seen; nil without settings.
func newEarlyStop(s *EarlyStop, m *monitor, seen *watchState) *earlyStop {
	switch {
	case s == nil:
		return nil
	case s.Loss != "":
		return &earlyStop{settings: s, seen: seen, better: metrics.LowerIsBetter}
	}
	result := s.result(m.choices)
	return &earlyStop{settings: s, result: result, monitor: m, seen: seen, better: m.direction(result)}
}

// enough returns the reason to end training; empty if there is no reason.
func (e *earlyStop) enough() string {
	if e == nil {
		return ""
	}
	return e.seen.enough(e.settings, e.better)
}

// hook observes the losses of an epoch, or its evaluation, if any.
func (e *earlyStop) hook(c *console) engine.Hook {
	return engine.Hook{Name: "early stop", Priority: stopPriority,
		OnEpoch: func(l *engine.Loop, r *engine.EpochReport) error {
			if r.Epoch <= e.settings.From || !e.look(r) {
				return nil
			}
			if why := e.enough(); why != "" {
				c.say("%s", why)
				l.Stop(why)
			}
			return nil
		}}
}

// look records the watched quantity of an epoch, and reports whether the epoch has it.
func (e *earlyStop) look(r *engine.EpochReport) bool {
	if e.settings.Loss != "" {
		v, err := findLoss(r.Losses, e.settings.Loss)
		if err != nil { // the objective has no images in this epoch
			return false
		}
		e.seen.observe(metrics.Result{Name: e.settings.Loss, Value: v, Better: e.better}, e.settings.MinDelta)
		return true
	}
	if e.monitor.measuredAt != r.Epoch {
		return false
	}
	for _, m := range e.monitor.results {
		if m.Name == e.result {
			e.seen.observe(m, e.settings.MinDelta)
		}
	}
	return true
}

// findLoss returns a loss by its name, or by the names of its objective and the loss.
func findLoss(all []engine.ObjectiveLoss, name string) (value float64, err error) {
	var found, known []string
	for _, o := range all {
		for i, n := range o.Names {
			path := o.Objective + "/" + n
			known = append(known, path)
			if name != n && name != path {
				continue
			}
			found = append(found, path)
			if o.Values != nil {
				value = o.Values[i]
			}
		}
	}
	switch len(found) {
	case 1:
		return value, nil
	case 0:
		return 0, fmt.Errorf("there is no loss %q; want one of %s", name, strings.Join(known, ", "))
	}
	return 0, fmt.Errorf("%q is of %d objectives; want one of %s", name, len(found), strings.Join(found, ", "))
}
