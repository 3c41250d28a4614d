package kernels

import (
	"fmt"

	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// The functions of activate.comp after the activations.
const (
	exponential = iota + 9
	normalDistribution
)

// Activate records y = f(x) for n elements. y may be x.
func Activate(t *vulkan.Tape, x, y vulkan.Buffer, f cpu.Activation, n int) {
	each(t, "activate", n, sizes(n, int(f)), vulkan.Read(x), vulkan.Write(y))
}

// ActivateGradient records dx = dy f'(x). point is the value y = f(x) if f.FromValue(), and x otherwise. dx may be dy.
func ActivateGradient(t *vulkan.Tape, point, dy, dx vulkan.Buffer, f cpu.Activation, n int) {
	each(t, "activategradient", n, sizes(n, int(f)), vulkan.Read(point), vulkan.Read(dy), vulkan.Write(dx))
}

// ActivateCurvature records the gradient of dx = t f'(x) ([ActivateGradient]) with respect to point, given the gradient
// dy with respect to dx.
func ActivateCurvature(t *vulkan.Tape, point, direction, dy, dat vulkan.Buffer, f cpu.Activation, n int) {
	each(t, "curvature", n, sizes(n, int(f)),
		vulkan.Read(point), vulkan.Read(direction), vulkan.Read(dy), vulkan.Write(dat))
}

// Exp records y = e^x for n elements; its gradient is dx = dy y ([Multiply]).
func Exp(t *vulkan.Tape, x, y vulkan.Buffer, n int) {
	each(t, "activate", n, sizes(n, exponential), vulkan.Read(x), vulkan.Write(y))
}

// below returns the slope of an activation for negative numbers, if the activation is linear on both sides of 0.
func below(f cpu.Activation) (slope float64, ok bool) {
	switch f {
	case cpu.LinearActivation:
		return 1, true
	case cpu.ReLUActivation:
		return 0, true
	case cpu.LeakyActivation:
		return 0.2, true
	}
	return 1, false
}

// beforeActivation returns the gradient before the activation of a layer with n elements: dy itself for a linear one.
func beforeActivation(t *vulkan.Tape, y, dy vulkan.Buffer, f cpu.Activation, n int) vulkan.Buffer {
	if f == cpu.LinearActivation {
		return dy
	}
	if !f.FromValue() {
		t.Fail(fmt.Errorf("the gradient of %v is no function of its value", f))
	}
	g := t.Scratch(n)
	ActivateGradient(t, y, dy, g, f, n)
	return g
}
