// Package kernel computes the expensive parts of training in float32: elementwise functions, pixel losses, sums over
// all pairs of points, and the Adam update. Dense layers are in package dense, convolutions in package conv. Package
// simd has their micro-kernels in assembly, and selects the instruction set. The environment variable UNRAVEL_KERNEL =
// go, avx2, avx512 or neon forces an instruction set.
//
// Objectives over all pairs of points use functions on tiles of 32 by 64 pairs. Tiles fit in the L1 cache, and the
// memory is linear in the number of points. The functions compute squared distances, densities, functions of these, and
// weighted sums of differences (gradients); see Points and Gaussians.
//
// The division into units of work, and the order of sums over them, do not depend on the number of threads. Results are
// therefore equal, bit for bit, for any GOMAXPROCS.
package kernel

import "github.com/unravel-ml/unravel/internal/kernel/simd"

// Variable is the environment variable that forces an instruction set.
const Variable = simd.Variable

// InstructionSet returns the instruction set in use: go, avx2, avx512 or neon. It returns an error if UNRAVEL_KERNEL
// selects an instruction set that this machine does not support.
func InstructionSet() (string, error) { return simd.InstructionSet() }

// Mixed returns nil if the processor has instructions for products in mixed precision, and otherwise an error for the
// user.
func Mixed() error { return simd.Mixed() }

// Processor returns the processor, and the block sizes of matrix products for it.
func Processor() (simd.CPU, simd.Choices) { return simd.Processor() }
