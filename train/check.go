package train

import (
	"fmt"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/memory"
	"github.com/unravel-ml/unravel/train/engine"
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

// Here returns a config that this machine can check, rehearse and estimate the memory of: in float32 if the processor
// lacks mixed precision. Use it for runs on other machines. They check the config itself.
func Here(c Config) Config {
	if c.Train.Precision.Check() != nil {
		c.Train.Precision = engine.Float32
	}
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
func (e *Experiment) compile() (*engine.Loop, *monitor, error) {
	if err := e.measurable(); err != nil {
		return nil, nil, err
	}
	unsuited := e.Sample().suits(e.Final(), e.Data.Len())
	if unsuited != nil && !e.Config.inherits() {
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
	if s := e.Config.Train.Stop; s != nil && s.Loss != "" {
		if _, err := findLoss(l.Losses(), s.Loss); err != nil {
			l.Close()
			return nil, nil, e.Config.mistake("train.stop.loss", err)
		}
	}
	m, err := newMonitor(e, l.EpochImages())
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, m, nil
}
