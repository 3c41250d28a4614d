package kernel

// Exp computes dst = e^x. dst and x have equal lengths and may be the same, in all functions below.
func Exp(dst, x []float32) { exp(dst, x) }

// Log computes dst = ln x: -Inf at 0, NaN below.
func Log(dst, x []float32) { log(dst, x) }

// Tanh computes dst = tanh x.
func Tanh(dst, x []float32) { tanh(dst, x) }

// Sigmoid computes dst = 1/(1+e^-x).
func Sigmoid(dst, x []float32) { sigmoid(dst, x) }

// Softplus computes dst = ln(1+e^x) without overflow.
func Softplus(dst, x []float32) { softplus(dst, x) }

// GELU computes dst = x Phi(x), with the distribution function Phi of standard normal numbers; at -Inf it is 0. Assembly
// is off by at most 8 units in the last place.
//
// Source: Hendrycks and Gimpel 2016, the exact form.
func GELU(dst, x []float32) { gelu(dst, x) }

// SiLU computes dst = x/(1+e^-x); at -Inf it is 0.
func SiLU(dst, x []float32) { silu(dst, x) }

// Multiply computes dst = x y.
func Multiply(dst, x, y []float32) { multiply(dst, x, y) }

// Mix computes dst = a x + b y.
func Mix(dst []float32, a float32, x []float32, b float32, y []float32) { mix(dst, a, x, b, y) }

// Largest computes dst = max(dst, x); the result is NaN if either number is.
func Largest(dst, x []float32) { largest(dst, x) }

// Claim moves left to dst where x = y: dst += left, left = 0.
func Claim(dst, left, x, y []float32) { claim(dst, left, x, y) }

// Add computes dst += x.
func Add(dst, x []float32) { add(dst, x) }

// AddScaled computes dst += a x.
func AddScaled(dst []float32, a float32, x []float32) { axpy(dst, x, a) }

// Scale computes dst = a x.
func Scale(dst []float32, a float32, x []float32) { scale(dst, x, a) }

// block is how many elements the sums below add up in float32, in 16 lanes; the
// sums of blocks are added in float64. It is also the piece of work of a thread.
const block = 4096

// Sum returns the sum of x.
func Sum(x []float32) float64 {
	var total float64
	whole := len(x) &^ 15
	for i := 0; i < whole; i += block {
		var acc [16]float32
		sumLanes(&acc, x[i:min(i+block, whole)])
		total += addLanes(&acc)
	}
	for _, v := range x[whole:] {
		total += float64(v)
	}
	return total
}

// SumSquares returns the sum of squares of x.
func SumSquares(x []float32) float64 {
	var total float64
	whole := len(x) &^ 15
	for i := 0; i < whole; i += block {
		var acc [16]float32
		sumSquaresLanes(&acc, x[i:min(i+block, whole)])
		total += addLanes(&acc)
	}
	for _, v := range x[whole:] {
		total += float64(v) * float64(v)
	}
	return total
}

// Dot returns the sum of x y.
func Dot(x, y []float32) float64 {
	var total float64
	whole := len(x) &^ 15
	for i := 0; i < whole; i += block {
		var acc [16]float32
		end := min(i+block, whole)
		dotLanes(&acc, x[i:end], y[i:end])
		total += addLanes(&acc)
	}
	for i := whole; i < len(x); i++ {
		total += float64(x[i]) * float64(y[i])
	}
	return total
}

// addLanes adds up 16 partial sums.
func addLanes(acc *[16]float32) float64 {
	var total float64
	for _, v := range acc {
		total += float64(v)
	}
	return total
}

// The functions below run the assembly of the active instruction set on the leading multiple of 16 elements and
// on a padded copy of the rest. An element's value then does not depend on its place in the array.

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

func reluGrad(dst, dy, y []float32) {
	if active == levelGo {
		reluGradGo(dst, dy, y)
		return
	}
	whole := len(y) &^ 15
	if whole > 0 {
		reluGradVector(&dst[0], &dy[0], &y[0], whole)
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
		leakyGradVector(&dst[0], &dy[0], &y[0], whole)
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
		sigmoidGradVector(&dst[0], &dy[0], &y[0], whole)
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
		tanhGradVector(&dst[0], &dy[0], &y[0], whole)
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
		addVector(&dst[0], &x[0], whole)
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
		axpyVector(&dst[0], &x[0], whole, a)
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
		scaleVector(&dst[0], &x[0], whole, a)
	}
	scaleGo(dst[whole:], x[whole:], a)
}

func columnSum(dst, src []float32, rows, stride int) {
	if active == levelGo {
		columnSumGo(dst, src, rows, stride)
		return
	}
	columnSumVector(&dst[0], &src[0], rows, stride)
}

func sumLanes(acc *[16]float32, x []float32) {
	if active == levelGo {
		sumLanesGo(acc, x)
		return
	}
	sumVector(&acc[0], &x[0], len(x))
}

func sumSquaresLanes(acc *[16]float32, x []float32) {
	if active == levelGo {
		sumSquaresLanesGo(acc, x)
		return
	}
	sumSquaresVector(&acc[0], &x[0], len(x))
}

func dotLanes(acc *[16]float32, x, y []float32) {
	if active == levelGo {
		dotLanesGo(acc, x, y)
		return
	}
	dotVector(&acc[0], &x[0], &y[0], len(x))
}

func squaredErrorLanes(acc *[16]float32, x, y []float32) {
	if active == levelGo {
		squaredErrorLanesGo(acc, x, y)
		return
	}
	squaredErrorVector(&acc[0], &x[0], &y[0], len(x))
}

func sigmoidErrorLanes(acc *[16]float32, s, l, x []float32) {
	if active == levelGo {
		sigmoidErrorLanesGo(acc, s, l, x)
		return
	}
	sigmoidErrorVector(&acc[0], &s[0], &l[0], &x[0], len(x))
}

func logisticErrorLanes(acc *[16]float32, l, x []float32) {
	if active == levelGo {
		logisticErrorLanesGo(acc, l, x)
		return
	}
	logisticErrorVector(&acc[0], &l[0], &x[0], len(x))
}

func sigmoidErrorGrad(dst, s, x []float32, a float32) {
	if active == levelGo {
		sigmoidErrorGradGo(dst, s, x, a)
		return
	}
	whole := len(x) &^ 15
	if whole > 0 {
		sigmoidErrorGradVector(&dst[0], &s[0], &x[0], whole, a)
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
		logisticErrorGradVector(&dst[0], &l[0], &x[0], whole, a)
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
		adamVector(&p[0], &m[0], &v[0], &g[0], whole, c)
	}
	adamGo(p[whole:], m[whole:], v[whole:], g[whole:], c)
}

func transpose8x8(dst, src []float32, dstStride, srcStride int) {
	if active == levelGo {
		transpose8x8Go(dst, src, dstStride, srcStride)
		return
	}
	transpose8x8Vector(&dst[0], &src[0], dstStride, srcStride)
}
