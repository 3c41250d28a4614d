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
