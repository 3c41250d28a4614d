package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/unravel-ml/unravel/internal/runstore"
	"github.com/unravel-ml/unravel/metrics"
)

// Options say where and how to run an experiment.
type Options struct {
	Dir    string    // the run's folder; empty: runs/ and the config's name
	Resume bool      // continue the run in Dir
	Log    io.Writer // progress, for people
}

// Result is what a run found.
type Result struct {
	Name    string           `json:"name"`
	Dir     string           `json:"dir"`
	Seed    uint64           `json:"seed"`
	Epochs  int              `json:"epochs"`
	Steps   int              `json:"steps"`
	Seconds float64          `json:"seconds"` // of this sitting, figures included
	Losses  []ObjectiveLoss  `json:"losses"`  // means over the last epoch
	Metrics []metrics.Result `json:"metrics"`
}

// Run trains, measures and stores an experiment. When the context ends it saves
// a checkpoint and returns ErrStopped.
func Run(ctx context.Context, c Config, o Options) (*Result, error) {
	begin := time.Now()
	if o.Dir == "" {
		o.Dir = filepath.Join("runs", c.Name)
	}
	if c.Train.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Train.Threads))
	}
	e, err := NewExperiment(c)
	if err != nil {
		return nil, err
	}
	t, err := NewTrainer(e.Model, e.Data, e.Split, c.Losses, c.Train, c.Seed)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	s, err := openSession(e, t, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.fit(ctx); err != nil {
		return nil, err
	}
	results, err := s.finish(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Name: c.Name, Dir: o.Dir, Seed: c.Seed, Epochs: t.epoch, Steps: t.step,
		Seconds: time.Since(begin).Seconds(), Losses: s.last, Metrics: results}, nil
}

// openSession creates or opens the run's folder, and restores the trainer if it is resumed.
func openSession(e *Experiment, t *Trainer, o Options) (s *session, err error) {
	s = &session{experiment: e, trainer: t, log: o.Log, saved: time.Now()}
	open := runstore.Create
	_, missing := os.Stat(filepath.Join(o.Dir, runstore.Config))
	resume := o.Resume && missing == nil
	if resume {
		open = runstore.Open
	}
	if s.store, err = open(o.Dir); err != nil {
		if errors.Is(err, runstore.ErrExists) {
			return nil, fmt.Errorf("%w; continue it with --resume, or choose another folder with --run", err)
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if resume {
		stored, err := storedConfig(s.store)
		if err != nil {
			return nil, err
		}
		if err := stored.sameTraining(e.Config); err != nil {
			return nil, err
		}
		if err := s.restore(); err != nil {
			return nil, err
		}
	}
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	s.config = string(text)
	if err := s.store.Write(runstore.Config, writeBytes(text)); err != nil {
		return nil, err
	}
	return s, s.openLogs()
}

func writeBytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

func writeJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}
