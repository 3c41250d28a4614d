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

// constants returns the constants of conv.glsl. part is the length of a group's sum.
func (c *geometry) constants(part int, biased bool, slope float64) []uint32 {
	list := sizes(c.batch, c.bigH, c.bigW, c.bigC, c.smallH, c.smallW, c.smallC, c.kernel, c.stride, c.padH, c.padW,
		part, flag(biased))
	return append(list, float(slope))
}

// gather computes the small image from the big one.
func (c geometry) gather(t *vulkan.Tape, big, w, bias, small vulkan.Buffer, f cpu.Activation) {
	pixels, k := c.batch*c.smallH*c.smallW, c.kernel*c.kernel*c.bigC
	tile := tileOf(pixels, c.smallC, k/leastPart)
	x, y := tile.groups(pixels, c.smallC)
	inParts(t, x*y, k, bias, small, f, pixels*c.smallC, c.smallC,
		func(parts, part int, bias, small vulkan.Buffer, slope float64) {
			t.Dispatch(tile.kernel("gather"), x, y, parts, c.constants(part, !bias.IsZero(), slope),
				vulkan.Read(big), vulkan.Read(w), vulkan.Read(either(bias, w)), vulkan.Write(small))
		})
}

// spread computes the big image from the small one.
func (c geometry) spread(t *vulkan.Tape, small, w, bias, big vulkan.Buffer, f cpu.Activation) {
	// of the first phase, which has the largest numbers
	pixels := c.batch * divided(c.bigH, c.stride) * divided(c.bigW, c.stride)
	taps, phases := divided(c.kernel, c.stride), c.stride*c.stride
	k := taps * taps * c.smallC
	tile := tileOf(pixels*phases, c.bigC, k/leastPart)
	x, y := tile.groups(pixels, c.bigC)
	inParts(t, x*y*phases, k, bias, big, f, c.batch*c.bigH*c.bigW*c.bigC, c.bigC,
		func(parts, part int, bias, big vulkan.Buffer, slope float64) {
			t.Dispatch(tile.kernel("spread"), x, y, phases*parts, c.constants(part, !bias.IsZero(), slope),
				vulkan.Read(small), vulkan.Read(w), vulkan.Read(either(bias, w)), vulkan.Write(big))
		})
}

// weights computes the gradient of the weights from the big image, or its gradient, and the small one.
func (c geometry) weights(t *vulkan.Tape, big, small, dw vulkan.Buffer) {
	m, n := c.kernel*c.kernel*c.bigC, c.smallC
	k := c.batch * c.smallH * c.smallW
	tile := tileOf(m, n, k/leastPart)
	x, y := tile.groups(m, n)
	inParts(t, x*y, k, vulkan.Buffer{}, dw, cpu.LinearActivation, m*n, 0,
		func(parts, part int, _, dw vulkan.Buffer, slope float64) {
			t.Dispatch(tile.kernel("weights"), x, y, parts, c.constants(part, false, slope), vulkan.Read(big),
				vulkan.Read(small), vulkan.Write(dw))
		})
}
