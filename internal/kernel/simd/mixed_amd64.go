package simd

import (
	"slices"

	"golang.org/x/sys/cpu"
)

// hasBF16 reports whether the processor has AVX512_BF16; only tests change it.
var hasBF16 = slices.Contains(Available(), AVX512) && cpu.X86.HasAVX512BF16

// computePairs runs the assembly micro-kernel of a width on a tile of pairs.
func computePairs(t *byte, width int) {
	if width == 32 {
		tile8x32BF16(t)
	} else {
		tile8x16BF16(t)
	}
}

// computePanelPairs runs the assembly micro-kernel of matrix products on a panel of pairs.
func computePanelPairs(p *byte, width, columns int) {
	switch {
	case columns == 32:
		panel32BF16(p)
	case width == 32:
		panel32MaskedBF16(p)
	default:
		panel16MaskedBF16(p)
	}
}

func pairColumnsFast(dst, low, high *float32, count, columns, dstStep, step int) {
	pairColumnsBF16(dst, low, high, count, columns, dstStep, step)
}

func pairRowsFast(dst, src *float32, count, columns, dstStep, step int) {
	pairRowsBF16(dst, src, count, columns, dstStep, step)
}
