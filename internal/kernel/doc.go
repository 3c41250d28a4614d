// Package kernel computes the heavy parts of training in float32: functions over arrays, losses of pixels, sums over
// all pairs of points, and the Adam update. Dense layers are in package dense, convolutions in package conv. Package
// simd has their micro-kernels in assembly, and chooses the instruction set. The variable UNRAVEL_KERNEL = go, avx2,
// avx512 or neon forces one.
//
// Objectives over all pairs of points use functions on tiles of 32 by 64 pairs. The tiles stay in the first-level
// cache, and memory grows linearly with the number of points. The functions compute squared distances and densities,
// functions of these, and weighted sums of differences, which are gradients; see Points and Gaussians.
//
// The division into items, and the order of sums over them, do not depend on the number of threads. Results are
// therefore equal, bit for bit, for any GOMAXPROCS.
package kernel

import "github.com/unravel-ml/unravel/internal/kernel/simd"

// Variable is the environment variable that forces an instruction set.
const Variable = simd.Variable

// InstructionSet returns the instruction set in use: go, avx2, avx512 or neon. The error is not nil if UNRAVEL_KERNEL
// asks for an instruction set that this machine lacks.
func InstructionSet() (string, error) { return simd.InstructionSet() }

// Mixed returns nil if products in mixed precision run on instructions of the processor, and otherwise an error for the
// user who asks for it.
func Mixed() error { return simd.Mixed() }

// Processor returns the processor, and the sizes of the parts of matrix products on it.
func Processor() (simd.CPU, simd.Choices) { return simd.Processor() }
