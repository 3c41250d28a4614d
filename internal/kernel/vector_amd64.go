package kernel

// The functions of this file run the assembly of the active instruction set on
// the leading multiple of 16 elements and on a padded copy of the rest, so that
// an element's value does not depend on where in the array it stands.

func exp(dst, x []float32) {
	if active == levelGo {
		expGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		expVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		expVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func expVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		expAVX512(dst, x, n)
	} else {
		expAVX2(dst, x, n)
	}
}

func log(dst, x []float32) {
	if active == levelGo {
		logGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		logVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		logVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func logVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		logAVX512(dst, x, n)
	} else {
		logAVX2(dst, x, n)
	}
}

func tanh(dst, x []float32) {
	if active == levelGo {
		tanhGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		tanhVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		tanhVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func tanhVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		tanhAVX512(dst, x, n)
	} else {
		tanhAVX2(dst, x, n)
	}
}

func sigmoid(dst, x []float32) {
	if active == levelGo {
		sigmoidGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		sigmoidVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		sigmoidVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func sigmoidVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		sigmoidAVX512(dst, x, n)
	} else {
		sigmoidAVX2(dst, x, n)
	}
}

func softplus(dst, x []float32) {
	if active == levelGo {
		softplusGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		softplusVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		softplusVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func softplusVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		softplusAVX512(dst, x, n)
	} else {
		softplusAVX2(dst, x, n)
	}
}

func reluGrad(dst, dy, y []float32) {
	if active == levelGo {
		reluGradGo(dst, dy, y)
		return
	}
	whole := len(y) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			reluGradAVX512(&dst[0], &dy[0], &y[0], whole)
		} else {
			reluGradAVX2(&dst[0], &dy[0], &y[0], whole)
		}
	}
	reluGradGo(dst[whole:], dy[whole:], y[whole:])
}

func leakyGrad(dst, dy, y []float32) {
	if active == levelGo {
		leakyGradGo(dst, dy, y)
		return
	}
	whole := len(y) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			leakyGradAVX512(&dst[0], &dy[0], &y[0], whole)
		} else {
			leakyGradAVX2(&dst[0], &dy[0], &y[0], whole)
		}
	}
	leakyGradGo(dst[whole:], dy[whole:], y[whole:])
}

func sigmoidGrad(dst, dy, y []float32) {
	if active == levelGo {
		sigmoidGradGo(dst, dy, y)
		return
	}
	whole := len(y) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			sigmoidGradAVX512(&dst[0], &dy[0], &y[0], whole)
		} else {
			sigmoidGradAVX2(&dst[0], &dy[0], &y[0], whole)
		}
	}
	sigmoidGradGo(dst[whole:], dy[whole:], y[whole:])
}

func tanhGrad(dst, dy, y []float32) {
	if active == levelGo {
		tanhGradGo(dst, dy, y)
		return
	}
	whole := len(y) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			tanhGradAVX512(&dst[0], &dy[0], &y[0], whole)
		} else {
			tanhGradAVX2(&dst[0], &dy[0], &y[0], whole)
		}
	}
	tanhGradGo(dst[whole:], dy[whole:], y[whole:])
}

func add(dst, x []float32) {
	if active == levelGo {
		addGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			addAVX512(&dst[0], &x[0], whole)
		} else {
			addAVX2(&dst[0], &x[0], whole)
		}
	}
	addGo(dst[whole:], x[whole:])
}

func axpy(dst, x []float32, a float32) {
	if active == levelGo {
		axpyGo(dst, x, a)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			axpyAVX512(&dst[0], &x[0], whole, a)
		} else {
			axpyAVX2(&dst[0], &x[0], whole, a)
		}
	}
	axpyGo(dst[whole:], x[whole:], a)
}

func scale(dst, x []float32, a float32) {
	if active == levelGo {
		scaleGo(dst, x, a)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			scaleAVX512(&dst[0], &x[0], whole, a)
		} else {
			scaleAVX2(&dst[0], &x[0], whole, a)
		}
	}
	scaleGo(dst[whole:], x[whole:], a)
}

func columnSum(dst, src []float32, rows, stride int) {
	switch active {
	case levelAVX512:
		columnSumAVX512(&dst[0], &src[0], rows, stride)
	case levelAVX2:
		columnSumAVX2(&dst[0], &src[0], rows, stride)
	default:
		columnSumGo(dst, src, rows, stride)
	}
}

func sumLanes(acc *[16]float32, x []float32) {
	switch active {
	case levelAVX512:
		sumAVX512(&acc[0], &x[0], len(x))
	case levelAVX2:
		sumAVX2(&acc[0], &x[0], len(x))
	default:
		sumLanesGo(acc, x)
	}
}

func sumSquaresLanes(acc *[16]float32, x []float32) {
	switch active {
	case levelAVX512:
		sumSquaresAVX512(&acc[0], &x[0], len(x))
	case levelAVX2:
		sumSquaresAVX2(&acc[0], &x[0], len(x))
	default:
		sumSquaresLanesGo(acc, x)
	}
}

func dotLanes(acc *[16]float32, x, y []float32) {
	switch active {
	case levelAVX512:
		dotAVX512(&acc[0], &x[0], &y[0], len(x))
	case levelAVX2:
		dotAVX2(&acc[0], &x[0], &y[0], len(x))
	default:
		dotLanesGo(acc, x, y)
	}
}

func squaredErrorLanes(acc *[16]float32, x, y []float32) {
	switch active {
	case levelAVX512:
		squaredErrorAVX512(&acc[0], &x[0], &y[0], len(x))
	case levelAVX2:
		squaredErrorAVX2(&acc[0], &x[0], &y[0], len(x))
	default:
		squaredErrorLanesGo(acc, x, y)
	}
}

func sigmoidErrorLanes(acc *[16]float32, s, l, x []float32) {
	switch active {
	case levelAVX512:
		sigmoidErrorAVX512(&acc[0], &s[0], &l[0], &x[0], len(x))
	case levelAVX2:
		sigmoidErrorAVX2(&acc[0], &s[0], &l[0], &x[0], len(x))
	default:
		sigmoidErrorLanesGo(acc, s, l, x)
	}
}

func logisticErrorLanes(acc *[16]float32, l, x []float32) {
	switch active {
	case levelAVX512:
		logisticErrorAVX512(&acc[0], &l[0], &x[0], len(x))
	case levelAVX2:
		logisticErrorAVX2(&acc[0], &l[0], &x[0], len(x))
	default:
		logisticErrorLanesGo(acc, l, x)
	}
}

func sigmoidErrorGrad(dst, s, x []float32, a float32) {
	if active == levelGo {
		sigmoidErrorGradGo(dst, s, x, a)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			sigmoidErrorGradAVX512(&dst[0], &s[0], &x[0], whole, a)
		} else {
			sigmoidErrorGradAVX2(&dst[0], &s[0], &x[0], whole, a)
		}
	}
	sigmoidErrorGradGo(dst[whole:], s[whole:], x[whole:], a)
}

func logisticErrorGrad(dst, l, x []float32, a float32) {
	if active == levelGo {
		logisticErrorGradGo(dst, l, x, a)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			logisticErrorGradAVX512(&dst[0], &l[0], &x[0], whole, a)
		} else {
			logisticErrorGradAVX2(&dst[0], &l[0], &x[0], whole, a)
		}
	}
	logisticErrorGradGo(dst[whole:], l[whole:], x[whole:], a)
}

func adam(p, m, v, g []float32, c *[8]float32) {
	if active == levelGo {
		adamGo(p, m, v, g, c)
		return
	}
	whole := len(p) &^ 15
	if whole > 0 {
		if active == levelAVX512 {
			adamAVX512(&p[0], &m[0], &v[0], &g[0], whole, c)
		} else {
			adamAVX2(&p[0], &m[0], &v[0], &g[0], whole, c)
		}
	}
	adamGo(p[whole:], m[whole:], v[whole:], g[whole:], c)
}

func transpose8x8(dst, src []float32, dstStride, srcStride int) {
	switch active {
	case levelAVX512:
		transpose8x8AVX512(&dst[0], &src[0], dstStride, srcStride)
	case levelAVX2:
		transpose8x8AVX2(&dst[0], &src[0], dstStride, srcStride)
	default:
		transpose8x8Go(dst, src, dstStride, srcStride)
	}
}
