// Package checkpoint reads and writes the checkpoints of a run: everything that training needs to continue.
package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/monitor"
	"github.com/unravel-ml/unravel/train/rundir"
	"github.com/unravel-ml/unravel/train/weights"
)

// State is everything in a checkpoint except the tensors. It is stored in the file of the tensors, because a single
// rename must replace both. state.json is a copy for people.
type State struct {
	engine.State
	Watch   monitor.Seen `json:"watch"`
	Best    *Best        `json:"best,omitempty"`
	Done    bool         `json:"done"`              // training has ended
	Stopped string       `json:"stopped,omitempty"` // why a hook ended training
	Config  string       `json:"config"`
	Kernels string       `json:"kernels,omitempty"` // instruction sets of the sessions so far, in order

	Start   *rundir.Start  `json:"start,omitempty"` // source of the initial parameters
	History rundir.History `json:"history,omitempty"`
}

// Best has the fields of train.Best.
type Best struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Epoch  int     `json:"epoch"`
	Step   int     `json:"step"`
}

// StateKey is the metadata key of the state in a checkpoint.
const StateKey = "unravel.state"

const parameters = "model/" // prefix of a model's parameters in a checkpoint

// ErrOtherModel is the error for a checkpoint whose model or config differs from its folder's.
var ErrOtherModel = errors.New("the checkpoint does not fit the config")

// ErrMissing is the error for a folder without a checkpoint.
var ErrMissing = errors.New("there is no checkpoint")

// Encode returns the state of a loop and the rest of the run's state as a file, and the text of the state.
func Encode(l *engine.Loop, s State) (*safetensors.File, []byte, error) {
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
	f.Metadata = map[string]string{StateKey: string(text)}
	return f, text, err
}

// Checkpoint is the content of a run's checkpoint file.
type Checkpoint struct {
	*safetensors.File
	State   *State
	Newer   int    // number of damaged newer checkpoints
	Warning string // describes the damaged ones
}

// Read reads the checkpoint of a run's folder. If the newest is damaged, it warns and reads the newest undamaged.
func Read(dir string) (c Checkpoint, err error) {
	var damaged, missing error
	for newer := 0; ; newer++ {
		c, err = ReadFile(filepath.Join(dir, rundir.Version(rundir.CheckpointFile, newer)))
		c.Newer = newer
		switch {
		case err == nil && newer == 0:
			return c, nil
		case err == nil:
			c.Warning = fmt.Sprintf("warning: %v; using the checkpoint before it, of step %d",
				cmp.Or(damaged, missing), c.State.Step)
			return c, nil
		case !errors.Is(err, fs.ErrNotExist) && damaged == nil:
			damaged = err
		case !errors.Is(err, fs.ErrNotExist):
			damaged = fmt.Errorf("%w; and the checkpoint before it: %w", damaged, err)
		case newer > 1 && damaged != nil:
			return c, damaged
		case newer > 1: // a checkpoint may be missing while a newer one is written
			return c, fmt.Errorf("%w in %s", ErrMissing, dir)
		case missing == nil:
			missing = err
		}
	}
}

func ReadFile(path string) (c Checkpoint, err error) {
	if _, err := os.Stat(path); err != nil {
		return c, err
	}
	if c.File, err = safetensors.ReadFile(path); err != nil {
		return c, fmt.Errorf("checkpoint: %w", err)
	}
	if c.State, err = stateIn(c.Metadata); err != nil {
		return c, fmt.Errorf("checkpoint %s: %w", path, err)
	}
	return c, nil
}

// ReadState returns the state of the newest checkpoint with a readable header, without its tensors, or nil.
func ReadState(dir string) *State {
	for newer := 0; newer <= 2; newer++ { // a checkpoint may be missing while a newer one is written
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

func stateIn(metadata map[string]string) (*State, error) {
	var s State
	if err := json.Unmarshal([]byte(metadata[StateKey]), &s); err != nil {
		return nil, fmt.Errorf("its state cannot be read: %w", err)
	}
	if s.Version != engine.StateVersion {
		return nil, fmt.Errorf("it has version %d, want %d", s.Version, engine.StateVersion)
	}
	return &s, nil
}

// Weights returns the parameters and states of the model. The name describes their source.
func (c *Checkpoint) Weights(name string) *weights.File {
	var tensors []weights.Tensor
	for _, t := range c.Tensors {
		name, ok := strings.CutPrefix(t.Name, parameters)
		data, is := t.Data.([]float32)
		if ok && is {
			tensors = append(tensors, weights.Tensor{Name: name, Shape: t.Shape, Data: data})
		}
	}
	return weights.NewFile(name, tensors)
}

// HashParameters hashes the parameters: SHA-256 of names, shapes and bits of the values, in the order of the file.
func (c *Checkpoint) HashParameters() (string, error) {
	h := sha256.New()
	for _, t := range c.Tensors {
		values, ok := t.Data.([]float32)
		if !ok || !strings.HasPrefix(t.Name, parameters) {
			continue
		}
		fmt.Fprintf(h, "%s %v\n", t.Name, t.Shape)
		if err := binary.Write(h, binary.LittleEndian, values); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Load sets a model's parameters from a checkpoint with the same parameters.
func (c *Checkpoint) Load(to *nn.Params) error {
	count := 0
	for _, x := range c.Tensors {
		if strings.HasPrefix(x.Name, parameters) {
			count++
		}
	}
	if want := len(to.Names()); count != want {
		return fmt.Errorf("%w: it has %d parameters, want %d", ErrOtherModel, count, want)
	}
	for _, name := range to.Names() {
		p := to.Get(name)
		v, err := c.Float32s(parameters+name, p.Shape()...)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrOtherModel, err)
		}
		copy(p.Float32s(), v)
	}
	return nil
}

// LoadAverage replaces parameters by their averages, if the checkpoint has averages of them.
func (c *Checkpoint) LoadAverage(to *nn.Params) error {
	found := false
	for _, x := range c.Tensors {
		name, ok := strings.CutPrefix(x.Name, engine.AveragePrefix)
		if !ok {
			continue
		}
		found = true
		p := to.Get(name)
		if p == nil {
			return fmt.Errorf("%w: it has an average of %q, which the model does not have", ErrOtherModel, name)
		}
		v, err := c.Float32s(x.Name, p.Shape()...)
		if err != nil {
			return err
		}
		copy(p.Float32s(), v)
	}
	if !found {
		return errors.New("its checkpoint has no average of the weights; want a run with train.average")
	}
	return nil
}
