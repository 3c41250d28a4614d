//go:build !amd64

package kernel

func inputs36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	inputs36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func filters36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	filters36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func pixels36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	pixels36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func taps9(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	taps9Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func outputs16(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	outputs16Go(dst, src, bias, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
}
