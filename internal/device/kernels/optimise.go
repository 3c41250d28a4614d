package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// Numbers is the number of elements of a buffer with the numbers of an optimiser's step. The buffer lies in host
// memory, because the numbers change with each step.
const Numbers = 9

// SetAdam writes the numbers of Adam's update number step, counted from 1, with the decay of [cpu.Adam.Update].
func SetAdam(numbers vulkan.Buffer, k cpu.AdamConstants, step int, decay float64) {
	c := k.At(step)
	c[7] = float32(1 - k.LearningRate*decay)
	copy(numbers.Floats(), c[:])
}

// Adam records the update of n weights w with moments m and v by gradients g, as [cpu.Adam.Update], or AdamW's with
// decay. numbers are the numbers of [SetAdam].
func Adam(t *vulkan.Tape, w, m, v, g, numbers vulkan.Buffer, n int, decay bool) {
	each(t, "adam", n, sizes(n, flag(decay)), vulkan.Update(w), vulkan.Update(m), vulkan.Update(v), vulkan.Read(g),
		vulkan.Read(numbers))
}

// Descent holds the numbers of a step of gradient descent: see engine.SGD and engine.LARS.
type Descent struct {
	Rate, Momentum float64
	Fresh          float64 // factor of the gradient in the velocity: 1 - dampening, and 1 in the first step and in LARS
	Clip           float64 // factor of the gradients, applied first
	Decay          float64
	Trust          float64 // trust coefficient of LARS
}

// Set writes the numbers into host memory.
func (d Descent) Set(numbers vulkan.Buffer) {
	for i, v := range []float64{d.Rate, d.Momentum, d.Fresh, d.Clip, d.Decay, d.Trust} {
		numbers.Floats()[i] = float32(v)
	}
}

// The formulas of descend.comp.
const (
	withoutMomentum = iota
	withMomentum
	nesterov
	trusting
	scaledStep
	plainStep
)

// SGD records a step of engine.SGD for n weights w with velocity v and gradients g. v is none without momentum. If
// decay is false, the step ignores the decay in numbers.
func SGD(t *vulkan.Tape, w, v, g, numbers vulkan.Buffer, n int, lookAhead, decay bool) {
	f := withMomentum
	switch {
	case v.IsZero():
		f, v = withoutMomentum, w
	case lookAhead:
		f = nesterov
	}
	each(t, "descend", n, sizes(n, f, flag(decay)), vulkan.Update(w), vulkan.Update(v), vulkan.Read(g),
		vulkan.Read(numbers), vulkan.Read(numbers))
}

// LARS records a step of engine.LARS for a tensor of n weights w with velocity v and gradients g. Excluded tensors take
// [SGD] without decay instead.
func LARS(t *vulkan.Tape, w, v, g, numbers vulkan.Buffer, n int) {
	u := t.Scratch(n)
	each(t, "decayed", n, sizes(n), vulkan.Read(w), vulkan.Read(g), vulkan.Read(numbers), vulkan.Write(u))
	each(t, "descend", n, sizes(n, trusting, 0), vulkan.Update(w), vulkan.Update(v), vulkan.Read(u),
		vulkan.Read(numbers), vulkan.Read(squaresOf(t, w, u, n)))
}

// squaresOf returns the squared norms of two tensors of n elements.
func squaresOf(t *vulkan.Tape, x, y vulkan.Buffer, n int) vulkan.Buffer {
	squares, parts := t.Scratch(2), partsOf(n)
	s := t.Scratch(parts)
	for i, buffer := range []vulkan.Buffer{x, y} {
		reduce(t, square, 0, buffer, vulkan.Buffer{}, s, 0, n)
		total(t, s, squares, i, 1, 0, parts)
	}
	return squares
}

// SetLAMB writes the numbers of LAMB's update number step, counted from 1: see engine.LAMB.
func SetLAMB(numbers vulkan.Buffer, k cpu.AdamConstants, step int, decay float64) {
	rate := k.LearningRate
	k.LearningRate = 1
	c := k.At(step)
	c[7] = float32(decay)
	copy(numbers.Floats(), append(c[:], float32(rate)))
}

// LAMB records a step of engine.LAMB for a tensor of n weights w with moments m and v and gradients g. Excluded tensors
// have neither decay nor scaling. numbers are the numbers of [SetLAMB].
func LAMB(t *vulkan.Tape, w, m, v, g, numbers vulkan.Buffer, n int, decay, excluded bool) {
	u := t.Scratch(n)
	each(t, "direction", n, sizes(n, flag(decay && !excluded)), vulkan.Read(w), vulkan.Update(m), vulkan.Update(v),
		vulkan.Read(g), vulkan.Read(numbers), vulkan.Write(u))
	f, squares := plainStep, numbers
	if !excluded {
		f, squares = scaledStep, squaresOf(t, w, u, n)
	}
	each(t, "descend", n, sizes(n, f, 0), vulkan.Update(w), vulkan.Update(w), vulkan.Read(u), vulkan.Read(numbers),
		vulkan.Read(squares))
}

// RootSquare holds the numbers of a step of engine.RMSProp.
type RootSquare struct {
	Rate, Alpha, Clip, Decay, Epsilon, Momentum float64
}

// Set writes the numbers into host memory.
func (r RootSquare) Set(numbers vulkan.Buffer) {
	for i, v := range []float64{r.Rate, r.Alpha, 1 - r.Alpha, r.Clip, r.Decay, r.Epsilon, r.Momentum} {
		numbers.Floats()[i] = float32(v)
	}
}

// RMSProp records a step of engine.RMSProp for n weights w with mean squares s and gradients g. m is the mean gradient,
// or none if gradients are not centred. v is the velocity, or none without momentum. numbers are the numbers of
// [RootSquare.Set].
func RMSProp(t *vulkan.Tape, w, s, m, v, g, numbers vulkan.Buffer, n int, decay bool) {
	each(t, "rmsprop", n, sizes(n, flag(!m.IsZero()), flag(!v.IsZero()), flag(decay)), vulkan.Update(w), vulkan.Update(s),
		vulkan.Update(either(m, s)), vulkan.Update(either(v, s)), vulkan.Read(g), vulkan.Read(numbers))
}

// SetAccumulate writes the numbers of a step of [Accumulate]: the factors of the gradients and of the new sum. The
// first step does not read the old sum.
func SetAccumulate(numbers vulkan.Buffer, first bool, gradients, sum float64) {
	copy(numbers.Floats(), []float32{float32(1 - flag(first)), float32(gradients), float32(sum)})
}

// Accumulate records the addition of gradients g to a sum s of n elements. numbers are the numbers of [SetAccumulate].
func Accumulate(t *vulkan.Tape, s, g, numbers vulkan.Buffer, n int) {
	each(t, "accumulate", n, sizes(n), vulkan.Update(s), vulkan.Read(g), vulkan.Read(numbers))
}

// SetAverage writes the numbers of a step of an exponential moving average.
func SetAverage(numbers vulkan.Buffer, momentum float64) {
	m := float32(momentum)
	copy(numbers.Floats(), []float32{m, 1 - m})
}

// Average records a step of an exponential moving average a of n weights w: a = m a + (1 - m) w. If the momentum m is
// 0, a = w. numbers are the numbers of [SetAverage].
func Average(t *vulkan.Tape, a, w, numbers vulkan.Buffer, n int) {
	each(t, "average", n, sizes(n), vulkan.Update(a), vulkan.Read(w), vulkan.Read(numbers))
}
