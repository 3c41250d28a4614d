package losses

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
)

// Entanglement returns |L - target|. L is the mean over actions of the squared angles, excluding the largest,
//
//	L = 1/A sum_a ( sum_p angle_a,p^2 - max_p angle_a,p^2 ),
//
// which is 0 where every action rotates one plane of coordinates. angles, in radians, is [actions, planes], as in
// [RotationWalk]; the result is a scalar in squared radians. It is differentiable except at ties of the largest angle,
// where the first counts as the largest, and at L = target, where the gradient is 0.
//
// Source: Quessard et al. 2020, equation 7; their public code gives the target.
func Entanglement(angles *gorgonia.Node, target float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "entanglement",
		Key:  graph.Key(target),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, _, err := graph.Matrix("angles", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) *entanglement[float32] { return newEntanglement[float32](in[0], target) },
			func(in []tensor.Shape) *entanglement[float64] { return newEntanglement[float64](in[0], target) }),
	}, angles)
}

// EntanglementLoss is [Entanglement] of a model's actions.
type EntanglementLoss struct {
	Weight Weight  `yaml:"weight" doc:"factor in the total: lambda"`
	Target float64 `yaml:"target" doc:"value at which the loss is 0, squared radians"`
}

// NewEntanglement returns the default settings.
func NewEntanglement() *EntanglementLoss { return &EntanglementLoss{Weight: Constant(0.01)} }

// Validate checks the settings.
func (l *EntanglementLoss) Validate() error {
	if !(l.Target >= 0) || math.IsInf(l.Target, 0) {
		return config.Invalid("target", "want a number from 0, got %v", l.Target)
	}
	return nil
}

// Weighting implements [Loss].
func (l *EntanglementLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: one angle of every action is not 0.
func (l *EntanglementLoss) Optimum(x *Example) bool {
	fill(x.ActionAngles, 0)
	x.ActionAngles[1] = 2
	return l.Target == 0
}

// Variants implements [Varied].
func (*EntanglementLoss) Variants() []Loss {
	return []Loss{&EntanglementLoss{Weight: Constant(1), Target: 100}}
}

// Add implements [Loss].
func (l *EntanglementLoss) Add(in *Input) (*gorgonia.Node, error) {
	if in.ActionAngles == nil {
		return nil, fmt.Errorf("%w; want the model quessard", missing("actions that rotate the codes"))
	}
	return Entanglement(in.ActionAngles, l.Target)
}

type entanglement[T graph.Float] struct {
	planes int
	target float64
	scale  float64 // of the gradient: the sign of L - target over the number of actions
	most   []int   // the index of the largest angle of each action
}

func newEntanglement[T graph.Float](s tensor.Shape, target float64) *entanglement[T] {
	return &entanglement[T]{planes: s[1], target: target, most: make([]int, s[0])}
}

func (e *entanglement[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for a := range e.most {
		angles := in[0][a*e.planes : (a+1)*e.planes]
		e.most[a] = a * e.planes
		for i, v := range angles {
			if math.Abs(float64(v)) > math.Abs(float64(in[0][e.most[a]])) {
				e.most[a] = a*e.planes + i
			}
		}
		for i, v := range angles { // not sum - max: its rounding would hide small angles next to a large one
			if a*e.planes+i != e.most[a] {
				sum += float64(v) * float64(v)
			}
		}
	}
	actions := float64(len(e.most))
	off := sum/actions - e.target
	e.scale = 1 / actions
	switch {
	case off < 0:
		e.scale = -e.scale
	case off == 0:
		e.scale = 0
	}
	out[0] = T(math.Abs(off))
}

func (e *entanglement[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := 2 * e.scale * float64(dout[0])
	for i, v := range in[0] {
		din[0][i] = T(g * float64(v))
	}
	for _, i := range e.most {
		din[0][i] = 0
	}
}
