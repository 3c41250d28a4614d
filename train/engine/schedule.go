package engine

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/registry"
)

// Schedules lists the learning-rate schedules that a config can name.
var Schedules = &registry.Registry[Schedule]{Kind: "schedule", Entries: []registry.Entry[Schedule]{
	{Name: "constant", Doc: "a constant learning rate", New: func() Schedule { return &Constant{} }},
	{Name: "step", Doc: "multiplies the learning rate by factor every so many epochs", New: func() Schedule { return &Step{Every: 10, Factor: 0.5} }},
	{Name: "milestones", Doc: "multiplies the learning rate by factor at given fractions of the training",
		Source: "Ross and Doshi-Velez 2021 (their code)", New: func() Schedule { return &Milestones{At: []float64{0.5, 0.75}, Factor: 0.1} }},
	{Name: "cosine", Doc: "lowers the learning rate along half a cosine wave to a final fraction at the end of training",
		Source: "Loshchilov and Hutter 2017, equation 5", New: func() Schedule { return &Cosine{} }},
}}

// Schedule is a learning-rate schedule.
type Schedule interface {
	// Rate returns the learning-rate multiplier, finite and 0 or more, at a progress in
	// epochs (with the fraction of the epoch under way) of epochs in all. It depends on these alone.
	Rate(progress, epochs float64) float64
}

// Continuous is implemented by schedules whose rate has no jumps.
type Continuous interface{ Continuous() }

// Ranged is implemented by schedules that know the range of their rates.
type Ranged interface {
	Range() (low, high float64)
}

// Constant is the schedule of that name.
type Constant struct{}

// Rate is 1.
func (*Constant) Rate(_, _ float64) float64 { return 1 }

// Continuous implements the interface of that name.
func (*Constant) Continuous() {}

// Range is 1.
func (*Constant) Range() (low, high float64) { return 1, 1 }

// Step is the schedule of that name.
type Step struct {
	Every  int     `yaml:"every" doc:"epochs between two changes"`
	Factor float64 `yaml:"factor" doc:"factor of the learning rate"`
}

// Validate checks the settings' ranges.
func (s *Step) Validate() error {
	if s.Every < 1 {
		return config.Invalid("every", "%d epochs; want 1 or more", s.Every)
	}
	if !(s.Factor > 0) || !finite(s.Factor) {
		return config.Invalid("factor", "%v is out of range; want a number above 0", s.Factor)
	}
	return nil
}

// Rate is Factor to the power of the whole number of Every epochs gone by.
func (s *Step) Rate(progress, _ float64) float64 {
	return math.Pow(s.Factor, math.Floor(progress/float64(s.Every)))
}

// Range is 0 to 1, or 1 and more where Factor is.
func (s *Step) Range() (low, high float64) {
	if s.Factor > 1 {
		return 1, math.Inf(1)
	}
	return 0, 1
}

// Milestones is the schedule of that name.
type Milestones struct {
	At     []float64 `yaml:"at" doc:"fractions of the training, 0 to 1"`
	Factor float64   `yaml:"factor" doc:"factor of the learning rate"`
}

// Validate checks the settings' ranges.
func (m *Milestones) Validate() error {
	for i, at := range m.At {
		if !(at >= 0 && at <= 1) {
			return config.Invalid(fmt.Sprintf("at.%d", i), "%v is out of range; want 0 to 1", at)
		}
	}
	if !(m.Factor > 0) || !finite(m.Factor) {
		return config.Invalid("factor", "%v is out of range; want a number above 0", m.Factor)
	}
	return nil
}

// Rate is Factor to the power of the number of milestones gone by.
func (m *Milestones) Rate(progress, epochs float64) float64 {
	rate := 1.0
	for _, at := range m.At {
		if progress >= at*epochs {
			rate *= m.Factor
		}
	}
	return rate
}

// Range is from 1 to the rate after the last milestone.
func (m *Milestones) Range() (low, high float64) {
	last := math.Pow(m.Factor, float64(len(m.At)))
	return min(1, last), max(1, last)
}

// Cosine is the schedule of that name.
type Cosine struct {
	Final float64 `yaml:"final" doc:"learning-rate multiplier at the end"`
}

// Validate checks the settings' range.
func (c *Cosine) Validate() error {
	if !(c.Final >= 0 && c.Final <= 1) {
		return config.Invalid("final", "%v is out of range; want 0 <= final <= 1", c.Final)
	}
	return nil
}

// Rate is Final + (1-Final)(1+cos(pi progress/epochs))/2.
func (c *Cosine) Rate(progress, epochs float64) float64 {
	return c.Final + (1-c.Final)*(1+math.Cos(math.Pi*min(1, progress/epochs)))/2
}

// Continuous implements the interface of that name.
func (*Cosine) Continuous() {}

// Range is Final to 1.
func (c *Cosine) Range() (low, high float64) { return c.Final, 1 }

// ScheduleChoice is a schedule in a config: `constant`, or `{step: {every: 5}}`.
type ScheduleChoice struct {
	Name  string
	Value Schedule
}

// DecodeConfig reads the choice from a config.
func (c *ScheduleChoice) DecodeConfig(n *config.Node) error {
	return config.DecodeChoice(n, Schedules, (*registry.Choice[Schedule])(c))
}

// EncodeConfig writes the choice into a config.
func (c ScheduleChoice) EncodeConfig() (any, error) {
	return config.EncodeChoice(registry.Choice[Schedule](c))
}

// ConfigType lists the names.
func (c ScheduleChoice) ConfigType() string { return config.ChoiceType(Schedules) }

// RegisterSchedule adds a schedule of one's own, which a config can then name. A program calls it before it
// reads a config; a second one of a name is an error.
func RegisterSchedule(e registry.Entry[Schedule]) error { return Schedules.Register(e) }

// NamedSchedule returns a schedule by name with its defaults.
func NamedSchedule(name string) (ScheduleChoice, error) {
	c, err := Schedules.Named(name)
	return ScheduleChoice(c), err
}
