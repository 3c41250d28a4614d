package train

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/checkpoint"
	"github.com/unravel-ml/unravel/train/rundir"
)

// saver writes the checkpoints of a session.
type saver struct {
	session *session
	every   float64   // seconds between two checkpoints; 0: none before the end
	saved   time.Time // when the last one was written
}

// hook saves at intervals, and when training ends or is stopped.
func (s *saver) hook() engine.Hook {
	due := func(l *engine.Loop) error {
		if s.every <= 0 || l.Stopped() != "" || time.Since(s.saved).Seconds() < s.every {
			return nil
		}
		return s.save(false)
	}
	return engine.Hook{Name: "checkpoint", Priority: savePriority, NoParams: true,
		OnStep:  func(_ context.Context, l *engine.Loop, _ *engine.StepReport) error { return due(l) },
		OnEpoch: func(_ context.Context, l *engine.Loop, _ *engine.EpochReport) error { return due(l) },
		OnEnd: func(_ context.Context, l *engine.Loop, why error) error {
			switch {
			case why == nil:
				return s.save(true)
			case errors.Is(why, ErrStopped):
				if err := s.save(false); err != nil {
					return err
				}
				dir := s.session.store.Dir()
				s.session.console.Info("saved", fmt.Sprintf("saved after step %d in %s", l.Step(), dir), "step", l.Step(), "dir", dir)
			}
			return nil
		}}
}

// save writes a checkpoint and keeps as many earlier ones as the config asks.
func (s *saver) save(done bool) error {
	store := s.session.store
	if err := store.Present(); err != nil {
		return err
	}
	f, text, err := s.session.checkpoint(done)
	if err != nil {
		return err
	}
	if err := s.session.logs.Sync(); err != nil {
		return err
	}
	if err := store.WriteLast(rundir.CheckpointFile, s.session.experiment.Config.Train.Keep.Last, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
		return err
	}
	s.saved = time.Now()
	return store.Write(rundir.StateFile, rundir.Bytes(append(text, '\n')))
}

// checkpoint collects everything that the run needs to continue.
func (s *session) checkpoint(done bool) (*safetensors.File, []byte, error) {
	all := checkpoint.State{Watch: s.watch, Best: (*checkpoint.Best)(s.best), Done: done, Config: s.config, Kernels: s.kernels, Start: s.experiment.Start, History: s.trainedBy()}
	if s.stop.Enough() == "" { // otherwise the next session finds out by itself
		all.Stopped = s.loop.Stopped()
	}
	return checkpoint.Encode(s.loop, all)
}

// HashParameters hashes the parameters in the newest checkpoint of a run's folder: SHA-256 of names, shapes and bits
// of the values, in the order of the file.
func HashParameters(dir string) (string, error) {
	c, err := checkpoint.Read(dir)
	if err != nil {
		return "", err
	}
	return c.HashParameters()
}
