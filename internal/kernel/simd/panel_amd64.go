package simd

import "unsafe"

// Compute runs the micro-kernel of the active instruction set.
func (p *Panel) Compute() {
	t := (*byte)(unsafe.Pointer(p))
	switch {
	case active == Go:
		p.computeGo()
	case active == AVX2:
		panel16AVX2(t)
	case p.Columns == 32:
		panel32AVX512(t)
	case p.Width == 32:
		panel32MaskedAVX512(t)
	default:
		panel16MaskedAVX512(t)
	}
}

// transpose16 transposes 16 rows and returns true if the active instruction set has registers for them.
func transpose16(dst, src []float32, dstStride, srcStride, columns int) bool {
	if active != AVX512 {
		return false
	}
	transpose16AVX512(&dst[0], &src[0], dstStride, srcStride, columns)
	return true
}

// CopyRows copies n runs of panelWidth elements, step apart, to consecutive runs.
func CopyRows(dst, src []float32, step, n int) {
	switch active {
	case AVX512:
		copyRowsAVX512(&dst[0], &src[0], step, n)
	case AVX2:
		copyRowsAVX2(&dst[0], &src[0], step, n)
	default:
		CopyRowsGo(dst, src, PanelWidth(), PanelWidth(), step, n)
	}
}
