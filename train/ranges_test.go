package train

import (
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/internal/configtest"
	"github.com/unravel-ml/unravel/train/engine"
)

// Configs accept numbers in the ranges of their error messages.
func TestRanges(t *testing.T) {
	configtest.CheckRanges(t, "testdata/ranges.txt", []registry.Entry[*Config]{{Name: "config", New: func() *Config {
		c := Defaults()
		c.Train.Stop = &EarlyStop{Loss: "loss", Patience: 1}
		c.Train.Average = &engine.Average{}
		c.Train.Average.SetDefaults()
		c.Train.Validation = &Validation{Fraction: 0.5, Every: 1}
		return &c
	}}})
}
