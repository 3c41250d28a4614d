package engine

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/configs/registry"
)

// Schedules lists the learning-rate schedules that a config can name.
var Schedules = &registry.Registry[Schedule]{Kind: "schedule", Entries: []registry.Entry[Schedule]{
	{Name: "constant", Doc: "a constant learning rate", New: func() Schedule { return &Constant{} }},
	{Name: "step", Doc: "multiplies the learning rate by factor every so many epochs or steps",
		New: func() Schedule { return &Step{Every: Span{Epochs: 10}, Factor: 0.5} }},
	{Name: "milestones", Doc: "multiplies the learning rate by factor at given fractions of the training",
		Source: "Ross and Doshi-Velez 2021 (their code)",
		New:    func() Schedule { return &Milestones{At: []float64{0.5, 0.75}, Factor: 0.1} }},
	{Name: "cosine", Doc: "lowers the learning rate along half a cosine wave to a final fraction at the end of training",
		Source: "Loshchilov and Hutter 2017, equation 5", New: func() Schedule { return &Cosine{} }},
	{Name: "linear", Doc: "lowers the learning rate along a line to a final fraction at the end of training",
		New: func() Schedule { return &Linear{} }},
	{Name: "polynomial", Doc: "lowers the learning rate to a final fraction at the end, along a power of the remaining training",
		Source: "Liu et al. 2015 (ParseNet), section 4.1: the policy poly",
		New:    func() Schedule { return &Polynomial{Power: 0.9} }},
	{Name: "one-cycle", Doc: "raises the learning rate to the optimiser's rate, then lowers it far below the start",
		Source: "Smith and Topin 2019, section 2, with cosines as in PyTorch's OneCycleLR; momentum does not change",
		New:    func() Schedule { return NewOneCycle() }},
}}

// Schedule is a learning-rate schedule.
type Schedule interface {
	// Rate returns the learning-rate multiplier, finite and not negative, at a progress in epochs (including the
	// fraction of the current epoch) out of the total number of epochs. It depends only on these two numbers.
	Rate(progress, epochs float64) float64
}

// Timed is implemented by schedules that depend on the number of updates. The rate in training is RateAt. It equals
// Rate if no setting is in updates.
type Timed interface {
	RateAt(t Time) float64
}

// Continuous is implemented by schedules with a continuous rate.
type Continuous interface{ Continuous() }

// Ranged is implemented by schedules that know the range of their rates.
type Ranged interface {
	Range() (low, high float64)
}

// Constant keeps the learning rate.
type Constant struct{}

// Rate is 1.
func (*Constant) Rate(_, _ float64) float64 { return 1 }

// Continuous implements [Continuous].
func (*Constant) Continuous() {}

// Range is 1.
func (*Constant) Range() (low, high float64) { return 1, 1 }

// roundUp compensates rounding: 0.6/0.2 is less than 3, and 0.55 of 100 epochs is more than 55.
const roundUp = 1 + 1e-12

// Step multiplies the learning rate by Factor after every span of Every.
type Step struct {
	Every  Span    `yaml:"every" doc:"epochs between changes, or {steps: N}"`
	Factor float64 `yaml:"factor" doc:"factor for the learning rate"`
}

// Validate checks the settings' ranges.
func (s *Step) Validate() error {
	if !s.Every.check() || s.Every == (Span{}) {
		return config.Invalid("every", "%v epochs; want a number above 0, or {steps: N}", s.Every.Epochs)
	}
	if !(s.Factor > 0) || !finite(s.Factor) {
		return config.Invalid("factor", "%v is out of range; want a number above 0", s.Factor)
	}
	return nil
}

// Rate is Factor to the power of the number of whole periods of Every epochs that have passed; if Every is in steps, it
// is 1, see RateAt.
func (s *Step) Rate(progress, _ float64) float64 {
	if s.Every.Steps > 0 {
		return 1
	}
	return math.Pow(s.Factor, math.Floor(progress/s.Every.Epochs*roundUp))
}

// RateAt is Factor to the power of the number of whole periods of Every that have passed.
func (s *Step) RateAt(t Time) float64 {
	if s.Every.Steps > 0 {
		return math.Pow(s.Factor, float64(t.Update/s.Every.Steps))
	}
	return s.Rate(t.Progress, t.Epochs)
}

// Range returns 0 and 1 or, if Factor is above 1, 1 and infinity.
func (s *Step) Range() (low, high float64) {
	if s.Factor > 1 {
		return 1, math.Inf(1)
	}
	return 0, 1
}

// Milestones multiplies the learning rate by Factor at each fraction At of training.
type Milestones struct {
	At     []float64 `yaml:"at" doc:"fractions of the training, 0 to 1"`
	Factor float64   `yaml:"factor" doc:"factor for the learning rate"`
}

// Validate checks the settings' ranges.
func (m *Milestones) Validate() error {
	for i, milestone := range m.At {
		if !(milestone >= 0 && milestone <= 1) {
			return config.Invalid(fmt.Sprintf("at.%d", i), "%v is out of range; want 0 to 1", milestone)
		}
	}
	if !(m.Factor > 0) || !finite(m.Factor) {
		return config.Invalid("factor", "%v is out of range; want a number above 0", m.Factor)
	}
	return nil
}

// Rate is Factor to the power of the number of milestones passed.
func (m *Milestones) Rate(progress, epochs float64) float64 {
	rate := 1.0
	for _, milestone := range m.At {
		if progress*roundUp >= milestone*epochs {
			rate *= m.Factor
		}
	}
	return rate
}

// Range returns 1 and the rate after the last milestone, the smaller number first.
func (m *Milestones) Range() (low, high float64) {
	last := math.Pow(m.Factor, float64(len(m.At)))
	return min(1, last), max(1, last)
}

// Cosine lowers the learning rate along half a cosine wave (Loshchilov and Hutter 2017, equation 5).
type Cosine struct {
	Final float64 `yaml:"final" doc:"learning-rate multiplier at the end"`
}

// Validate checks the settings' range.
func (c *Cosine) Validate() error { return checkFinal(c.Final) }

// Rate is Final + (1-Final)(1+cos(pi progress/epochs))/2.
func (c *Cosine) Rate(progress, epochs float64) float64 {
	return c.Final + (1-c.Final)*(1+math.Cos(math.Pi*min(1, progress/epochs)))/2
}

// Continuous implements [Continuous].
func (*Cosine) Continuous() {}

// Range is Final to 1.
func (c *Cosine) Range() (low, high float64) { return c.Final, 1 }

// Linear lowers the learning rate along a line.
type Linear struct {
	Final float64 `yaml:"final" doc:"learning-rate multiplier at the end"`
}

// Validate checks the settings' range.
func (l *Linear) Validate() error { return checkFinal(l.Final) }

// Rate is 1 - (1-Final) progress/epochs.
func (l *Linear) Rate(progress, epochs float64) float64 {
	return 1 - (1-l.Final)*min(1, progress/epochs)
}

// Continuous implements [Continuous].
func (*Linear) Continuous() {}

// Range is Final to 1.
func (l *Linear) Range() (low, high float64) { return l.Final, 1 }

// Polynomial lowers the learning rate along a power of the remaining fraction of training.
type Polynomial struct {
	Power float64 `yaml:"power" doc:"exponent of the remaining fraction of training; 1: a line"`
	Final float64 `yaml:"final" doc:"learning-rate multiplier at the end"`
}

// Validate checks the settings' ranges.
func (p *Polynomial) Validate() error {
	if !(p.Power > 0) || !finite(p.Power) {
		return config.Invalid("power", "%v is out of range; want a number above 0", p.Power)
	}
	return checkFinal(p.Final)
}

// Rate is Final + (1-Final)(1 - progress/epochs)^Power.
func (p *Polynomial) Rate(progress, epochs float64) float64 {
	return p.Final + (1-p.Final)*math.Pow(1-min(1, progress/epochs), p.Power)
}

// Continuous implements [Continuous].
func (*Polynomial) Continuous() {}

// Range is Final to 1.
func (p *Polynomial) Range() (low, high float64) { return p.Final, 1 }

func checkFinal(final float64) error {
	if !(final >= 0 && final <= 1) {
		return config.Invalid("final", "%v is out of range; want 0 <= final <= 1", final)
	}
	return nil
}

// OneCycle raises the learning rate and then lowers it (Smith and Topin 2019, section 2). The optimiser's learning rate
// is the peak.
type OneCycle struct {
	Start float64 `yaml:"start" doc:"learning-rate multiplier at the beginning"`
	Rise  float64 `yaml:"rise" doc:"fraction of training spent raising the multiplier to 1"`
	Final float64 `yaml:"final" doc:"learning-rate multiplier at the end"`
}

// NewOneCycle returns PyTorch's defaults: up from 1/25 to 1 in the first 30 % of training, then down to 1/250000.
func NewOneCycle() *OneCycle { return &OneCycle{Start: 0.04, Rise: 0.3, Final: 4e-6} }

// Validate checks the settings' ranges.
func (o *OneCycle) Validate() error {
	switch {
	case !(o.Start >= 0 && o.Start <= 1):
		return config.Invalid("start", "%v is out of range; want 0 <= start <= 1", o.Start)
	case !(o.Rise > 0 && o.Rise < 1):
		return config.Invalid("rise", "%v is out of range; want 0 < rise < 1", o.Rise)
	}
	return checkFinal(o.Final)
}

// Rate goes from Start to 1 and then to Final, each time along half a cosine.
func (o *OneCycle) Rate(progress, epochs float64) float64 {
	x := min(1, progress/epochs)
	from, to, part := o.Start, 1.0, x/o.Rise
	if x > o.Rise {
		from, to, part = 1, o.Final, (x-o.Rise)/(1-o.Rise)
	}
	return to + (from-to)*(1+math.Cos(math.Pi*part))/2
}

// Continuous implements [Continuous].
func (*OneCycle) Continuous() {}

// Range returns the smaller of Start and Final, and 1.
func (o *OneCycle) Range() (low, high float64) { return min(o.Start, o.Final), 1 }

// ScheduleChoice is a schedule in a config: `constant`, or `{step: {every: 5}}`.
type ScheduleChoice struct {
	Name  string
	Value Schedule
}

// DecodeConfig reads the choice from a config.
func (c *ScheduleChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Schedules, c)
}

// EncodeConfig writes the choice into a config.
func (c ScheduleChoice) EncodeConfig() (any, error) { return config.EncodeChoice(c) }

// ConfigForms implements config.Former.
func (ScheduleChoice) ConfigForms() []any { return []any{config.ChoicesOf(Schedules)} }

// RegisterSchedule adds a schedule from another module, so configs can name it. Call it before reading a config. It
// returns an error if the name is taken.
func RegisterSchedule(e registry.Entry[Schedule]) error { return Schedules.Register(e) }

// Span is a length of training: in a config, a number of epochs, or `{steps: 500}` updates of the parameters.
type Span struct {
	Epochs float64
	Steps  int // updates of the parameters instead of epochs; 0: none
}

type spanKeys struct {
	Epochs *float64 `yaml:"epochs" doc:"passes over the data; fractions are allowed"`
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
		return n.Errorf("want the key epochs or steps")
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

// EncodeConfig is the inverse of DecodeConfig.
func (s Span) EncodeConfig() (any, error) {
	if s.Steps > 0 {
		return map[string]any{"steps": s.Steps}, nil
	}
	return s.Epochs, nil
}

// ConfigForms implements config.Former.
func (s Span) ConfigForms() []any { return []any{s.Epochs, spanKeys{}} }

// ConfigType describes the accepted values.
func (s Span) ConfigType() string { return "a number of epochs, or {steps: N}" }

// check reports whether the length is possible; programs can set any length.
func (s Span) check() bool { return s.Epochs >= 0 && finite(s.Epochs) && s.Steps >= 0 }

// Time is the position of an update in training.
type Time struct {
	Progress, Epochs float64 // epochs passed, including the fraction of the current one, and the total number of epochs
	Length           float64 // length of the update, as a fraction of an epoch
	Update           int     // number of updates before
}

// passed returns the fraction of the span that has passed at the end of an update, at most 1.
func (s Span) passed(t Time) float64 {
	switch end := t.Progress + t.Length; {
	case t.Update+1 < s.Steps:
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
