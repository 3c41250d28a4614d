package main

import (
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/train/engine"
)

// momentum is an optimiser: gradient descent with momentum (Polyak 1964). With gradients g it takes the step
//
//	v = Decay v + g
//	w = w - LR v
type momentum struct {
	LR    float64 `yaml:"lr" doc:"learning rate"`
	Decay float64 `yaml:"decay" doc:"decay of the velocity, 0 to 1"`
}

func (m *momentum) Validate() error {
	if !(m.LR > 0 && m.LR <= 1e6) {
		return config.Invalid("lr", "%v is out of range; want above 0, and at most 1e6", m.LR)
	}
	if !(m.Decay >= 0 && m.Decay < 1) {
		return config.Invalid("decay", "%v is out of range; want 0 or more, below 1", m.Decay)
	}
	return nil
}

// New implements engine.OptimizerSettings.
func (m *momentum) New(parameters []engine.Parameter) engine.Optimizer {
	d := &descent{settings: *m, parameters: parameters}
	for _, p := range parameters {
		d.velocities = append(d.velocities,
			engine.Parameter{Name: "velocity/" + p.Name, Value: make([]float32, len(p.Value))})
	}
	return d
}

// descent is the optimiser of a group of parameters.
type descent struct {
	settings               momentum
	parameters, velocities []engine.Parameter
	steps                  int
}

// Norm implements engine.Optimizer.
func (d *descent) Norm(gradients [][]float32) float64 {
	sum := 0.0
	for _, g := range gradients {
		for _, v := range g {
			sum += float64(v) * float64(v)
		}
	}
	return math.Sqrt(sum)
}

// Update implements engine.Optimizer.
func (d *descent) Update(gradients [][]float32, rate, clip float64) {
	d.steps++
	for i, p := range d.parameters {
		velocity := d.velocities[i].Value
		for j, g := range gradients[i] {
			velocity[j] = float32(d.settings.Decay)*velocity[j] + float32(clip)*g
			p.Value[j] -= float32(d.settings.LR*rate) * velocity[j]
		}
	}
}

// State implements engine.Optimizer.
func (d *descent) State() (steps *int, tensors []engine.Parameter) { return &d.steps, d.velocities }
