package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// geometry has the sizes of conv.glsl.
type geometry struct {
	batch, bigH, bigW, bigC, smallH, smallW, smallC int
	kernel, stride, padH, padW                      int
}

func geometryOf(s cpu.ConvShape) geometry {
	return geometry{s.Batch, s.InH, s.InW, s.InC, s.OutH, s.OutW, s.OutC, s.Kernel, s.Stride, s.PadH, s.PadW}
}

func transposedGeometry(s cpu.ConvShape) geometry {
	return geometry{s.Batch, s.OutH, s.OutW, s.OutC, s.InH, s.InW, s.InC, s.Kernel, s.Stride, s.PadH, s.PadW}
}

// Conv records y = f(conv(x, w) + bias): see [cpu.ConvShape]. x is [Batch, InH, InW, InC], w [Kernel, Kernel, InC,
// OutC], bias [OutC] or none, y [Batch, OutH, OutW, OutC].
func Conv(t *vulkan.Tape, x, w, bias, y vulkan.Buffer, s cpu.ConvShape, f cpu.Activation) {
	geometryOf(s).gather(t, x, w, bias, y, f)
}

// ConvGradient records the gradients of [Conv] with respect to x, w and bias, given the gradient dy with respect to y.
func ConvGradient(t *vulkan.Tape, x, w, y, dy, dx, dw, db vulkan.Buffer, s cpu.ConvShape, f cpu.Activation) {
	c := geometryOf(s)
	pixels := s.Batch * s.OutH * s.OutW
	g := beforeActivation(t, y, dy, f, pixels*s.OutC)
	if !dx.IsZero() {
		c.spread(t, g, w, vulkan.Buffer{}, dx, cpu.LinearActivation)
	}
	if !dw.IsZero() {
		c.weights(t, x, g, dw)
	}
	if !db.IsZero() {
		columnSums(t, g, vulkan.Buffer{}, 0, db, pixels, s.OutC)
	}
}

// ConvTranspose records y = f(convT(x, w) + bias): see [cpu.ConvShape]. x is [Batch, InH, InW, InC], w [Kernel,
// Kernel, OutC, InC], bias [OutC] or none, y [Batch, OutH, OutW, OutC].
func ConvTranspose(t *vulkan.Tape, x, w, bias, y vulkan.Buffer, s cpu.ConvShape, f cpu.Activation) {
	transposedGeometry(s).spread(t, x, w, bias, y, f)
}

// ConvTransposeGradient records the gradients of [ConvTranspose] with respect to x, w and bias, given the gradient dy
// with respect to y.
func ConvTransposeGradient(t *vulkan.Tape, x, w, y, dy, dx, dw, db vulkan.Buffer, s cpu.ConvShape, f cpu.Activation) {
	c := transposedGeometry(s)
	pixels := s.Batch * s.OutH * s.OutW
	g := beforeActivation(t, y, dy, f, pixels*s.OutC)
	if !dx.IsZero() {
		c.gather(t, g, w, vulkan.Buffer{}, dx, cpu.LinearActivation)
	}
	if !dw.IsZero() {
		c.weights(t, g, x, dw)
	}
	if !db.IsZero() {
		columnSums(t, g, vulkan.Buffer{}, 0, db, pixels, s.OutC)
	}
}

// constants returns the constants of conv.glsl. part is the number of pixels of a group's sum.
func (c *geometry) constants(part int, biased bool, f cpu.Activation) []uint32 {
	slope, _ := below(f)
	list := sizes(c.batch, c.bigH, c.bigW, c.bigC, c.smallH, c.smallW, c.smallC, c.kernel, c.stride, c.padH, c.padW,
		part, flag(biased))
	return append(list, float(slope))
}

// gather computes the small image from the big one.
func (c geometry) gather(t *vulkan.Tape, big, w, bias, small vulkan.Buffer, f cpu.Activation) {
	pixels := c.batch * c.smallH * c.smallW
	tile := tileOf(pixels, c.smallC, 1)
	x, y := tile.groups(pixels, c.smallC)
	t.Dispatch(kernel("gather-"+tile.name), x, y, 1, c.constants(0, !bias.IsZero(), f), vulkan.Read(big),
		vulkan.Read(w), vulkan.Read(or(bias, w)), vulkan.Write(small))
	finish(t, small, f, pixels*c.smallC)
}

// spread computes the big image from the small one.
func (c geometry) spread(t *vulkan.Tape, small, w, bias, big vulkan.Buffer, f cpu.Activation) {
	pixels := c.batch * divided(c.bigH, c.stride) * divided(c.bigW, c.stride) // of the first phase, which has the largest number
	tile := tileOf(pixels*c.stride*c.stride, c.bigC, 1)
	x, y := tile.groups(pixels, c.bigC)
	t.Dispatch(kernel("spread-"+tile.name), x, y, c.stride*c.stride, c.constants(0, !bias.IsZero(), f),
		vulkan.Read(small), vulkan.Read(w), vulkan.Read(or(bias, w)), vulkan.Write(big))
	finish(t, big, f, c.batch*c.bigH*c.bigW*c.bigC)
}

// weights computes the gradient of the weights from the big image, or its gradient, and the small one.
func (c geometry) weights(t *vulkan.Tape, big, small, dw vulkan.Buffer) {
	m, n := c.kernel*c.kernel*c.bigC, c.smallC
	k := c.batch * c.smallH * c.smallW
	tile := tileOf(m, n, k/leastPart)
	x, y := tile.groups(m, n)
	parts, part := tile.divide(m, k, n)
	to := dw
	if parts > 1 {
		to = t.Scratch(parts * m * n)
	}
	t.Dispatch(kernel("weights-"+tile.name), x, y, parts, c.constants(part, false, cpu.LinearActivation),
		vulkan.Read(big), vulkan.Read(small), vulkan.Write(to))
	if parts > 1 {
		addParts(t, to, vulkan.Buffer{}, dw, cpu.LinearActivation, m*n, parts, 0)
	}
}
