package kernel

func expand9(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		expand9Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	expand9Vector(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
}

func expand4(dst, src []float32, n, dstStride, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		expand4Go(dst, src, n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	expand4Vector(&dst[0], &src[0], n, dstStride, srcRow, srcCol, count, dstStep, srcStep)
}

func contract9(dst, src, bias []float32, n, srcStride, dstRow, dstCol, count, dstStep, srcStep int, floor float32) {
	if active == levelGo {
		contract9Go(dst, src, bias, n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
		return
	}
	contract9Vector(&dst[0], &src[0], &bias[0], n, srcStride, dstRow, dstCol, count, dstStep, srcStep, floor)
}
func inputs36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		inputs36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	inputs36Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func filters36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		filters36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	filters36Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func pixels36(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		pixels36Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	pixels36Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func taps9(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		taps9Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	taps9Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func outputs16(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	if active == levelGo {
		outputs16Go(dst, src, bias, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
		return
	}
	outputs16Vector(&dst[0], &src[0], &bias[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
}
