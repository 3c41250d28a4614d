package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/runs"
)

// Options say where and how to run an experiment.
type Options struct {
	Dir    string    // the run's folder; empty: runs/ and the config's name
	Resume bool      // continue the run in Dir
	Log    io.Writer // progress, for people

	// Progress, if any, is called with the steps taken and those of all epochs: at the beginning and
	// after each step.
	Progress func(done, all int)
}

// Result is what a run found.
type Result struct {
	Name    string           `json:"name"`
	Dir     string           `json:"dir"`
	Seed    uint64           `json:"seed"`
	Epochs  int              `json:"epochs"`
	Steps   int              `json:"steps"`
	Seconds float64          `json:"seconds"` // of this sitting, figures included
	Losses  runs.Losses      `json:"losses"`  // means over the last epoch
	Fit     *Fit             `json:"fit,omitempty"`
	Metrics []metrics.Result `json:"metrics"`
}

// Run trains, measures and stores an experiment. When the context ends it saves
// a checkpoint and returns ErrStopped. A config whose parts do not go together is
// a *ConfigError.
func Run(ctx context.Context, c Config, o Options) (*Result, error) {
	begin := time.Now()
	if err := c.Validate(); err != nil {
		return nil, &ConfigError{err}
	}
	if o.Dir == "" {
		o.Dir = filepath.Join("runs", c.Name)
	}
	if c.Train.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Train.Threads))
	}
	e, err := prepare(ctx, c, o)
	if err != nil {
		return nil, err
	}
	t, w, err := e.ready()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s, err := openSession(e, t, w, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	err = s.fit(ctx)
	var results []metrics.Result
	if err == nil {
		results, err = s.finish(ctx)
	}
	if err == nil {
		err = s.record(begin)
	}
	if errors.Is(err, ErrStopped) {
		return nil, fmt.Errorf("%w; the run in %s can be resumed", ErrStopped, o.Dir)
	}
	if err != nil {
		return nil, err
	}
	return &Result{Name: c.Name, Dir: o.Dir, Seed: c.Seed, Epochs: t.epoch, Steps: t.step,
		Seconds: time.Since(begin).Seconds(), Losses: s.last, Fit: s.fitted, Metrics: results}, nil
}

// prepare builds the experiment, after the stage before its training where the model has one.
func prepare(ctx context.Context, c Config, o Options) (*Experiment, error) {
	if c.stage() == nil {
		return NewExperiment(c)
	}
	learned, err := readLearned(o.Dir, c)
	if err != nil {
		return nil, err
	}
	if learned == nil {
		if _, err := os.Stat(filepath.Join(o.Dir, runs.Config)); err == nil && !o.Resume {
			return nil, existing(o.Dir) // before it takes an hour
		}
		if learned, err = learn(ctx, c, o); errors.Is(err, ErrStopped) {
			return nil, fmt.Errorf("%w; the run in %s can be resumed", ErrStopped, o.Dir)
		}
		if err != nil {
			return nil, err
		}
	}
	return newExperiment(c, learned)
}

// openSession creates or opens the run's folder, and restores the trainer if it is resumed.
func openSession(e *Experiment, t *Trainer, w *monitor, o Options) (s *session, err error) {
	s = &session{experiment: e, trainer: t, monitor: w, log: o.Log, progress: o.Progress, saved: time.Now()}
	defer func(opened *session) {
		if err != nil {
			opened.close()
		}
	}(s)
	open := runs.Create
	_, missing := os.Stat(filepath.Join(o.Dir, runs.Config))
	resume := o.Resume && missing == nil
	if resume {
		open = runs.Open
	}
	if s.store, err = open(o.Dir); err != nil {
		if errors.Is(err, runs.ErrExists) {
			return nil, existing(o.Dir)
		}
		return nil, err
	}
	c := e.Config
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	s.config = string(text)
	if resume {
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	if err := s.store.Write(runs.Config, runs.Bytes(text)); err != nil {
		return nil, err
	}
	if err := s.store.Remove(runs.RecordFile); err != nil {
		return nil, err
	}
	if e.Learned != nil {
		if err := s.store.WriteLearned(c.stage().Name, e.Learned); err != nil {
			return nil, err
		}
	}
	if err := s.openLogs(); err != nil {
		return nil, err
	}
	s.say("%s: %s on %s, seed %d, %d epochs, into %s", c.Name, c.Model.Name, c.Dataset.Name, c.Seed, c.Train.Epochs, o.Dir)
	for _, l := range c.Losses {
		if e, ok := l.Value.(losses.Explained); ok {
			s.say("%s: %s", l.Name, e.Explain())
		}
	}
	for _, note := range t.Notes() {
		s.say("note: %s", note)
	}
	if t.LeftOut > 0 {
		s.say("note: %d images are in no labelled group, and are not trained on: all losses are about groups", t.LeftOut)
	}
	if names := t.Untrained(); len(names) > 0 {
		s.say("note: no loss depends on %d of the %d parameters, such as %s; they stay as they were initialised", len(names), len(t.Model.Params().Names()), names[0])
	}
	if resume {
		s.say("continuing after step %d (%d epochs)", t.step, t.epoch)
	}
	return s, nil
}

func existing(dir string) error {
	return fmt.Errorf("%s: %w; want it resumed, or another folder", dir, runs.ErrExists)
}
