package kernel

func inputs25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		inputs25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	inputs25Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func filters25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		filters25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	filters25Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func pixels25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		pixels25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	pixels25Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func taps25(dst, src []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int) {
	if active == levelGo {
		taps25Go(dst, src, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
		return
	}
	taps25Vector(&dst[0], &src[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep)
}

func outputs25(dst, src, bias []float32, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep int, floor float32) {
	if active == levelGo {
		outputs25Go(dst, src, bias, n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
		return
	}
	outputs25Vector(&dst[0], &src[0], &bias[0], n, dstRow, dstCol, srcRow, srcCol, count, dstStep, srcStep, floor)
}
