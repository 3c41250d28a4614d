package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// rowwise records a kernel with one group per row. Beyond mostGroups rows, each group takes several rows.
func rowwise(t *vulkan.Tape, name string, rows int, constants []uint32, args ...vulkan.Argument) {
	t.Dispatch(kernel(name), min(rows, mostGroups), 1, 1, constants, args...)
}

// NormaliseRows records y = x / sqrt(max(|x|^2, 1e-12)) for each row of x [rows, columns].
func NormaliseRows(t *vulkan.Tape, x, y vulkan.Buffer, rows, columns int) {
	rowwise(t, "normalise", rows, sizes(rows, columns, 0), vulkan.Read(x), vulkan.Read(x), vulkan.Read(x), vulkan.Write(y))
}

// NormaliseRowsGradient records the gradient of [NormaliseRows].
func NormaliseRowsGradient(t *vulkan.Tape, x, y, dy, dx vulkan.Buffer, rows, columns int) {
	rowwise(t, "normalise", rows, sizes(rows, columns, 1), vulkan.Read(x), vulkan.Read(y), vulkan.Read(dy),
		vulkan.Write(dx))
}

// The functions of softmax.comp.
const (
	softmax = iota
	logSoftmax
	softmaxGradient
	logSoftmaxGradient
)

// Softmax records the softmax of each row of x [rows, columns], or its logarithms.
func Softmax(t *vulkan.Tape, x, y vulkan.Buffer, logarithms bool, rows, columns int) {
	f := softmax
	if logarithms {
		f = logSoftmax
	}
	rowwise(t, "softmax", rows, sizes(rows, columns, f), vulkan.Read(x), vulkan.Read(x), vulkan.Write(y))
}

// SoftmaxGradient records the gradient of y = [Softmax].
func SoftmaxGradient(t *vulkan.Tape, y, dy, dx vulkan.Buffer, logarithms bool, rows, columns int) {
	f := softmaxGradient
	if logarithms {
		f = logSoftmaxGradient
	}
	rowwise(t, "softmax", rows, sizes(rows, columns, f), vulkan.Read(y), vulkan.Read(dy), vulkan.Write(dx))
}

// SphereWalk records the random walk of latent.SphereWalk from mu [rows, columns] at log t [rows, 1] with noise
// [steps, rows, columns] to z [rows, columns].
func SphereWalk(t *vulkan.Tape, mu, logT, noise, z vulkan.Buffer, steps, rows, columns int) {
	walk, _ := walked(t, mu, logT, noise, steps, rows, columns)
	n := rows * columns
	t.CopyRange(z, 0, walk, 4*int64((steps-1)*n), 4*int64(n))
}

// walked returns the points after each step, and their squared norms before normalisation.
func walked(t *vulkan.Tape, mu, logT, noise vulkan.Buffer, steps, rows, columns int) (walk, squares vulkan.Buffer) {
	walk, squares = t.Scratch(steps*rows*columns), t.Scratch(steps*rows)
	rowwise(t, "walk", rows, sizes(rows, columns, steps), vulkan.Read(mu), vulkan.Read(logT), vulkan.Read(noise),
		vulkan.Update(walk), vulkan.Write(squares))
	return walk, squares
}

// SphereWalkGradient records the gradients of [SphereWalk] by mu and log t. It recomputes the walk.
func SphereWalkGradient(t *vulkan.Tape, mu, logT, noise, dz, dmu, dlogT vulkan.Buffer, steps, rows, columns int) {
	walk, squares := walked(t, mu, logT, noise, steps, rows, columns)
	if dmu.IsZero() {
		dmu = t.Scratch(rows * columns)
	}
	if dlogT.IsZero() {
		dlogT = t.Scratch(rows)
	}
	rowwise(t, "walkgradient", rows, sizes(rows, columns, steps), vulkan.Read(dz), vulkan.Read(logT),
		vulkan.Read(noise), vulkan.Read(walk), vulkan.Read(squares), vulkan.Update(dmu), vulkan.Write(dlogT))
}

// Interval records y = c + w tanh(u) for n elements: see latent.Interval.
func Interval(t *vulkan.Tape, u, y vulkan.Buffer, c, w float64, n int) {
	tanh := t.Scratch(n)
	Activate(t, u, tanh, cpu.TanhActivation, n)
	Line(t, w, tanh, c, y, n)
}

// IntervalGradient records the gradient of [Interval].
func IntervalGradient(t *vulkan.Tape, u, dy, du vulkan.Buffer, w float64, n int) {
	tanh := t.Scratch(n)
	Activate(t, u, tanh, cpu.TanhActivation, n)
	ActivateGradient(t, tanh, dy, tanh, cpu.TanhActivation, n)
	Scale(t, w, tanh, du, n)
}
