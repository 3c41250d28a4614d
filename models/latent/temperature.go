package latent

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
)

// Temperature is the temperature of relaxed samples: a number, or a ramp over the updates of training. In a config it
// is `0.67` or `{from: 1, to: 0.5, steps: 20000, shape: exponential}`.
type Temperature struct {
	From, To float64
	Steps    int // updates of the ramp; 0: the temperature is To
	Shape    TemperatureShape
}

// TemperatureShape is the shape of a temperature ramp between its two values.
type TemperatureShape string

// The shapes are from + (to - from) p and from (to/from)^p, where p is the completed fraction of the ramp.
const (
	linearTemperature      TemperatureShape = "linear"
	exponentialTemperature TemperatureShape = "exponential"
)

func (s *TemperatureShape) UnmarshalText(text []byte) error {
	if *s = TemperatureShape(text); *s != linearTemperature && *s != exponentialTemperature {
		return fmt.Errorf("unknown shape %q; known: linear, exponential", text)
	}
	return nil
}

// JointTemperature is the temperature of JointVAE's public code.
const JointTemperature = 0.67

// NewTemperature returns a constant temperature.
func NewTemperature(tau float64) Temperature { return Temperature{To: tau} }

// Constant reports whether the temperature is To in all steps.
func (t Temperature) Constant() bool { return t.Steps == 0 }

// At returns the temperature of the step after the given number of updates.
func (t Temperature) At(update int) float64 {
	part := float64(update) / float64(max(t.Steps, 1))
	switch {
	case update >= t.Steps:
		return t.To
	case t.Shape == exponentialTemperature:
		return t.From * math.Pow(t.To/t.From, part)
	}
	return t.From + (t.To-t.From)*part
}

// Validate checks that the values are between 0.001 and 1e6.
func (t Temperature) Validate() error {
	at := []float64{t.To}
	if !t.Constant() {
		at = append(at, t.From)
	}
	for _, tau := range at {
		if !(tau >= 1e-3 && tau <= 1e6) {
			return fmt.Errorf("a temperature of %v; want 0.001 to 1e6, at the start and at the end", tau)
		}
	}
	return nil
}

// temperatureKeys holds the keys of a ramp in a config.
type temperatureKeys struct {
	From  float64          `yaml:"from" doc:"temperature in the first step"`
	To    float64          `yaml:"to" doc:"temperature at the end of the ramp"`
	Steps int              `yaml:"steps" doc:"number of updates of the ramp"`
	Shape TemperatureShape `yaml:"shape" doc:"linear or exponential: equal differences or equal factors from step to step"`
}

func (k *temperatureKeys) Validate() error {
	if k.Steps < 1 || k.Steps > math.MaxInt32 {
		return config.Invalid("steps", "want 1 to %d, got %d", math.MaxInt32, k.Steps)
	}
	return nil
}

// DecodeConfig reads a number or the keys of a ramp.
func (t *Temperature) DecodeConfig(n *config.Node) error {
	switch {
	case n.IsScalar():
		*t = Temperature{}
		if err := n.Decode(&t.To); err != nil {
			return err
		}
	case n.IsMap():
		keys := temperatureKeys{From: 1, To: t.To, Shape: linearTemperature}
		if err := n.Decode(&keys); err != nil {
			return err
		}
		*t = Temperature(keys)
	default:
		return n.Errorf("want %s", t.ConfigType())
	}
	if err := t.Validate(); err != nil {
		return n.Errorf("%w", err)
	}
	return nil
}

func (t Temperature) EncodeConfig() (any, error) {
	if t.Constant() {
		return t.To, nil
	}
	return temperatureKeys(t), nil
}

func (t Temperature) ConfigForms() []any {
	return []any{t.To, temperatureKeys{From: 1, To: t.To, Shape: linearTemperature}}
}

func (t Temperature) ConfigType() string {
	return "a temperature, or {from: 1, to: 0.5, steps: N, shape: exponential}"
}
