// Package simd has the micro-kernels of package kernel in assembly, and chooses the instruction set.
//
// Two micro-kernels carry the products. Matrices use Panel, which multiplies rows or columns at even distances by a
// panel of columns, 12 rows by 32 columns at a time in AVX-512. Convolutions use Tile, 8 rows by 32 columns, which
// takes a table of row offsets. Both exist in assembly for each instruction set (written by tools/external/kernelgen)
// and in Go.
//
// All other assembly functions take pointers to elements that the caller has checked. They require Vectors to be true.
// Otherwise their callers use Go code.
package simd

//go:generate go run -C ../../../tools/external ./kernelgen -isa avx512 -out ../../internal/kernel/simd/avx512_amd64.s -stubs ../../internal/kernel/simd/avx512_amd64.go -pkg simd
//go:generate go run -C ../../../tools/external ./kernelgen -isa avx2 -out ../../internal/kernel/simd/avx2_amd64.s -stubs ../../internal/kernel/simd/avx2_amd64.go -pkg simd
//go:generate go run -C ../../../tools/external ./kernelgen -isa bf16 -out ../../internal/kernel/simd/bf16_amd64.s -stubs ../../internal/kernel/simd/bf16_amd64.go -pkg simd
//go:generate go run -C ../../../tools/external ./kernelgen -isa neon -out ../../internal/kernel/simd/neon_arm64.s -stubs ../../internal/kernel/simd/neon_arm64.go
//go:generate go run -C ../../../tools/external ./kernelgen -dispatch ../../internal/kernel/simd
