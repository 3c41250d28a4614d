package train

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/metrics"
)

// watchState is how an early stop remembers what it saw.
type watchState struct {
	Seen  int     `json:"seen"` // evaluations
	Best  float64 `json:"best"`
	Since int     `json:"since"` // evaluations since the best
}

// observe notes a metric's result and returns errEnough when training should end.
func (w *watchState) observe(s *EarlyStop, r metrics.Result) (string, error) {
	better := r.Value > w.Best
	good := s.Reach != nil && r.Value >= *s.Reach
	if r.Better == metrics.LowerIsBetter {
		better = r.Value < w.Best
		good = s.Reach != nil && r.Value <= *s.Reach
	}
	if w.Seen == 0 || better || math.IsNaN(w.Best) {
		w.Best, w.Since = r.Value, 0
	} else {
		w.Since++
	}
	w.Seen++
	switch {
	case good:
		return fmt.Sprintf("early stop: %s is %.4g, and %.4g was to be reached", r.Name, r.Value, *s.Reach), errEnough
	case s.Patience > 0 && w.Since >= s.Patience:
		return fmt.Sprintf("early stop: %s has not improved on %.4g in %d evaluations", r.Name, w.Best, w.Since), errEnough
	}
	return "", nil
}
