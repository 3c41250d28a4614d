package kernel

// Exp computes dst = e^x. dst and x have equal lengths and may be the same, here and below.
func Exp(dst, x []float32) { exp(dst, x) }

// Log computes dst = ln x: -Inf at 0, NaN below.
func Log(dst, x []float32) { log(dst, x) }

// Tanh computes dst = tanh x.
func Tanh(dst, x []float32) { tanh(dst, x) }

// Sigmoid computes dst = 1/(1+e^-x).
func Sigmoid(dst, x []float32) { sigmoid(dst, x) }

// Softplus computes dst = ln(1+e^x) without overflow.
func Softplus(dst, x []float32) { softplus(dst, x) }

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
	return reduce(len(x), func(acc *[16]float32, i, j int) { sumLanes(acc, x[i:j]) }, func(i int) float32 { return x[i] })
}

// SumSquares returns the sum of squares of x.
func SumSquares(x []float32) float64 {
	return reduce(len(x), func(acc *[16]float32, i, j int) { sumSquaresLanes(acc, x[i:j]) }, func(i int) float32 { return x[i] * x[i] })
}

// Dot returns the sum of x y.
func Dot(x, y []float32) float64 {
	return reduce(len(x), func(acc *[16]float32, i, j int) { dotLanes(acc, x[i:j], y[i:j]) }, func(i int) float32 { return x[i] * y[i] })
}

// reduce adds n elements block by block: lanes for whole multiples of 16, one for what is left.
func reduce(n int, lanes func(acc *[16]float32, i, j int), one func(i int) float32) float64 {
	var total float64
	whole := n &^ 15
	for i := 0; i < whole; i += block {
		var acc [16]float32
		lanes(&acc, i, min(i+block, whole))
		for _, v := range acc {
			total += float64(v)
		}
	}
	for i := whole; i < n; i++ {
		total += float64(one(i))
	}
	return total
}
