package train

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine"
)

// warmSteps are the steps of Calibrate that are not timed: memory is touched for the first time.
const warmSteps = 2

// Calibrate estimates how long the training of a config takes, from some of its first steps, each objective's
// in turn. Measuring and drawing at the end are not part of it, nor is what an earlier stage learns from codes: the truth stands
// for it, or, where there is none, the second stage counts as long as the first.
func Calibrate(ctx context.Context, c Config, steps int) (time.Duration, error) {
	if err := c.Validate(); err != nil {
		return 0, config.AsError(err)
	}
	if steps < 1 {
		return 0, fmt.Errorf("calibrate: %d steps; want 1 or more", steps)
	}
	if initial, err := c.InitialConfig(); err == nil {
		first, err := Calibrate(ctx, initial, steps)
		if err != nil {
			return 0, err
		}
		second, err := Calibrate(ctx, c.withTruth(), steps)
		if err != nil { // there is no truth
			return 2 * first, nil
		}
		return first + second, nil
	}
	if c.Train.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Train.Threads))
	}
	e, err := NewExperiment(c)
	if err != nil {
		return 0, err
	}
	l, err := e.Loop()
	if err != nil {
		return 0, c.untrainable(err)
	}
	defer l.Close()
	t, err := timeSteps(ctx, l, steps, func() bool { return false })
	if err != nil {
		return 0, err
	}
	return t.mean() * time.Duration(c.Train.Epochs*l.EpochSteps()), nil
}

// stepTimes are the times of some steps.
type stepTimes struct {
	sum   time.Duration
	steps int
}

// mean returns the mean time of a step; 0 if none was timed.
func (t stepTimes) mean() time.Duration { return t.sum / time.Duration(max(1, t.steps)) }

// timeSteps takes steps of training, of an objective so many after the first ones, or fewer if there are enough.
func timeSteps(ctx context.Context, l *engine.Loop, steps int, enough func() bool) (t stepTimes, err error) {
	count := map[string]int{}
	last := time.Now()
	l.AddHook(engine.Hook{Name: "calibration", OnStep: func(l *engine.Loop, r *engine.StepReport) error {
		count[r.Objective]++
		if count[r.Objective] > warmSteps {
			t.sum += time.Since(last)
			t.steps++
		}
		if count[r.Objective] == warmSteps+steps || r.Step >= 4*(warmSteps+steps) || t.steps > 0 && enough() {
			l.Stop("calibrated")
		}
		last = time.Now()
		return nil
	}})
	if err := l.Run(ctx); err != nil && !errors.Is(err, ErrStopped) {
		return t, err
	}
	return t, nil
}

// withTruth is a config whose model learns nothing in an earlier stage but has it from the data set, with all labels.
func (c Config) withTruth() Config {
	c.Model.Value = c.Model.Value.(models.Staged).Known()
	c.Supervision = datasets.Supervised("labels", &datasets.FactorLabels{Fraction: 1, Share: 0.5})
	return c
}
