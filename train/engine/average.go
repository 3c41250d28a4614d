package engine

import (
	"strings"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph/nn"
)

// Average holds the settings of an exponential moving average of the weights (Polyak and Juditsky 1992; Tarvainen and
// Valpola 2017, equation 2). After every update, the average a of a weight w becomes Decay a + (1 - Decay) w. The
// averages start as copies, after the first update or at From. They do not affect training. The running statistics of
// normalisation layers are averaged like weights. Other states (EMA targets, queues), frozen parameters, and parameters
// without a gradient are not averaged.
type Average struct {
	Decay float64 `yaml:"decay" doc:"decay of the average per update, 0 to 1"`
	From  Span    `yaml:"from" doc:"start of averaging, in epochs or {steps: N}; before it, the averages are copies"`
}

// SetDefaults sets the decay to 0.999.
func (a *Average) SetDefaults() { a.Decay = 0.999 }

// Validate checks the settings' ranges.
func (a *Average) Validate() error { return checkSettings(below1("decay", a.Decay)) }

type average struct {
	settings   Average
	parameters []Parameter // the averaged parameters
	values     []Parameter // the averages
	step       *nn.Average
}

const runningSuffix = "/running"

// newAverage creates the averages of the parameters that a loop trains; nil without settings.
func (l *Loop) newAverage() *average {
	if l.settings.Average == nil {
		return nil
	}
	a := &average{settings: *l.settings.Average}
	trained := map[string]bool{}
	for _, o := range l.objectives {
		for _, name := range o.names {
			trained[name] = true
		}
	}
	params := l.plan.model.Params()
	var list []string
	for _, name := range params.Names() {
		frozen := l.plan.frozen != nil && l.plan.frozen(name)
		if trained[name] || params.IsState(name) && strings.HasSuffix(name, runningSuffix) && !frozen {
			list = append(list, name)
		}
	}
	a.parameters = parametersOf(params, list)
	var values, weights [][]float32
	for _, p := range a.parameters {
		x := append([]float32(nil), p.Value...)
		values, weights = append(values, x), append(weights, p.Value)
		a.values = append(a.values, Parameter{AveragePrefix + p.Name, x, p.Shape})
	}
	a.step = nn.AverageOf(values, weights)
	return a
}

// decay returns the decay of the averages after an update: 0 while they are copies.
func (a *average) decay(t Time) float64 {
	if t.Update == 0 || !a.settings.From.over(t) {
		return 0
	}
	return a.settings.Decay
}

// SwapAverage swaps the parameters with their averages; the next call swaps back. It returns false without averages.
func (l *Loop) SwapAverage() bool {
	a := l.average
	if a == nil {
		return false
	}
	l.beginAverage()
	for i, p := range a.parameters {
		x := a.values[i].Value
		for j, w := range p.Value {
			p.Value[j], x[j] = x[j], w
		}
	}
	return true
}

// beginAverage copies the parameters to the averages if nothing has been trained yet.
func (l *Loop) beginAverage() {
	if a := l.average; a != nil && l.pos.updates == 0 {
		for i, p := range a.parameters {
			copy(a.values[i].Value, p.Value)
		}
	}
}

func (l *Loop) averageTensors(tensors []Tensor) []Tensor {
	if l.average == nil {
		return tensors
	}
	l.beginAverage()
	for _, p := range l.average.values {
		tensors = append(tensors, Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value})
	}
	return tensors
}

func (l *Loop) restoreAverage(t Tensors) error {
	if l.average == nil {
		return nil
	}
	for _, p := range l.average.values {
		v, err := t.Float32s(p.Name, p.Shape...)
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	return nil
}

func (a *Average) check() error {
	if a == nil {
		return nil
	}
	if err := a.Validate(); err != nil {
		return &Error{"train.average", err}
	}
	if !a.From.check() {
		return config.Invalid("train.average.from", "%+v is no length of training; want epochs or steps from 0 on", a.From)
	}
	return nil
}
