package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/choices"
	"github.com/unravel-ml/unravel/train/internal/monitor"
)

// Check reports whether a config can be trained and measured, as far as this is known before training. Its data set,
// model and losses must fit together, and its metrics must suit their input. For a model that learns in stages, Check
// looks at the first stage. It writes nothing.
func Check(c Config) error {
	if err := c.Validate(); err != nil {
		return config.AsError(err)
	}
	if c.stage() != nil {
		initial, err := c.InitialConfig()
		if err != nil {
			return err
		}
		return Check(initial)
	}
	e, err := NewExperiment(c)
	if err != nil {
		return err
	}
	l, _, err := e.compile()
	if err != nil {
		return err
	}
	l.Close()
	return nil
}

// CheckSearch reports whether a search can train runs of a config and compare them by a loss of training, if one is
// given, as [EarlyStop] names it. With epochs, it also reports whether training for these numbers of epochs is the
// beginning of the config's training, as a run needs that goes on later.
func CheckSearch(c Config, loss string, epochs []int) error {
	if err := Check(c); err != nil || c.stage() != nil {
		return err
	}
	e, err := NewExperiment(c)
	if err != nil {
		return err
	}
	l, _, err := e.compile()
	if err != nil {
		return err
	}
	defer l.Close()
	if loss != "" {
		if _, err := monitor.FindLoss(e.losses(l), loss); err != nil {
			return config.AsError(config.Invalid("loss", "%w", err))
		}
	}
	if why := l.Prefixes(epochs); why != "" {
		return config.AsError(config.Invalid("max", "the runs cannot go on to more epochs: %s; want, for instance, a constant schedule", why))
	}
	return nil
}

// Here returns a config that this machine can check, rehearse and estimate the memory of: in float32 if the processor
// lacks mixed precision. Use it for runs on other machines. They check the config itself.
func Here(c Config) Config {
	if c.Train.Precision.Check() != nil {
		c.Train.Precision = engine.Float32
	}
	c.Train.Device = c.Train.Device.Here()
	return c
}

// measurable returns an error for more images than memory can measure.
func (e *Experiment) measurable() error {
	n := e.Data.Len()
	if count := e.Config.Metrics.Sample; count > 0 {
		n = min(n, count)
	}
	const number = 8 // bytes
	if err := memory.Check(fmt.Sprintf("encoding and measuring %d images", n), memory.Product(n, e.codeNumbers(), number)); err != nil {
		return e.Config.mistake("metrics.sample", fmt.Errorf("%w; want a sample of fewer images", err))
	}
	return nil
}

// codeNumbers returns how many numbers an encoded and measured image takes: its factors, its code, and its places in
// a split, an order and a sample.
func (e *Experiment) codeNumbers() int {
	const lists = 4
	return lists + 4*len(e.Data.Factors()) + 3*e.Coder.Width()
}

// compile prepares the training and measuring of an experiment. Parts that do not fit together give a *config.Error.
func (e *Experiment) compile() (*engine.Loop, *monitor.Monitor, error) {
	if err := e.measurable(); err != nil {
		return nil, nil, err
	}
	unsuited := e.Sample().suits(e.Final(), e.Data.Len())
	if unsuited != nil && !choices.Inherits(e.Config.Metrics.Final, e.Config.Losses) {
		return nil, nil, unsuited
	}
	l, err := e.Loop()
	if err != nil { // report a mistake in a loss before the metric that takes its settings
		return nil, nil, e.Config.untrainable(err)
	}
	if unsuited != nil {
		l.Close()
		return nil, nil, unsuited
	}
	m, err := e.watch(l)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, m, nil
}

// watch prepares the measurements during training: validation losses and metrics.
func (e *Experiment) watch(l *engine.Loop) (*monitor.Monitor, error) {
	if err := e.openOthers(); err != nil {
		return nil, err
	}
	var err error
	if e.validation, err = e.newValidation(l); err != nil {
		return nil, err
	}
	if e.validation != nil {
		l.AddHook(validationHook(e.validation, e.Config.Train.Validation.Every))
	}
	if s := e.Config.Train.Stop; s != nil && s.Loss != "" {
		if _, err := monitor.FindLoss(e.losses(l), s.Loss); err != nil {
			return nil, e.Config.mistake("train.stop.loss", err)
		}
	}
	return newMonitor(e, l.EpochImages())
}
