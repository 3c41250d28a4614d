package machine

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Adam is the optimiser of Kingma and Ba 2015, algorithm 1, as a gorgonia.Solver. Step t updates every value w with
// gradient g:
//
//	m = Beta1 m + (1-Beta1) g
//	v = Beta2 v + (1-Beta2) g^2
//	w = (1 - LearningRate Decay) w - LearningRate m/(1-Beta1^t) / (sqrt(v/(1-Beta2^t)) + Epsilon)
//
// elementwise. With a Decay it is AdamW (Loshchilov and Hutter 2019, algorithm 2). If the norm over all gradients
// exceeds Clip, all gradients are first scaled to the norm Clip. Clip 0 disables this.
//
// The kernels update float32 values on all processors. Settings may change between steps.
type Adam struct {
	LearningRate, Beta1, Beta2, Epsilon, Decay, Clip float64

	steps  int
	slots  []slot
	kernel *kernel.Adam
	grads  [][]float32 // gradients of the float32 values
}

// NewAdam returns an optimiser with a learning rate of 0.001, betas of 0.9 and 0.999, and an epsilon of 1e-8, without
// weight decay or clipping.
func NewAdam() *Adam {
	return &Adam{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
}

// Steps returns the number of steps taken.
func (a *Adam) Steps() int { return a.steps }

// Step updates the values of a model in place with their gradients. Every call must pass the same values in the same
// order. Gradients outside a machine's buffers (gorgonia.BindDualValues) are set to 0 afterwards, as in Gorgonia's
// solvers, because a TapeMachine adds to them.
func (a *Adam) Step(model []gorgonia.ValueGrad) error {
	if a.slots != nil && len(a.slots) != len(model) {
		return fmt.Errorf("adam: %d values; want the %d of the first step", len(model), len(a.slots))
	}
	if err := a.validate(); err != nil {
		return err
	}
	slots := a.slots
	if slots == nil {
		slots = make([]slot, len(model))
	}
	moved := a.slots == nil
	for i, n := range model {
		other, err := slots[i].read(n)
		if err != nil {
			return fmt.Errorf("adam: value %d%s: %w", i, named(n), err)
		}
		moved = moved || other
	}
	a.slots = slots
	a.plan(moved)
	a.steps++
	scale := 1.0
	if a.Clip > 0 {
		if norm := a.norm(); norm > a.Clip {
			scale = a.Clip / norm
		}
	}
	a.kernel.Update(a.grads, a.steps, kernel.AdamConstants{
		LearningRate: a.LearningRate, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon, Clip: scale}, a.Decay)
	for i := range a.slots {
		a.update(&a.slots[i].double, scale)
		if err := a.slots[i].write(model[i]); err != nil {
			return fmt.Errorf("adam: value %d%s: %w", i, named(model[i]), err)
		}
	}
	return nil
}

// validate returns an error for an invalid setting, which would make all values invalid.
func (a *Adam) validate() error {
	for _, s := range []struct {
		name       string
		value, top float64
	}{
		{"LearningRate", a.LearningRate, math.MaxFloat64}, {"Beta1", a.Beta1, 1}, {"Beta2", a.Beta2, 1},
		{"Epsilon", a.Epsilon, math.MaxFloat64}, {"Decay", a.Decay, math.MaxFloat64}, {"Clip", a.Clip, math.Inf(1)},
	} {
		if !(s.value >= 0 && s.value <= s.top) || s.top == 1 && s.value == 1 {
			return fmt.Errorf("adam: %s is %v; want 0 or more, finite, and betas below 1", s.name, s.value)
		}
	}
	return nil
}

// plan lists the float32 gradients. If values have been reallocated, it prepares the update again.
func (a *Adam) plan(moved bool) {
	a.grads = a.grads[:0]
	var w, m, v [][]float32
	for i := range a.slots {
		e := &a.slots[i].single
		if e.w == nil {
			continue
		}
		a.grads = append(a.grads, e.g)
		if moved {
			w, m, v = append(w, e.w), append(m, e.m), append(v, e.v)
		}
	}
	if moved {
		a.kernel = kernel.NewAdam(w, m, v)
	}
}

// norm is the Euclidean norm over all gradients.
func (a *Adam) norm() float64 {
	single := a.kernel.Norm(a.grads)
	sum := single * single
	for i := range a.slots {
		for _, g := range a.slots[i].double.g {
			sum += g * g
		}
	}
	return math.Sqrt(sum)
}

// update updates float64 values.
func (a *Adam) update(e *elements[float64], scale float64) {
	c1, c2 := 1-math.Pow(a.Beta1, float64(a.steps)), 1-math.Pow(a.Beta2, float64(a.steps))
	for i, g := range e.g {
		g *= scale
		e.m[i] = a.Beta1*e.m[i] + (1-a.Beta1)*g
		e.v[i] = a.Beta2*e.v[i] + (1-a.Beta2)*g*g
		e.w[i] = (1-a.LearningRate*a.Decay)*e.w[i] - a.LearningRate*e.m[i]/c1/(math.Sqrt(e.v[i]/c2)+a.Epsilon)
	}
}

// slot is a value of the model, in one of both element types.
type slot struct {
	single elements[float32]
	double elements[float64]
}

// elements has the elements of a value and its gradient, and the moving averages of the gradient and its square. For a
// scalar they are copies.
type elements[T float32 | float64] struct{ w, g, m, v []T }

// take sets the value and the gradient. It reports whether the value has been reallocated since the last call.
func (e *elements[T]) take(w, g []T) (moved bool, err error) {
	switch {
	case len(w) != len(g):
		return false, fmt.Errorf("%d elements, and a gradient of %d; want the same number and type", len(w), len(g))
	case e.m != nil && len(e.m) != len(w):
		return false, fmt.Errorf("%d elements; want the %d of the first step", len(w), len(e.m))
	case e.m == nil && len(w) > 0:
		e.m, e.v = make([]T, len(w)), make([]T, len(w))
	}
	moved = len(w) > 0 && (e.w == nil || &e.w[0] != &w[0])
	e.w, e.g = w, g
	return moved, nil
}

func (s *slot) read(n gorgonia.ValueGrad) (moved bool, err error) {
	if node, ok := n.(*gorgonia.Node); n == nil || ok && node == nil {
		return false, errors.New("it is nil")
	}
	w := n.Value()
	if w == nil {
		return false, errors.New("it has no value")
	}
	g, err := n.Grad()
	if err != nil {
		return false, err
	}
	if g == nil {
		return false, errors.New("it has no gradient; want the node that gorgonia.Grad returns for it among the machine's outputs, and a run")
	}
	w32, w64, err := contents(w, s.single.w, s.double.w)
	if err != nil {
		return false, err
	}
	g32, g64, err := contents(g, s.single.g, s.double.g)
	if err != nil {
		return false, fmt.Errorf("gradient: %w", err)
	}
	if moved, err = s.single.take(w32, g32); err != nil {
		return false, err
	}
	_, err = s.double.take(w64, g64)
	return moved, err
}

// contents returns the elements of a tensor. For a scalar it returns a copy.
func contents(v gorgonia.Value, single []float32, double []float64) ([]float32, []float64, error) {
	switch v := v.(type) {
	case *gorgonia.F32:
		if len(single) != 1 {
			single = make([]float32, 1)
		}
		single[0] = float32(*v)
		return single, nil, nil
	case *gorgonia.F64:
		if len(double) != 1 {
			double = make([]float64, 1)
		}
		double[0] = float64(*v)
		return nil, double, nil
	case *tensor.Dense:
		switch {
		case v.RequiresIterator() || !v.DataOrder().IsRowMajor():
		case v.Dtype() == tensor.Float32:
			return v.Float32s(), nil, nil
		case v.Dtype() == tensor.Float64:
			return nil, v.Float64s(), nil
		}
	}
	return nil, nil, fmt.Errorf("%T of type %v and shape %v; want float32 or float64 in row-major order",
		v, v.Dtype(), v.Shape())
}

// write stores a scalar, and sets a gradient to 0 if machines add to it.
func (s *slot) write(n gorgonia.ValueGrad) error {
	switch w := n.Value().(type) {
	case *gorgonia.F32:
		*w = gorgonia.F32(s.single.w[0])
	case *gorgonia.F64:
		*w = gorgonia.F64(s.double.w[0])
	}
	g, err := n.Grad()
	if node, ok := n.(*gorgonia.Node); err != nil || ok && node.Deriv() != nil && node.Deriv().Value() == g {
		return err
	}
	gorgonia.ZeroValue(g)
	return nil
}

// named returns the name of a node in brackets.
func named(n gorgonia.ValueGrad) string {
	if node, ok := n.(*gorgonia.Node); ok && node != nil {
		return " (" + node.Name() + ")"
	}
	return ""
}
