package monitor

import (
	"context"
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/watch"
)

// Seen is the state of early stopping.
type Seen struct {
	Seen  int     `json:"seen"` // number of evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // number of evaluations after the best one

	// for the best result of a sentence: the columns that its metric chose for the factors
	Columns string `json:"columns,omitempty"`
}

// Stop ends training when a metric or a loss is good enough, or stops improving.
type Stop struct {
	Name     string   // the watched metric or loss, as in the config
	Loss     bool     // Name is a loss
	Result   string   // name of the watched result
	Reach    *float64 // a value that is good enough; nil: none
	Patience int      // number of evaluations without improvement; 0: unlimited
	MinDelta float64  // minimum improvement
	From     int      // number of epochs at the start that are ignored
	Better   metrics.Direction
	Monitor  *Monitor // nil for a loss
	Seen     *Seen
}

func (s *Stop) observe(r metrics.Result) {
	w, than := s.Seen, s.Seen.Best+s.MinDelta
	if r.Better == metrics.LowerIsBetter {
		than = w.Best - s.MinDelta
	}
	if w.Seen == 0 || Improves(r, than) {
		w.Best, w.Since, w.Columns = r.Value, 0, chosenColumns(r)
	} else {
		w.Since++
	}
	w.Seen++
}

// Enough returns the reason to end training, or "". s may be nil.
func (s *Stop) Enough() string {
	if s == nil || s.Seen.Seen == 0 {
		return ""
	}
	w := s.Seen
	good := s.Reach != nil && w.Best >= *s.Reach
	if s.Better == metrics.LowerIsBetter {
		good = s.Reach != nil && w.Best <= *s.Reach
	}
	columns := ""
	if w.Columns != "" {
		columns = "; columns of factors: " + w.Columns
	}
	switch {
	case good:
		return fmt.Sprintf("early stop: %s is %.4g, and %.4g was to be reached%s", s.Name, w.Best, *s.Reach, columns)
	case s.Patience > 0 && w.Since >= s.Patience:
		return fmt.Sprintf("early stop: %s has not improved on %.4g in %d evaluations%s", s.Name, w.Best, w.Since, columns)
	}
	return ""
}

// Hook observes the losses of an epoch, or its evaluation, if any.
func (s *Stop) Hook(priority int, c *watch.Console) engine.Hook {
	return engine.Hook{Name: "early stop", Priority: priority,
		OnEpoch: func(_ context.Context, l *engine.Loop, r *engine.EpochReport) error {
			if r.Epoch <= s.From || !s.look(r) {
				return nil
			}
			if why := s.Enough(); why != "" {
				c.Info("stop", why, "epoch", r.Epoch, "step", r.Step)
				l.Stop(why)
			}
			return nil
		}}
}

// look records the watched quantity of an epoch, and reports whether the epoch has it.
func (s *Stop) look(r *engine.EpochReport) bool {
	if s.Loss {
		v, err := FindLoss(r.Losses, s.Name)
		if err != nil { // the objective has no images in this epoch
			return false
		}
		s.observe(metrics.Result{Name: s.Name, Value: v, Better: s.Better})
		return true
	}
	if s.Monitor.MeasuredAt != r.Epoch {
		return false
	}
	for _, m := range s.Monitor.Results {
		if m.Name == s.Result {
			s.observe(m)
		}
	}
	return true
}

// FindLoss returns a loss by its name, or by the names of the objective and the loss.
func FindLoss(all []engine.ObjectiveLoss, name string) (value float64, err error) {
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
	return 0, fmt.Errorf("%q is a loss of %d objectives; want one of %s", name, len(found), strings.Join(found, ", "))
}

// chosenColumns returns the code columns of a watched sentence if its metric chose them, and otherwise "".
func chosenColumns(r metrics.Result) string {
	if r.Sentence == "" {
		return ""
	}
	var list []string
	for _, p := range r.Parts {
		for i, factor := range p.Labels {
			if p.Name == "columns" {
				list = append(list, fmt.Sprintf("%s %v", factor, p.Values[i]))
			}
		}
	}
	return strings.Join(list, ", ")
}
