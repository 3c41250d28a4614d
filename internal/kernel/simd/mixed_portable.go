//go:build !amd64

package simd

// hasBF16 reports whether the processor has AVX512_BF16; only tests change it.
var hasBF16 = false

// The functions of this file are never called.

func computePairs(*byte, int) {}

func computePanelPairs(*byte, int, int) {}

func pairColumnsFast(dst, low, high *float32, count, columns, dstStep, step int) {}

func pairRowsFast(dst, src *float32, count, columns, dstStep, step int) {}
