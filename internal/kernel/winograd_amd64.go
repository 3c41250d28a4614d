package kernel

func expand9(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		expand9AVX512(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		expand9AVX2(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	default:
		expand9Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func expand4(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	switch active {
	case levelAVX512:
		expand4AVX512(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	case levelAVX2:
		expand4AVX2(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	default:
		expand4Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
	}
}

func contract9(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
	switch active {
	case levelAVX512:
		contract9AVX512(&dst[0], &src[0], &bias[0], n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
	case levelAVX2:
		contract9AVX2(&dst[0], &src[0], &bias[0], n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
	default:
		contract9Go(dst, src, bias, n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
	}
}
