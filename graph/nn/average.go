package nn

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Average is an exponential moving average (EMA) of parameters. Its targets follow other parameters of a set, as in
// BYOL's target network and MoCo's key encoder.
type Average struct {
	targets, sources [][]float32
	names            []string // names of the parameters that the targets follow
	pieces           *kernel.Pieces
	momentum         float32
	body             func(worker, tensor, from, to int)
}

// NewAverage returns the EMA of all parameters that have a target in the set. The target of the parameter "name" is
// prefix + "name" and has the same shape. [Graph.Targets] creates most targets.
func NewAverage(p *Params, prefix string) (*Average, error) {
	var names []string
	var targets, sources [][]float32
	for _, name := range p.Names() {
		sourceName, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		target, source := p.Get(name), p.Get(sourceName)
		if source == nil || !source.Shape().Eq(target.Shape()) {
			return nil, fmt.Errorf("parameter %q: it has nothing to follow; want a parameter %q of shape %v",
				name, sourceName, target.Shape())
		}
		names = append(names, sourceName)
		targets, sources = append(targets, target.Float32s()), append(sources, source.Float32s())
	}
	a := AverageOf(targets, sources)
	a.names = names
	return a, nil
}

// AverageOf returns an EMA with the given targets, which follow sources with the same sizes.
func AverageOf(targets, sources [][]float32) *Average {
	a := &Average{targets: targets, sources: sources, pieces: kernel.NewPieces(targets)}
	a.body = a.move
	return a
}

// Without returns the EMA without the targets of frozen parameters. These targets keep their values.
func (a *Average) Without(frozen func(name string) bool) *Average {
	var names []string
	var targets, sources [][]float32
	for i, name := range a.names {
		if !frozen(name) {
			names, targets, sources = append(names, name), append(targets, a.targets[i]), append(sources, a.sources[i])
		}
	}
	b := AverageOf(targets, sources)
	b.names = names
	return b
}

// Pairs returns the elements of the targets and of their sources.
func (a *Average) Pairs() (targets, sources [][]float32) { return a.targets, a.sources }

// CopyTargets copies parameters that come from another run or file into their EMA targets. It skips targets that also
// come from there, see taken. The target of a parameter is named prefix + name. CopyTargets returns the names of the
// targets that it set.
func CopyTargets(p *Params, prefix string, taken func(name string) bool) (set []string) {
	for _, name := range p.Names() {
		sourceName, ok := strings.CutPrefix(name, prefix)
		if ok && p.Get(sourceName) != nil && taken(sourceName) && !taken(name) {
			copy(p.Get(name).Float32s(), p.Get(sourceName).Float32s())
			set = append(set, name)
		}
	}
	return set
}

// Step sets every target to momentum * target + (1 - momentum) * parameter. Momentum 0 copies the parameter.
func (a *Average) Step(momentum float64) {
	a.momentum = float32(momentum)
	a.pieces.Each(a.body)
}

func (a *Average) move(_, i, from, to int) {
	target, source := a.targets[i][from:to], a.sources[i][from:to]
	if a.momentum == 0 {
		copy(target, source)
		return
	}
	kernel.Scale(target, a.momentum, target)
	kernel.AddScaled(target, 1-a.momentum, source)
}
