package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/safetensors"
)

// State is the position of training. Loops with equal states and tensors continue with the same bits.
type State struct {
	Version        int                 `json:"version"`
	Step           int                 `json:"step"`
	Epoch          int                 `json:"epoch"`    // number of finished epochs
	InEpoch        int                 `json:"in_epoch"` // number of steps in the current epoch
	Images         int                 `json:"images"`   // number of images seen in the current epoch
	Seconds        float64             `json:"seconds"`  // time spent on the current epoch
	Sums           map[string]*LossSum `json:"sums"`     // losses of the current epoch, by objective
	Sampler        supervision.State   `json:"sampler"`
	Noise          []byte              `json:"noise"`
	Permute        []byte              `json:"permute,omitempty"`
	Dropout        []byte              `json:"dropout,omitempty"` // nil: the model has no dropout
	Second         *supervision.State  `json:"second,omitempty"`  // state of the sampler of second batches
	Optimizers     map[string]int      `json:"optimizers"`        // number of steps, by objective
	Discriminators map[string]int      `json:"judges,omitempty"`  // number of steps of discriminators, by loss
	// number of updates, if gradients are accumulated
	Updates int                        `json:"updates,omitempty"`
	Group   *BatchGroup                `json:"group,omitempty"` // the incomplete group of accumulated batches
	Hooks   map[string]json.RawMessage `json:"hooks,omitempty"` // states of hooks, by name
}

// StateVersion is the version of the State that this package writes and reads.
const StateVersion = 1

// LossSum sums the losses of an objective over an epoch, weighted by images.
type LossSum struct {
	Names  []string  `json:"names"`
	Sums   []float64 `json:"sums"`
	Images int       `json:"images"`
}

// Tensor is a named array of a State. Its data belong to the loop and are valid until the next step.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// Tensors finds float32 tensors by name. A missing tensor, or a tensor with another shape, is an error.
type Tensors interface {
	Float32s(name string, shape ...int) ([]float32, error)
}

// AveragePrefix is the prefix, before the parameter's name, of the tensor names of averaged weights.
const AveragePrefix = "average/"

// Prefixes of tensor names, by owner.
const (
	modelPrefix         = "model/"
	optimizerPrefix     = "optimizer/"
	discriminatorPrefix = "judge/"
	judgePrefix         = "judge-optimizer/" // tensors of a discriminator's optimiser
)

// State returns the complete state for continuing training. It returns an error if a parameter is NaN or infinite.
func (l *Loop) State() (*State, []Tensor, error) {
	s := &State{Version: StateVersion, Step: l.pos.step, Epoch: l.pos.epoch, InEpoch: l.pos.inEpoch, Images: l.pos.images,
		Seconds: l.pos.duration.Seconds(), Sums: l.pos.sums, Sampler: l.feed.sampler.State(), Optimizers: map[string]int{}}
	err := l.settle()
	if err != nil {
		return nil, nil, err
	}
	if s.Noise, err = l.feed.noise.MarshalBinary(); err != nil {
		return nil, nil, err
	}
	if l.usesDropout() {
		if s.Dropout, err = l.plan.dropout.MarshalBinary(); err != nil {
			return nil, nil, err
		}
	}
	tensors, err := l.paramTensors(nil, modelPrefix, l.plan.model.Params())
	if err != nil {
		return nil, nil, err
	}
	for _, o := range l.objectives {
		steps, list := o.optimizer.State()
		s.Optimizers[o.Name] = *steps
		tensors = optimizerTensors(tensors, optimizerPrefix+o.Name+"/", list)
	}
	if tensors, err = l.discriminatorState(s, tensors); err != nil {
		return nil, nil, err
	}
	tensors = l.averageTensors(l.groupState(s, tensors))
	s.Hooks, err = l.hookStates()
	return s, tensors, err
}

func (l *Loop) usesDropout() bool {
	return slices.ContainsFunc(l.objectives, func(o *objective) bool { return o.hasDropout })
}

func (l *Loop) paramTensors(tensors []Tensor, prefix string, params *nn.Params) ([]Tensor, error) {
	for _, name := range params.Names() {
		p := params.Get(name)
		data := p.Float32s()
		if i := slices.IndexFunc(data, func(x float32) bool { return x-x != 0 }); i >= 0 {
			return nil, fmt.Errorf("after step %d: element %d of parameter %q is %v; try a smaller learning rate, or train.clip",
				l.pos.step, i, name, data[i])
		}
		tensors = append(tensors, Tensor{Name: prefix + name, Shape: p.Shape(), Data: data})
	}
	return tensors, nil
}

func optimizerTensors(tensors []Tensor, prefix string, list []Parameter) []Tensor {
	for _, p := range list {
		tensors = append(tensors, Tensor{Name: prefix + p.Name, Shape: []int{len(p.Value)}, Data: p.Value})
	}
	return tensors
}

func (l *Loop) discriminatorState(s *State, tensors []Tensor) (_ []Tensor, err error) {
	if len(l.discriminators) == 0 {
		return tensors, nil
	}
	if s.Permute, err = l.feed.permute.MarshalBinary(); err != nil {
		return nil, err
	}
	if l.feed.second != nil {
		second := l.feed.second.sampler.State()
		s.Second = &second
	}
	s.Discriminators = map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(l.discriminators)) {
		steps, list := l.discriminators[name].State()
		s.Discriminators[name] = *steps
		tensors = optimizerTensors(tensors, judgePrefix+name+"/", list)
	}
	return l.paramTensors(tensors, discriminatorPrefix, l.plan.discriminators)
}

// Restore restores a state. After an error the loop is unusable.
func (l *Loop) Restore(s *State, t Tensors) error {
	if s == nil || t == nil {
		return errors.New("there is no state, or there are no tensors, to restore")
	}
	if err := l.settle(); err != nil {
		return err
	}
	if err := restoreParams(t, modelPrefix, l.plan.model.Params()); err != nil {
		return err
	}
	if len(s.Optimizers) != len(l.objectives) {
		return fmt.Errorf("it has %d objectives, want %d", len(s.Optimizers), len(l.objectives))
	}
	for name, steps := range s.Optimizers {
		i := slices.IndexFunc(l.objectives, func(o *objective) bool { return o.Name == name })
		if i < 0 {
			return fmt.Errorf("it belongs to a model with the objective %q, which this model does not have", name)
		}
		if err := restoreOptimizer(t, optimizerPrefix+name+"/", l.objectives[i].optimizer, steps); err != nil {
			return err
		}
	}
	if err := l.restoreDiscriminators(s, t); err != nil {
		return err
	}
	if err := l.feed.loader.Restore(s.Sampler); err != nil {
		return err
	}
	if err := l.feed.noise.UnmarshalBinary(s.Noise); err != nil {
		return err
	}
	if drops := l.usesDropout(); drops != (s.Dropout != nil) {
		return errors.New("the checkpoint or this experiment has dropout, but not both")
	} else if drops {
		if err := l.plan.dropout.UnmarshalBinary(s.Dropout); err != nil {
			return err
		}
	}
	sums := s.Sums
	if sums == nil {
		sums = map[string]*LossSum{}
	}
	l.pos = position{step: s.Step, epoch: s.Epoch, inEpoch: s.InEpoch, images: s.Images, sums: sums,
		duration: time.Duration(s.Seconds * float64(time.Second))}
	if err := errors.Join(l.restoreGroup(s, t), l.restoreAverage(t)); err != nil {
		return err
	}
	return l.restoreHooks(s.Hooks)
}

func restoreParams(t Tensors, prefix string, params *nn.Params) error {
	for _, name := range params.Names() {
		p := params.Get(name)
		v, err := t.Float32s(prefix+name, p.Shape()...)
		if err != nil {
			return err
		}
		copy(p.Float32s(), v)
	}
	return nil
}

func restoreOptimizer(t Tensors, prefix string, o Optimizer, steps int) error {
	count, tensors := o.State()
	*count = steps
	for _, p := range tensors {
		v, err := t.Float32s(prefix+p.Name, len(p.Value))
		if err != nil {
			return err
		}
		copy(p.Value, v)
	}
	return nil
}

func (l *Loop) restoreDiscriminators(s *State, t Tensors) error {
	if len(s.Discriminators) != len(l.discriminators) {
		return fmt.Errorf("it has %d discriminators; want the %d of this experiment",
			len(s.Discriminators), len(l.discriminators))
	}
	for name, steps := range s.Discriminators {
		o := l.discriminators[name]
		if o == nil {
			return fmt.Errorf("it has a discriminator of the loss %q, which this experiment does not have", name)
		}
		if err := restoreOptimizer(t, judgePrefix+name+"/", o, steps); err != nil {
			return err
		}
	}
	if err := restoreParams(t, discriminatorPrefix, l.plan.discriminators); err != nil {
		return err
	}
	if len(l.discriminators) == 0 {
		return nil
	}
	second := l.feed.second
	if (s.Second != nil) != (second != nil) {
		return errors.New("the checkpoint or this experiment has second batches for discriminators (second_batch), but not both")
	}
	if second != nil {
		if err := second.loader.Restore(*s.Second); err != nil {
			return err
		}
	}
	return l.feed.permute.UnmarshalBinary(s.Permute)
}

const stateKey = "unravel.state" // metadata key under which a file holds its state

// Save writes the state as a safetensors file. [Loop.Load] continues training from it with the same bits.
func (l *Loop) Save(w io.Writer) error {
	s, tensors, err := l.State()
	if err != nil {
		return err
	}
	f := &safetensors.File{Metadata: map[string]string{}}
	for _, t := range tensors {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: t.Name, Shape: t.Shape, Data: t.Data})
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f.Metadata[stateKey] = string(text)
	return safetensors.Write(w, f)
}

// Load restores a state that [Loop.Save] wrote for a loop of the same task.
func (l *Loop) Load(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f, err := safetensors.Decode(text)
	if err != nil {
		return err
	}
	var s State
	if err := json.Unmarshal([]byte(f.Metadata[stateKey]), &s); err != nil {
		return fmt.Errorf("its state cannot be read: %w", err)
	}
	if s.Version != StateVersion {
		return fmt.Errorf("its state has version %d, want %d", s.Version, StateVersion)
	}
	return l.Restore(&s, f)
}
