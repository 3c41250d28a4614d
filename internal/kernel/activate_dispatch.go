package kernel

// The functions of this file run the assembly of the active instruction set on the leading multiple of 16 elements.
// Where the Go version would give other bits, the remaining elements run as a padded copy. An element's value then does
// not depend on its place in the array.

func relu(y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		reluVector(&y[0], &y[0], whole)
	}
	reluGo(y[whole:])
}

func leaky(y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		leakyVector(&y[0], &y[0], whole)
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

func eluGrad(dst, dy, y []float32) {
	whole := wholeChannels(len(y))
	if whole > 0 {
		eluGradVector(&dst[0], &dy[0], &y[0], whole)
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

func multiply(dst, x, y []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		multiplyVector(&dst[0], &x[0], &y[0], whole)
	}
	multiplyGo(dst[whole:], x[whole:], y[whole:])
}

func mix(dst []float32, a float32, x []float32, b float32, y []float32) {
	whole := wholeChannels(len(dst))
	if whole > 0 {
		mixVector(&dst[0], &x[0], &y[0], whole, a, b)
	}
	mixGo(dst[whole:], a, x[whole:], b, y[whole:])
}

func largest(dst, x []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		largestVector(&dst[0], &x[0], whole)
	}
	largestGo(dst[whole:], x[whole:])
}

func claim(dst, left, x, y []float32) {
	whole := wholeChannels(len(x))
	if whole > 0 {
		claimVector(&dst[0], &left[0], &x[0], &y[0], whole)
	}
	claimGo(dst[whole:], left[whole:], x[whole:], y[whole:])
}
