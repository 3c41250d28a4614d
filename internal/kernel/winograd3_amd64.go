package kernel

func inputs36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		inputs36AVX512(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		inputs36AVX2(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	default:
		inputs36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func filters36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		filters36AVX512(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		filters36AVX2(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	default:
		filters36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func pixels36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		pixels36AVX512(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		pixels36AVX2(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	default:
		pixels36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func taps9(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		taps9AVX512(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		taps9AVX2(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	default:
		taps9Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func outputs16(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	switch active {
	case levelAVX512:
		outputs16AVX512(&dst[0], &src[0], &bias[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
	case levelAVX2:
		outputs16AVX2(&dst[0], &src[0], &bias[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
	default:
		outputs16Go(dst, src, bias, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
	}
}
