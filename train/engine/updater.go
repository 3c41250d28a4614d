package engine

import (
	"fmt"
	"math"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Exclude selects parameters without weight decay and without the scaling of lars and lamb; empty: none.
type Exclude string

// The values of Exclude. Biases and norms are parameters with one axis: the biases of layers, and the scales and
// offsets of normalisations.
const (
	excludeNone           Exclude = "none"
	excludeBiasesAndNorms Exclude = "biases-and-norms"
)

func (e Exclude) excludes(p Parameter) bool { return e == excludeBiasesAndNorms && len(p.Shape) < 2 }

func (e Exclude) check() error {
	if e != "" && e != excludeNone && e != excludeBiasesAndNorms {
		return config.Invalid("exclude", "%q is unknown; want %s or %s", string(e), excludeNone, excludeBiasesAndNorms)
	}
	return nil
}

// setting is an optimiser setting with its range.
type setting struct {
	key       string
	value     float64
	low, high float64 // high is excluded; math.Inf(1) allows all finite numbers
	positive  bool    // low is excluded, too
}

func checkSettings(list ...setting) error {
	for _, s := range list {
		if finite(s.value) && s.value < s.high && (s.value > s.low || s.value == s.low && !s.positive) {
			continue
		}
		switch {
		case s.positive:
			return config.Invalid(s.key, "%v is out of range; want a number above %v", s.value, s.low)
		case math.IsInf(s.high, 1):
			return config.Invalid(s.key, "%v is out of range; want a number from %v on", s.value, s.low)
		}
		return config.Invalid(s.key, "%v is out of range; want %v <= %s < %v", s.value, s.low, s.key, s.high)
	}
	return nil
}

// Ranges of settings.
func positiveNumber(key string, value float64) setting {
	return setting{key: key, value: value, high: math.Inf(1), positive: true}
}
func nonNegative(key string, value float64) setting {
	return setting{key: key, value: value, high: math.Inf(1)}
}
func below1(key string, value float64) setting { return setting{key: key, value: value, high: 1} }

// chunk is the number of elements that one pass of an update processes, so the next pass finds them in the cache.
const chunk = 1024

// updater is embedded in optimisers: parameters, their state, and the parallel parts of an update.
type updater struct {
	parameters []Parameter
	values     [][]float32
	excluded   []bool
	pieces     *kernel.Pieces
	tensors    []Parameter // the state
	steps      int

	gradients [][]float32 // gradients of the current update
	clip      float32
	scratch   [][]float32 // by worker: scratch memory of three chunks
	body      func(worker, tensor, start, end int)
}

// newUpdater returns the initial updater for parameters. body is called for every chunk of an update.
func newUpdater(parameters []Parameter, exclude Exclude, body func(worker, tensor, start, end int)) updater {
	u := updater{parameters: parameters, excluded: make([]bool, len(parameters)), body: inChunks(body)}
	for i, p := range parameters {
		u.values, u.excluded[i] = append(u.values, p.Value), exclude.excludes(p)
	}
	u.pieces = kernel.NewPieces(u.values)
	return u
}

// inChunks calls a body chunk by chunk.
func inChunks(body func(worker, tensor, start, end int)) func(worker, tensor, start, end int) {
	return func(worker, tensor, start, end int) {
		for ; start < end; start += chunk {
			body(worker, tensor, start, min(start+chunk, end))
		}
	}
}

// slots adds a state tensor of zeros for every parameter.
func (u *updater) slots(name string) [][]float32 {
	list := make([][]float32, len(u.parameters))
	for i, p := range u.parameters {
		list[i] = make([]float32, len(p.Value))
		u.tensors = append(u.tensors, Parameter{fmt.Sprint(name, "/", p.Name), list[i], p.Shape})
	}
	return list
}

func (u *updater) update(gradients [][]float32, clip float64) {
	u.gradients, u.clip = gradients, float32(clip)
	u.pieces.Each(u.body)
}

// prepare counts a step and allocates scratch memory for all workers.
func (u *updater) prepare() {
	u.steps++
	for len(u.scratch) < parallel.Threads() {
		u.scratch = append(u.scratch, make([]float32, 3*chunk))
	}
}

func (u *updater) decay(tensor int, decay float64) float32 {
	if u.excluded[tensor] {
		return 0
	}
	return float32(decay)
}

func (u *updater) Norm(gradients [][]float32) float64 { return u.pieces.Norm(gradients) }

func (u *updater) State() (*int, []Parameter) { return &u.steps, u.tensors }
