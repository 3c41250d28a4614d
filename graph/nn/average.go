package nn

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Average is an exponential moving average of parameters: targets that follow other parameters of a set, as the
// target network of BYOL and the key encoder of MoCo do.
type Average struct {
	target, source [][]float32 // pieces of parameters
	names          []string    // by piece, of the parameter that is followed
	momentum       float32
	item           func(worker, i int)
}

// averagePiece is the number of elements in a piece of work.
const averagePiece = 1 << 14

// NewAverage returns the average of all parameters of a set that have a target: the target of the parameter "name"
// is called prefix + "name", and has its shape. Targets are mostly made by [Graph.Targets].
func NewAverage(p *Params, prefix string) (*Average, error) {
	a := &Average{}
	for _, name := range p.Names() {
		of, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		target, source := p.Get(name), p.Get(of)
		if source == nil || !source.Shape().Eq(target.Shape()) {
			return nil, fmt.Errorf("parameter %q: it has nothing to follow; want a parameter %q of shape %v", name, of, target.Shape())
		}
		t, s := target.Float32s(), source.Float32s()
		for from := 0; from < len(t); from += averagePiece {
			to := min(from+averagePiece, len(t))
			a.target, a.source, a.names = append(a.target, t[from:to]), append(a.source, s[from:to]), append(a.names, of)
		}
	}
	a.item = a.move
	return a, nil
}

// Without returns the average without the targets of some parameters, which stay as they are, such as those that a graph
// has frozen.
func (a *Average) Without(frozen func(name string) bool) *Average {
	b := &Average{}
	for i, name := range a.names {
		if !frozen(name) {
			b.target, b.source, b.names = append(b.target, a.target[i]), append(b.source, a.source[i]), append(b.names, name)
		}
	}
	b.item = b.move
	return b
}

// CopyTargets sets the EMA targets of parameters that were taken from elsewhere to copies of these, unless the targets were taken too.
// Names of targets are those of the parameters after a prefix. It lists those that it set.
func CopyTargets(p *Params, prefix string, taken func(name string) bool) (set []string) {
	for _, name := range p.Names() {
		of, ok := strings.CutPrefix(name, prefix)
		if ok && p.Get(of) != nil && taken(of) && !taken(name) {
			copy(p.Get(name).Float32s(), p.Get(of).Float32s())
			set = append(set, name)
		}
	}
	return set
}

// Step sets every target to momentum times itself plus 1 - momentum times the parameter that it follows. Momentum 0
// makes it a copy.
func (a *Average) Step(momentum float64) {
	a.momentum = float32(momentum)
	parallel.For(len(a.target), a.item)
}

func (a *Average) move(_, i int) {
	if a.momentum == 0 {
		copy(a.target[i], a.source[i])
		return
	}
	kernel.Scale(a.target[i], a.momentum, a.target[i])
	kernel.AddScaled(a.target[i], 1-a.momentum, a.source[i])
}
