package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/runs"
)

// state is what a checkpoint holds besides tensors.
type state struct {
	Version    int                 `json:"version"`
	Step       int                 `json:"step"`
	Epoch      int                 `json:"epoch"`    // epochs finished
	InEpoch    int                 `json:"in_epoch"` // steps taken in the epoch under way
	Images     int                 `json:"images"`   // images seen in the epoch under way
	Seconds    float64             `json:"seconds"`  // spent on the epoch under way
	Sums       map[string]*lossSum `json:"sums"`     // losses of the epoch under way
	Sampler    datasets.State      `json:"sampler"`
	Noise      []byte              `json:"noise"`
	Permute    []byte              `json:"permute,omitempty"`
	Second     *datasets.State     `json:"second,omitempty"` // of the sampler of second batches
	Optimizers map[string]int      `json:"optimizers"`       // steps taken
	Judges     map[string]int      `json:"judges,omitempty"` // steps taken by discriminators
	Watch      watchState          `json:"watch"`
	Done       bool                `json:"done"` // whether training has ended
	Config     string              `json:"config"`
}

const stateVersion = 1

// stateKey is the metadata key under which a checkpoint holds its state.
const stateKey = "unravel.state"

// checkpoint collects everything that training needs to continue.
func (t *Trainer) checkpoint(config string, done bool) (*safetensors.File, []byte, error) {
	s := state{Version: stateVersion, Step: t.step, Epoch: t.epoch, InEpoch: t.inEpoch, Images: t.images, Seconds: t.duration.Seconds(),
		Sums: t.sums, Sampler: t.sampler.State(), Optimizers: map[string]int{}, Watch: t.watch, Done: done, Config: config}
	var err error
	if s.Noise, err = t.noise.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	f := &safetensors.File{Metadata: map[string]string{}}
	if err := t.saveParams(f, "model/", t.Model.Params()); err != nil {
		return nil, nil, err
	}
	for _, o := range t.plan.objectives() {
		if t.optimizers[o.Name] == nil {
			continue
		}
		steps, tensors := t.optimizers[o.Name].optimizer.State()
		s.Optimizers[o.Name] = *steps
		for _, p := range tensors {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: "optimizer/" + o.Name + "/" + p.Name, Shape: []int{len(p.Value)}, Data: p.Value})
		}
	}
	if err := t.saveJudges(f, &s); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, nil, err
	}
	f.Metadata[stateKey] = string(text)
	return f, text, nil
}

// saveParams adds parameters to a checkpoint.
func (t *Trainer) saveParams(f *safetensors.File, prefix string, params *nn.Params) error {
	for _, name := range params.Names() {
		p := params.Get(name)
		if i := slices.IndexFunc(p.Float32s(), notFinite); i >= 0 {
			return fmt.Errorf("after step %d: element %d of parameter %q is %v; try a smaller learning rate, or train.clip", t.step, i, name, p.Float32s()[i])
		}
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: prefix + name, Shape: p.Shape(), Data: p.Float32s()})
	}
	return nil
}

// saveJudges adds the discriminators, if there are any, to a checkpoint.
func (t *Trainer) saveJudges(f *safetensors.File, s *state) (err error) {
	if len(t.discriminators) == 0 {
		return nil
	}
	if s.Permute, err = t.permute.MarshalBinary(); err != nil {
		return err
	}
	if t.second != nil {
		second := t.second.sampler.State()
		s.Second = &second
	}
	s.Judges = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(t.discriminators)) {
		steps, tensors := t.discriminators[name].State()
		s.Judges[name] = *steps
		for _, p := range tensors {
			f.Tensors = append(f.Tensors, safetensors.Tensor{Name: "judge-optimizer/" + name + "/" + p.Name, Shape: []int{len(p.Value)}, Data: p.Value})
		}
	}
	return t.saveParams(f, "judge/", t.plan.discriminators)
}

// restoreJudges sets the discriminators to a checkpoint.
func (t *Trainer) restoreJudges(f *safetensors.File, s *state) error {
	if len(s.Judges) != len(t.discriminators) {
		return fmt.Errorf("it has %d discriminators, want %d", len(s.Judges), len(t.discriminators))
	}
	for name, steps := range s.Judges {
		o := t.discriminators[name]
		if o == nil {
			return fmt.Errorf("it has a discriminator of the loss %q, which this experiment does not have", name)
		}
		if err := restoreOptimizer(f, "judge-optimizer/"+name+"/", o, steps); err != nil {
			return err
		}
	}
	for _, name := range t.plan.discriminators.Names() {
		p := t.plan.discriminators.Get(name)
		v, err := f.Float32s("judge/"+name, p.Shape()...)
		if err != nil {
			return err
		}
		copy(p.Float32s(), v)
	}
	if len(t.discriminators) == 0 {
		return nil
	}
	if (s.Second != nil) != (t.second != nil) {
		return errors.New("one of it and this experiment has second batches for discriminators (second_batch), the other has not")
	}
	if t.second != nil {
		if err := t.second.loader.Restore(*s.Second); err != nil {
			return err
		}
	}
	return t.permute.UnmarshalBinary(s.Permute)
}

// restoreOptimizer sets an optimiser to a checkpoint.
func restoreOptimizer(f *safetensors.File, prefix string, o Optimizer, steps int) error {
	at, tensors := o.State()
	*at = steps
	for _, p := range tensors {
		v, err := f.Float32s(prefix+p.Name, len(p.Value))
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	return nil
}

func notFinite(x float32) bool { return x-x != 0 }

// restore sets the trainer to a checkpoint.
func (t *Trainer) restore(f *safetensors.File, s *state) error {
	if err := loadParams(t.Model, f); err != nil {
		return err
	}
	if len(s.Optimizers) != len(t.optimizers) {
		return fmt.Errorf("it has %d objectives, want %d", len(s.Optimizers), len(t.optimizers))
	}
	for name, steps := range s.Optimizers {
		o := t.optimizers[name]
		if o == nil {
			return fmt.Errorf("it is of a model with the objective %q, which this one does not have", name)
		}
		if err := restoreOptimizer(f, "optimizer/"+name+"/", o.optimizer, steps); err != nil {
			return err
		}
	}
	if err := t.restoreJudges(f, s); err != nil {
		return err
	}
	if err := t.loader.Restore(s.Sampler); err != nil {
		return err
	}
	if err := t.noise.UnmarshalBinary(s.Noise); err != nil {
		return err
	}
	t.step, t.epoch, t.inEpoch, t.images, t.watch = s.Step, s.Epoch, s.InEpoch, s.Images, s.Watch
	t.duration = time.Duration(s.Seconds * float64(time.Second))
	if s.Sums != nil {
		t.sums = s.Sums
	}
	return nil
}

// errOtherModel says that a checkpoint has other tensors than the config asks for.
var errOtherModel = errors.New("the checkpoint does not fit the config")

// errNoCheckpoint says that a folder has none.
var errNoCheckpoint = errors.New("there is no checkpoint")

// readCheckpoint reads the checkpoint of a run's folder. If the newest one is
// damaged it reads the one before and returns a warning.
func readCheckpoint(dir string) (f *safetensors.File, s *state, warning string, err error) {
	newest := filepath.Join(dir, runs.CheckpointFile)
	if f, s, err = readOne(newest); err == nil {
		return f, s, "", nil
	}
	older := filepath.Join(dir, runs.PreviousFile)
	f, s, second := readOne(older)
	switch {
	case second == nil:
		return f, s, fmt.Sprintf("warning: %v; using the checkpoint before it, of step %d", err, s.Step), nil
	case errors.Is(err, fs.ErrNotExist) && errors.Is(second, fs.ErrNotExist):
		return nil, nil, "", fmt.Errorf("%w in %s", errNoCheckpoint, dir)
	case errors.Is(second, fs.ErrNotExist):
		return nil, nil, "", err
	}
	return nil, nil, "", fmt.Errorf("%w; and the checkpoint before it: %w", err, second)
}

func readOne(path string) (*safetensors.File, *state, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, nil, err
	}
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint: %w", err)
	}
	var s state
	if err := json.Unmarshal([]byte(f.Metadata[stateKey]), &s); err != nil {
		return nil, nil, fmt.Errorf("checkpoint %s: its state cannot be read: %w", path, err)
	}
	if s.Version != stateVersion {
		return nil, nil, fmt.Errorf("checkpoint %s: it has version %d, want %d", path, s.Version, stateVersion)
	}
	return f, &s, nil
}
