package train

import (
	"errors"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Begin makes the folder of an untrained run with given parameters: load sets them. The run can be measured and
// encoded, and training can continue it. learned holds the results of the stage before training; nil without a stage.
func Begin(c Config, dir string, learned *models.Learned, load func(*Experiment) error) (e *Experiment, err error) {
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	if learned == nil {
		e, err = NewExperiment(c)
	} else {
		e, err = newExperiment(c, learned)
	}
	if err != nil {
		return nil, err
	}
	if err := load(e); err != nil {
		return nil, err
	}
	l, err := e.Loop()
	if err != nil {
		return nil, err
	}
	defer l.Close()
	text, err := e.Config.Encode()
	if err != nil {
		return nil, err
	}
	hash, err := e.Config.Hash()
	if err != nil {
		return nil, err
	}
	f, state, err := encodeCheckpoint(l, state{Config: string(text), Start: e.Start, History: rundir.History{{Config: hash, Other: "it had parameters from elsewhere"}}})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	store, err := rundir.Create(dir)
	if errors.Is(err, rundir.ErrExists) {
		return nil, fmt.Errorf("%s: %w; want another folder", dir, rundir.ErrExists)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return e, store.Begin(func() error {
		if learned != nil {
			if err := store.WriteLearned(c.stage().Name, learned); err != nil {
				return err
			}
		}
		if err := store.Write(rundir.CheckpointFile, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
			return err
		}
		if err := store.Write(rundir.StateFile, rundir.Bytes(append(state, '\n'))); err != nil {
			return err
		}
		if err := rundir.WriteBeginning(store, text); err != nil {
			return err
		}
		return store.Write(rundir.Config, rundir.Bytes(text)) // last, because it makes the folder a run
	})
}
