package kernel

// The functions of this file run the assembly of the active instruction set on the leading multiple of 16 elements. Where
// the Go version would give other bits, the rest runs as a padded copy, so that an element's value does not depend on
// where in the array it stands.

func relu(y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		if active == levelAVX512 {
			reluAVX512(&y[0], &y[0], whole)
		} else {
			reluAVX2(&y[0], &y[0], whole)
		}
	}
	reluGo(y[whole:])
}

func leaky(y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		if active == levelAVX512 {
			leakyAVX512(&y[0], &y[0], whole)
		} else {
			leakyAVX2(&y[0], &y[0], whole)
		}
	}
	leakyGo(y[whole:])
}

func elu(dst, x []float32) {
	if active == levelGo {
		eluGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		eluVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		eluVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func eluVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		eluAVX512(dst, x, n)
	} else {
		eluAVX2(dst, x, n)
	}
}

func gelu(dst, x []float32) {
	if active == levelGo {
		geluGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		geluVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		geluVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func geluVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		geluAVX512(dst, x, n)
	} else {
		geluAVX2(dst, x, n)
	}
}

func silu(dst, x []float32) {
	if active == levelGo {
		siluGo(dst, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		siluVector(&dst[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, out [16]float32
		copy(in[:], x[whole:])
		siluVector(&out[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func siluVector(dst, x *float32, n int) {
	if active == levelAVX512 {
		siluAVX512(dst, x, n)
	} else {
		siluAVX2(dst, x, n)
	}
}

func eluGrad(dst, dy, y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		if active == levelAVX512 {
			eluGradAVX512(&dst[0], &dy[0], &y[0], whole)
		} else {
			eluGradAVX2(&dst[0], &dy[0], &y[0], whole)
		}
	}
	eluGradGo(dst[whole:], dy[whole:], y[whole:])
}

func geluGrad(dst, dy, x []float32) {
	if active == levelGo {
		geluGradGo(dst, dy, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		geluGradVector(&dst[0], &dy[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, slope, out [16]float32
		copy(in[:], x[whole:])
		copy(slope[:], dy[whole:])
		geluGradVector(&out[0], &slope[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func geluGradVector(dst, dy, x *float32, n int) {
	if active == levelAVX512 {
		geluGradAVX512(dst, dy, x, n)
	} else {
		geluGradAVX2(dst, dy, x, n)
	}
}

func siluGrad(dst, dy, x []float32) {
	if active == levelGo {
		siluGradGo(dst, dy, x)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		siluGradVector(&dst[0], &dy[0], &x[0], whole)
	}
	if whole < len(x) {
		var in, slope, out [16]float32
		copy(in[:], x[whole:])
		copy(slope[:], dy[whole:])
		siluGradVector(&out[0], &slope[0], &in[0], 16)
		copy(dst[whole:len(x)], out[:])
	}
}

func siluGradVector(dst, dy, x *float32, n int) {
	if active == levelAVX512 {
		siluGradAVX512(dst, dy, x, n)
	} else {
		siluGradAVX2(dst, dy, x, n)
	}
}

func multiply(dst, x, y []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		if active == levelAVX512 {
			multiplyAVX512(&dst[0], &x[0], &y[0], whole)
		} else {
			multiplyAVX2(&dst[0], &x[0], &y[0], whole)
		}
	}
	multiplyGo(dst[whole:], x[whole:], y[whole:])
}

func mix(dst []float32, a float32, x []float32, b float32, y []float32) {
	whole := wholeChannels(len(dst))
	if whole > 0 {
		if active == levelAVX512 {
			mixAVX512(&dst[0], &x[0], &y[0], whole, a, b)
		} else {
			mixAVX2(&dst[0], &x[0], &y[0], whole, a, b)
		}
	}
	mixGo(dst[whole:], a, x[whole:], b, y[whole:])
}

func largest(dst, x []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		if active == levelAVX512 {
			largestAVX512(&dst[0], &x[0], whole)
		} else {
			largestAVX2(&dst[0], &x[0], whole)
		}
	}
	largestGo(dst[whole:], x[whole:])
}

func claim(dst, left, x, y []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		if active == levelAVX512 {
			claimAVX512(&dst[0], &left[0], &x[0], &y[0], whole)
		} else {
			claimAVX2(&dst[0], &left[0], &x[0], &y[0], whole)
		}
	}
	claimGo(dst[whole:], left[whole:], x[whole:], y[whole:])
}
