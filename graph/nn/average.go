package nn

import (
	"fmt"
	"strings"

	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// Average is an exponential moving average of parameters. Its targets follow other parameters of a set, as in the
// target network of BYOL and the key encoder of MoCo.
type Average struct {
	target, source [][]float32 // pieces of parameters
	names          []string    // by piece: name of the parameter that the target follows
	momentum       float32
	item           func(worker, i int)
}

// averagePiece is the number of elements in a piece of work.
const averagePiece = 1 << 14

// NewAverage returns the average of all parameters in a set that have a target. The target of the parameter "name" is
// called prefix + "name" and has the same shape. [Graph.Targets] makes most targets.
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

// Without returns the average without the targets of frozen parameters. Those targets keep their values.
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

// CopyTargets copies parameters from another run or file into their EMA targets, except targets that were taken too.
// A target's name is a prefix and the parameter's name. CopyTargets returns the names of the targets that it set.
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

// Step sets every target to momentum times the target plus 1 - momentum times its parameter. Momentum 0 copies the
// parameter.
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
