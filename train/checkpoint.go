package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/rundir"
)

// state is the part of a checkpoint without tensors. The tensors' file includes it, because one rename must replace
// both at once. state.json is a copy for people.
type state struct {
	engine.State
	Watch   watchState `json:"watch"`
	Best    *Best      `json:"best,omitempty"`
	Done    bool       `json:"done"`              // whether training has ended
	Stopped string     `json:"stopped,omitempty"` // why a hook ended training
	Config  string     `json:"config"`
	Kernels string     `json:"kernels,omitempty"` // instruction sets of the sessions so far, in their order

	Start   *rundir.Start  `json:"start,omitempty"` // source of the initial parameters
	History rundir.History `json:"history,omitempty"`
}

// stateKey is the metadata key of the state in a checkpoint.
const stateKey = "unravel.state"

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
	all := state{Watch: s.watch, Best: s.best, Done: done, Config: s.config, Kernels: s.kernels, Start: s.experiment.Start, History: s.trainedBy()}
	if s.stop.enough() == "" { // otherwise the next session finds out by itself
		all.Stopped = s.loop.Stopped()
	}
	return encodeCheckpoint(s.loop, all)
}

// encodeCheckpoint returns the state of a loop and the rest of the run's state as a file, and the text of the state.
func encodeCheckpoint(l *engine.Loop, s state) (*safetensors.File, []byte, error) {
	position, tensors, err := l.State()
	if err != nil {
		return nil, nil, err
	}
	s.State = *position
	f := &safetensors.File{}
	for _, t := range tensors {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	text, err := json.Marshal(s)
	f.Metadata = map[string]string{stateKey: string(text)}
	return f, text, err
}

// HashParameters hashes the parameters in the newest checkpoint of a run's folder: SHA-256 of names, shapes and bits
// of the values, in the order of the file.
func HashParameters(dir string) (string, error) {
	c, err := readCheckpoint(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, t := range c.file.Tensors {
		values, ok := t.Data.([]float32)
		if !ok || !strings.HasPrefix(t.Name, modelTensors) {
			continue
		}
		fmt.Fprintf(h, "%s %v\n", t.Name, t.Shape)
		if err := binary.Write(h, binary.LittleEndian, values); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// modelTensors is the prefix of a model's parameters in a checkpoint.
const modelTensors = "model/"

// errOtherModel is the error for a checkpoint with another model or config than its folder.
var errOtherModel = errors.New("the checkpoint does not fit the config")

// errNoCheckpoint is the error for a folder without a checkpoint.
var errNoCheckpoint = errors.New("there is no checkpoint")

// checkpoint is the content of a run's checkpoint file.
type checkpoint struct {
	file    *safetensors.File
	state   *state
	newer   int    // number of newer, damaged checkpoints
	warning string // about these
}

// readCheckpoint reads the checkpoint of a run's folder. If the newest one is damaged, it warns and reads the newest
// undamaged one.
func readCheckpoint(dir string) (c checkpoint, err error) {
	var damaged, missing error
	for c.newer = 0; ; c.newer++ {
		c.file, c.state, err = readOne(filepath.Join(dir, rundir.Version(rundir.CheckpointFile, c.newer)))
		switch {
		case err == nil && c.newer == 0:
			return c, nil
		case err == nil:
			c.warning = fmt.Sprintf("warning: %v; using the checkpoint before it, of step %d", cmp.Or(damaged, missing), c.state.Step)
			return c, nil
		case !errors.Is(err, fs.ErrNotExist) && damaged == nil:
			damaged = err
		case !errors.Is(err, fs.ErrNotExist):
			damaged = fmt.Errorf("%w; and the checkpoint before it: %w", damaged, err)
		case c.newer > 1 && damaged != nil:
			return c, damaged
		case c.newer > 1: // one may be missing while a newer one is written
			return c, fmt.Errorf("%w in %s", errNoCheckpoint, dir)
		case missing == nil:
			missing = err
		}
	}
}

// readState reads the state in the newest checkpoint of a run's folder with a readable header, without reading
// tensors. It is nil without such a checkpoint.
func readState(dir string) *state {
	for newer := 0; newer <= 2; newer++ { // one may be missing while a newer one is written
		metadata, err := safetensors.ReadMetadata(filepath.Join(dir, rundir.Version(rundir.CheckpointFile, newer)))
		if err != nil {
			continue
		}
		if s, err := stateIn(metadata); err == nil {
			return s
		}
	}
	return nil
}

// stateIn returns the state in a checkpoint's metadata.
func stateIn(metadata map[string]string) (*state, error) {
	var s state
	if err := json.Unmarshal([]byte(metadata[stateKey]), &s); err != nil {
		return nil, fmt.Errorf("its state cannot be read: %w", err)
	}
	if s.Version != engine.StateVersion {
		return nil, fmt.Errorf("it has version %d, want %d", s.Version, engine.StateVersion)
	}
	return &s, nil
}

func readOne(path string) (*safetensors.File, *state, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, nil, err
	}
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	s, err := stateIn(f.Metadata)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return f, s, nil
}
