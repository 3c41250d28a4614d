package kernels

import (
	"github.com/unravel-ml/unravel/graph/vulkan"
	cpu "github.com/unravel-ml/unravel/internal/kernel"
)

// NormShape holds the sizes of a normalisation of x [Sets, Rows, Channels]. The rows of a set share moments: the sets
// are parts of a batch, or its images.
type NormShape struct {
	Sets, Rows, Channels int
	Groups               int  // adjacent channels with shared moments; 0: each channel has its own moments
	Given                bool // the moments do not depend on x
	Epsilon              float64
	ReLU                 bool // the result is max(y, 0)
}

// groups returns the number of groups of channels, and their width.
func (s NormShape) groups() (count, wide int) {
	if s.Groups == 0 {
		return s.Channels, 1
	}
	return s.Groups, s.Channels / s.Groups
}

// Moments records means and variances of x, [Sets, 2, Channels]: layer.BatchMoments if there are no groups.
func Moments(t *vulkan.Tape, x, moments vulkan.Buffer, s NormShape) {
	sums := s.sums(t, x, vulkan.Buffer{}, vulkan.Buffer{}, vulkan.Buffer{})
	groups, wide := s.groups()
	each(t, "normmoments", s.Sets*groups, sizes(s.Sets, s.Rows, s.Channels, wide), vulkan.Read(x), vulkan.Read(sums),
		vulkan.Write(moments))
}

// sums returns sums over the rows, [Sets, 2, Channels]: see normsums.comp. Without dy, it returns the sums for the
// moments.
func (s NormShape) sums(t *vulkan.Tape, x, moments, y, dy vulkan.Buffer) vulkan.Buffer {
	height := partHeight(s.Rows)
	parts, n := divided(s.Rows, height), s.Sets*2*s.Channels
	to := t.Scratch(parts * n)
	constants := sizes(s.Sets, s.Rows, s.Channels, height, flag(!dy.IsZero()), flag(s.ReLU))
	t.Dispatch(kernel("normsums"), divided(s.Channels, 16), parts, s.Sets, constants,
		vulkan.Read(x), vulkan.Read(either(moments, x)), vulkan.Read(either(dy, x)), vulkan.Read(either(y, x)),
		vulkan.Write(to))
	if parts == 1 {
		return to
	}
	sums := t.Scratch(n)
	addParts(t, to, vulkan.Buffer{}, sums, cpu.LinearActivation, n, parts, 0)
	return sums
}

// Norm records y = (x - mean)/sqrt(variance + Epsilon) gamma + beta. If moments, [Sets, 2, Channels], are none, Norm
// computes the moments of x. gamma and beta, [Channels], may both be none: 1 and 0.
func Norm(t *vulkan.Tape, x, moments, gamma, beta, y vulkan.Buffer, s NormShape) {
	moments = s.moments(t, x, moments)
	n := s.Sets * s.Rows * s.Channels
	each(t, "norm", n, append(sizes(n, s.Rows, s.Channels, flag(!gamma.IsZero()), flag(s.ReLU)), float(s.Epsilon)),
		vulkan.Read(x), vulkan.Read(moments), vulkan.Read(either(gamma, x)), vulkan.Read(either(beta, x)),
		vulkan.Write(y))
}

func (s NormShape) moments(t *vulkan.Tape, x, moments vulkan.Buffer) vulkan.Buffer {
	if moments.IsZero() {
		moments = t.Scratch(s.Sets * 2 * s.Channels)
		Moments(t, x, moments, s)
	}
	return moments
}

// NormGradient records the gradients of [Norm] by x, gamma and beta, from the gradient dy of y. The gradient of x
// includes the path through the moments, unless they are given.
func NormGradient(t *vulkan.Tape, x, moments, gamma, y, dy, dx, dgamma, dbeta vulkan.Buffer, s NormShape) {
	moments = s.moments(t, x, moments)
	sums := s.sums(t, x, moments, y, dy)
	affine := flag(!gamma.IsZero())
	groups, wide := s.groups()
	if !dx.IsZero() {
		line := moments
		if !s.Given {
			line = t.Scratch(s.Sets * 2 * s.Channels)
			each(t, "normslopes", s.Sets*groups, append(sizes(s.Sets, s.Rows, s.Channels, wide, affine), float(s.Epsilon)),
				vulkan.Read(sums), vulkan.Read(moments), vulkan.Read(either(gamma, sums)), vulkan.Write(line))
		}
		n := s.Sets * s.Rows * s.Channels
		each(t, "normgradient", n, append(sizes(n, s.Rows, s.Channels, affine, flag(s.ReLU), flag(s.Given)),
			float(s.Epsilon)),
			vulkan.Read(x), vulkan.Read(moments), vulkan.Read(either(gamma, x)), vulkan.Read(line), vulkan.Read(dy),
			vulkan.Read(y), vulkan.Write(dx))
	}
	for gamma, d := range []vulkan.Buffer{dbeta, dgamma} {
		if !d.IsZero() {
			each(t, "normparameters", s.Channels, append(sizes(s.Sets, s.Channels, gamma), float(s.Epsilon)),
				vulkan.Read(sums), vulkan.Read(moments), vulkan.Write(d))
		}
	}
}

// FollowMoments records a step of running moments [2, channels] towards moments [sets, 2, channels] with count
// elements behind each: see nn.Running.Follow.
func FollowMoments(t *vulkan.Tape, moments, running vulkan.Buffer, sets, channels, count int) {
	unbiased := 0.0
	if count > 1 {
		unbiased = float64(count) / float64(count-1)
	}
	each(t, "running", 2*channels, append(sizes(sets, channels), float(unbiased)), vulkan.Read(moments),
		vulkan.Update(running))
}
