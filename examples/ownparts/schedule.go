package main

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
)

// halving is a schedule: the learning rate halves every so many epochs, smoothly.
type halving struct {
	Epochs float64 `yaml:"epochs" doc:"epochs in which the learning rate halves"`
}

func (h *halving) Validate() error {
	if !(h.Epochs > 0) {
		return config.Invalid("epochs", "got %v; want above 0", h.Epochs)
	}
	return nil
}

// Rate implements engine.Schedule.
func (h *halving) Rate(progress, _ float64) float64 { return math.Exp2(-progress / h.Epochs) }

// Continuous implements the interface of that name: the rate has no jumps.
func (*halving) Continuous() {}

// Range implements engine.Ranged.
func (*halving) Range() (low, high float64) { return 0, 1 }
