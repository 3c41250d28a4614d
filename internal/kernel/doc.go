// Package kernel computes the heavy parts of training in float32: matrix
// products, convolutions, functions over arrays and the Adam update.
//
// Two micro-kernels carry the products. Convolutions read image patches in place; products of many rows copy a piece of
// the right matrix at a time. Matrices use panel, which multiplies rows or columns at even distances by a panel of
// columns, 12 rows by 32 columns at a time in AVX-512. Convolutions use tile, 8 rows by 32 columns, which takes a table of row offsets. Both exist in
// assembly for each instruction set (written by tools/external/kernelgen) and in Go. The variable UNRAVEL_KERNEL = go,
// avx2, avx512 or neon forces one instruction set.
//
// Convolutions with kernel 4 and stride 2, and their transposes, use Winograd's F(2x2, 2x2), which takes 9 products
// instead of 16 and keeps exact zeros. Their gradients use F(4x4, 2x2), which takes 25 instead of 64. Convolutions with
// kernel 3 and stride 1 use F(4x4, 3x3), which takes 36 instead of 144.
//
// Objectives over all pairs of points use functions on tiles of 32 by 64 pairs. The tiles stay in the first-level
// cache, and memory grows linearly with the number of points. The functions compute squared distances and densities,
// functions of these, and weighted sums of differences, which are gradients; see Points and Gaussians.
//
// Items of work, and the order of sums over them, do not depend on the number of threads. Results are equal, bit for
// bit, for any GOMAXPROCS.
package kernel

//go:generate go run -C ../../tools/external ./kernelgen -isa avx512 -out ../../internal/kernel/avx512_amd64.s -stubs ../../internal/kernel/avx512_amd64.go -pkg kernel
//go:generate go run -C ../../tools/external ./kernelgen -isa avx2 -out ../../internal/kernel/avx2_amd64.s -stubs ../../internal/kernel/avx2_amd64.go -pkg kernel
//go:generate go run -C ../../tools/external ./kernelgen -isa bf16 -out ../../internal/kernel/bf16_amd64.s -stubs ../../internal/kernel/bf16_amd64.go -pkg kernel
//go:generate go run -C ../../tools/external ./kernelgen -isa neon -out ../../internal/kernel/neon_arm64.s -stubs ../../internal/kernel/neon_arm64.go
//go:generate go run -C ../../tools/external ./kernelgen -dispatch ../../internal/kernel
