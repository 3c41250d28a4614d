package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/metrics"
)

// watchState is how an early stop remembers what it saw.
type watchState struct {
	Seen  int     `json:"seen"` // evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // evaluations since the best
}

// observe notes a metric's result.
func (w *watchState) observe(r metrics.Result) {
	better := r.Value > w.Best
	if r.Better == metrics.LowerIsBetter {
		better = r.Value < w.Best
	}
	if w.Seen == 0 || better {
		w.Best, w.Since = r.Value, 0
	} else {
		w.Since++
	}
	w.Seen++
}

// enough says why training should end, and nothing if it should not.
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
