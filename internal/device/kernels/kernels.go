// Package kernels records the operations of graphs as compute kernels on tapes of package vulkan, in float32.
//
// A function records the dispatches of one operation, with the access of each argument. Its arguments are the buffers
// and sizes of the operation, in the layouts of the CPU: rows of numbers, images [batch, height, width, channels]. A
// gradient function skips results with a zero Buffer.
//
// The kernels are GLSL files (*.comp), each with its formula; generate.sh compiles them to SPIR-V. The order of sums
// depends only on sizes, with loops and trees instead of atomics. A device therefore gives the same bits in every run.
package kernels

//go:generate sh generate.sh

import (
	"math"

	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/numeric"
)

func kernel(name string) vulkan.Kernel { return vulkan.Kernel{Name: name, Code: code(name)} }

// mostGroups is the maximum number of workgroups of an elementwise kernel. Its threads process elements with a stride.
const mostGroups = 4096

// each records an elementwise kernel over n elements.
func each(t *vulkan.Tape, name string, n int, constants []uint32, args ...vulkan.Argument) {
	t.Dispatch(kernel(name), min(divided(n, 256), mostGroups), 1, 1, constants, args...)
}

// divided returns n/d, rounded up.
func divided(n, d int) int { return (n + d - 1) / d }

// sizes returns numbers as constants of a kernel.
func sizes(n ...int) []uint32 {
	return numeric.Convert[uint32](n)
}

func float(v float64) uint32 { return math.Float32bits(float32(v)) }

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// either returns b, or other if b is none. A kernel needs memory even for an unused argument.
func either(b, other vulkan.Buffer) vulkan.Buffer {
	if b.IsZero() {
		return other
	}
	return b
}
