//go:build !amd64

package kernel

func expand9(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	expand9Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
}

func expand4(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	expand4Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
}

func contract9(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
	contract9Go(dst, src, bias, n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
}
