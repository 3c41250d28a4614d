package kernel

import "unsafe"

// compute runs the micro-kernel of the active instruction set.
func (p *panel) compute() {
	t := (*byte)(unsafe.Pointer(p))
	switch {
	case active == levelGo:
		p.computeGo()
	case active == levelAVX2:
		panel16AVX2(t)
	case p.columns == 32:
		panel32AVX512(t)
	case p.width == 32:
		panel32MaskedAVX512(t)
	default:
		panel16MaskedAVX512(t)
	}
}

// transpose16 transposes 16 rows, if the active instruction set has registers for them.
func transpose16(dst, src []float32, dstStride, srcStride, columns int) bool {
	if active != levelAVX512 {
		return false
	}
	transpose16AVX512(&dst[0], &src[0], dstStride, srcStride, columns)
	return true
}

// copyRows copies n runs of panelWidth elements, step apart, to runs that follow each other.
func copyRows(dst, src []float32, step, n int) {
	switch active {
	case levelAVX512:
		copyRowsAVX512(&dst[0], &src[0], step, n)
	case levelAVX2:
		copyRowsAVX2(&dst[0], &src[0], step, n)
	default:
		copyRowsGo(dst, src, panelWidth(), panelWidth(), step, n)
	}
}
