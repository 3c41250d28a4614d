package conformance_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/conformance"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/train/engine"
)

// momentum is gradient descent with momentum, with one fault.
type momentum struct {
	LR    float64 `yaml:"lr" doc:"learning rate"`
	Fault string  `yaml:"fault" doc:"what is wrong"`
}

func (m *momentum) New(parameters []engine.Parameter) engine.Optimizer {
	o := &momentumState{settings: *m, parameters: parameters}
	for _, p := range parameters {
		o.velocity = append(o.velocity, make([]float32, len(p.Value)))
	}
	return o
}

type momentumState struct {
	settings   momentum
	parameters []engine.Parameter
	velocity   [][]float32
	steps      int
}

func (o *momentumState) Norm(gradients [][]float32) float64 {
	var sum float64
	for _, g := range gradients {
		for _, v := range g {
			sum += float64(v) * float64(v)
		}
	}
	if o.settings.Fault == "norm" {
		return sum
	}
	return math.Sqrt(sum)
}

func (o *momentumState) Update(gradients [][]float32, rate, clip float64) {
	if o.steps++; o.settings.Fault == "count" {
		o.steps = 0
	}
	lr := float32(o.settings.LR * rate)
	switch o.settings.Fault {
	case "clock":
		lr *= 1 + float32(clock()%9973)/99730
	case "threads":
		lr *= float32(runtime.GOMAXPROCS(0))
	case "rate":
		lr = float32(o.settings.LR)
	case "clip":
		clip = 1
	case "away":
		lr = -lr
	case "still":
		lr = 0
	}
	for i, p := range o.parameters {
		for j, g := range gradients[i] {
			o.velocity[i][j] = 0.9*o.velocity[i][j] + g*float32(clip)
			p.Value[j] -= lr * o.velocity[i][j]
			if o.settings.Fault == "gradients" {
				gradients[i][j] = 0
			}
		}
	}
}

func (o *momentumState) State() (*int, []engine.Parameter) {
	var list []engine.Parameter
	for i, p := range o.parameters {
		name, v := "velocity/"+p.Name, o.velocity[i]
		switch o.settings.Fault {
		case "names":
			name = "velocity"
		case "copies":
			v = append([]float32(nil), v...)
		case "forgets":
			continue
		}
		list = append(list, engine.Parameter{Name: name, Value: v})
	}
	return &o.steps, list
}

// CheckOptimizer catches each fault, and the message names it. It accepts the optimiser without a fault.
func TestOptimizerFaults(t *testing.T) {
	long.NotShort(t)
	for fault, want := range map[string]string{
		"":          "",
		"norm":      "the root of the sum of all squares",
		"count":     "after 1 steps its state says 0",
		"clock":     "the second time",
		"threads":   "with 2 threads than with 1",
		"rate":      "multiplier of 0 moves parameters",
		"clip":      "a clip of 1/2 and halved gradients with a clip of 1 have different results",
		"away":      "a quadratic function falls from",
		"still":     "multiplier of 1 moves no parameter",
		"gradients": "changes the gradients that it is given",
		"names":     `two tensors of its state are called "velocity"`,
		"copies":    "State returns new tensors at every call",
		"forgets":   "does not take the same steps; want all that steps depend on in State",
	} {
		err := conformance.CheckOptimizer(registry.Entry[engine.OptimizerSettings]{Name: "momentum", Doc: "gradient descent with momentum",
			New: func() engine.OptimizerSettings { return &momentum{LR: 0.01, Fault: fault} }})
		must.Error(t, err, want, fault)
	}
}

// ramp falls in a line, with one fault.
type ramp struct {
	Fault string `yaml:"fault" doc:"what is wrong"`
	calls int
}

func (*ramp) Continuous() {}

func (*ramp) Range() (low, high float64) { return 0, 1 }

func (r *ramp) Rate(progress, epochs float64) float64 {
	r.calls++
	rate := max(0, 1-progress/epochs)
	switch r.Fault {
	case "clock":
		rate *= float64(clock()%9973) / 9973
	case "calls":
		rate /= float64(r.calls)
	case "range":
		rate *= 2
	case "negative":
		rate -= 0.5
	case "infinite":
		rate = 1 / progress
	case "jump":
		if progress > epochs/3 {
			rate /= 2
		}
	case "still":
		rate = 0
	}
	return rate
}

// CheckSchedule catches each fault, and the message names it. It accepts the schedule without a fault.
func TestScheduleFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"":         "",
		"clock":    "depends only on the progress",
		"calls":    "depends only on the progress",
		"range":    "its range is 0 to 1",
		"negative": "want a finite number from 0 on",
		"infinite": "is +Inf; want a finite number from 0 on",
		"jump":     "jumps by 0.333",
		"still":    "nothing is trained",
	} {
		err := conformance.CheckSchedule(registry.Entry[engine.Schedule]{Name: "ramp", Doc: "falls in a line",
			New: func() engine.Schedule { return &ramp{Fault: fault} }})
		must.Error(t, err, want, fault)
	}
}
