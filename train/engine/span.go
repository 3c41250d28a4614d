package engine

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
)

// Span is a length of training, in epochs or in steps. In a config a number means epochs, and `{steps: 500}` updates of the
// parameters.
type Span struct {
	Epochs float64
	Steps  int // updates of the parameters, instead of epochs; 0: none
}

// spanKeys is a Span in a config.
type spanKeys struct {
	Epochs *float64 `yaml:"epochs" doc:"passes over the data, also fractions"`
	Steps  *int     `yaml:"steps" doc:"updates of the parameters"`
}

// DecodeConfig reads a number of epochs, or either of the keys epochs and steps.
func (s *Span) DecodeConfig(n *config.Node) error {
	*s = Span{}
	if n.IsScalar() {
		if err := n.Decode(&s.Epochs); err != nil {
			return err
		}
		if !(s.Epochs >= 0) || !finite(s.Epochs) {
			return n.Errorf("%v is out of range; want a number from 0 on", s.Epochs)
		}
		return nil
	}
	if !n.IsMap() {
		return n.Errorf("want a number of epochs, {epochs: E} or {steps: N}")
	}
	var keys spanKeys
	if err := n.Decode(&keys); err != nil {
		return err
	}
	if (keys.Epochs == nil) == (keys.Steps == nil) {
		return n.Errorf("want one of the keys epochs and steps")
	}
	if keys.Epochs != nil {
		s.Epochs = *keys.Epochs
	} else {
		s.Steps = *keys.Steps
	}
	return nil
}

// Validate checks the keys' ranges.
func (s *spanKeys) Validate() error {
	switch {
	case s.Epochs != nil && (!(*s.Epochs >= 0) || !finite(*s.Epochs)):
		return config.Invalid("epochs", "%v is out of range; want a number from 0 on", *s.Epochs)
	case s.Steps != nil && (*s.Steps < 1 || *s.Steps > math.MaxInt32):
		return config.Invalid("steps", "%d is out of range; want 1 to %d", *s.Steps, math.MaxInt32)
	}
	return nil
}

// EncodeConfig is the reverse of DecodeConfig.
func (s Span) EncodeConfig() (any, error) {
	if s.Steps > 0 {
		return map[string]any{"steps": s.Steps}, nil
	}
	return s.Epochs, nil
}

// ConfigType describes the accepted values.
func (s Span) ConfigType() string { return "a number of epochs, or {steps: N}" }

// check reports a length that a program set and that no training has.
func (s Span) check() bool { return s.Epochs >= 0 && finite(s.Epochs) && s.Steps >= 0 }

// Time says where in training an update is.
type Time struct {
	Progress, Epochs float64 // epochs gone by, with the fraction of the one under way, of epochs in all
	Length           float64 // length of the update, as a fraction of an epoch
	Update           int     // updates before
}

// passed returns the fraction of the span that has passed at the end of an update, at most 1.
func (s Span) passed(t Time) float64 {
	switch end := t.Progress + t.Length; {
	case s.Steps > 0 && t.Update+1 < s.Steps:
		return float64(t.Update+1) / float64(s.Steps)
	case s.Steps == 0 && end < s.Epochs:
		return end / s.Epochs
	}
	return 1
}

// over reports whether the span ended before an update.
func (s Span) over(t Time) bool {
	if s.Steps > 0 {
		return t.Update >= s.Steps
	}
	return t.Progress >= s.Epochs
}
