package train

import (
	"errors"
	"fmt"
	"io"

	"github.com/unravel-ml/unravel/config"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/runs"
)

// Begin makes the folder of a run that has not taken a step, whose model has parameters from elsewhere: load sets
// them. The run can be measured and encoded, and training continues it from there.
func Begin(c Config, dir string, load func(*Experiment) error) (e *Experiment, err error) {
	if err := c.Validate(); err != nil {
		return nil, config.AsError(err)
	}
	if e, err = NewExperiment(c); err != nil {
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
	text, err := c.Encode()
	if err != nil {
		return nil, err
	}
	f, state, err := encodeCheckpoint(l, state{Config: string(text)})
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	store, err := runs.Create(dir)
	if errors.Is(err, runs.ErrExists) {
		return nil, fmt.Errorf("%s: %w; want another folder", dir, runs.ErrExists)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Write(runs.CheckpointFile, func(w io.Writer) error { return safetensors.Write(w, f) }); err != nil {
		return nil, err
	}
	if err := store.Write(runs.StateFile, runs.Bytes(append(state, '\n'))); err != nil {
		return nil, err
	}
	return e, store.Write(runs.Config, runs.Bytes(text)) // last: it makes the folder a run
}
