package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// block is the number of elements that the sums below add in float32, in 16 lanes; the sums of blocks are added in
// float64. It is also the unit of work of a thread.
const block = 4096

// Sum returns the sum of x.
func Sum(x []float32) float64 {
	var total float64
	vectorized := len(x) &^ 15
	for i := 0; i < vectorized; i += block {
		var acc [16]float32
		sumLanes(&acc, x[i:min(i+block, vectorized)])
		total += addLanes(&acc)
	}
	for _, v := range x[vectorized:] {
		total += float64(v)
	}
	return total
}

// SumSquares returns the sum of squares of x.
func SumSquares(x []float32) float64 {
	var total float64
	vectorized := len(x) &^ 15
	for i := 0; i < vectorized; i += block {
		var acc [16]float32
		sumSquaresLanes(&acc, x[i:min(i+block, vectorized)])
		total += addLanes(&acc)
	}
	for _, v := range x[vectorized:] {
		total += float64(v) * float64(v)
	}
	return total
}

// Dot returns the sum of x y.
func Dot(x, y []float32) float64 {
	var total float64
	vectorized := len(x) &^ 15
	for i := 0; i < vectorized; i += block {
		var acc [16]float32
		end := min(i+block, vectorized)
		dotLanes(&acc, x[i:end], y[i:end])
		total += addLanes(&acc)
	}
	for i := vectorized; i < len(x); i++ {
		total += float64(x[i]) * float64(y[i])
	}
	return total
}

// addLanes adds 16 partial sums.
func addLanes(acc *[16]float32) float64 {
	var total float64
	for _, v := range acc {
		total += float64(v)
	}
	return total
}

// function is a function of one number with assembly.
type function int

const (
	exponential function = iota
	logarithm
	tangent
	logistic
	softplus
	exponentialUnit
	gaussianUnit
	logisticUnit
)

// compute sets dst to the values of f. The assembly runs on the leading multiple of 16 elements and on a padded copy of
// the rest. The value of an element then does not depend on its position in the array.
func (f function) compute(dst, x []float32) {
	if !simd.Vectors() {
		value := f.plain()
		for i, v := range x {
			dst[i] = float32(value(float64(v)))
		}
		return
	}
	vectorized := len(x) &^ 15
	if vectorized > 0 {
		f.assembly(&dst[0], &x[0], vectorized)
	}
	if vectorized < len(x) {
		var in, out [16]float32
		copy(in[:], x[vectorized:])
		f.assembly(&out[0], &in[0], 16)
		copy(dst[vectorized:len(x)], out[:])
	}
}

// assembly calls the functions by name, because operands of a function value escape to the heap.
func (f function) assembly(dst, x *float32, n int) {
	switch f {
	case exponential:
		simd.Exp(dst, x, n)
	case logarithm:
		simd.Log(dst, x, n)
	case tangent:
		simd.Tanh(dst, x, n)
	case logistic:
		simd.Sigmoid(dst, x, n)
	case softplus:
		simd.Softplus(dst, x, n)
	case exponentialUnit:
		simd.Elu(dst, x, n)
	case gaussianUnit:
		simd.Gelu(dst, x, n)
	case logisticUnit:
		simd.Silu(dst, x, n)
	}
}

func (f function) plain() func(x float64) float64 {
	return [...]func(float64) float64{math.Exp, math.Log, math.Tanh, sigmoid64, softplus64, elu64, GELU64, SiLU64}[f]
}

// Exp computes dst = e^x. dst and x have equal lengths and may be the same, in all functions below.
func Exp(dst, x []float32) { exponential.compute(dst, x) }

// Log computes dst = ln x: -Inf at 0, NaN for negative numbers.
func Log(dst, x []float32) { logarithm.compute(dst, x) }

// Tanh computes dst = tanh x.
func Tanh(dst, x []float32) { tangent.compute(dst, x) }

// Sigmoid computes dst = 1/(1+e^-x).
func Sigmoid(dst, x []float32) { logistic.compute(dst, x) }

// Softplus computes dst = ln(1+e^x) without overflow.
func Softplus(dst, x []float32) { softplus.compute(dst, x) }

// The functions below run the assembly on the leading multiple of 16 elements, and Go on the rest.

// Add computes dst += x.
func Add(dst, x []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Add(&dst[0], &x[0], vectorized)
	}
	addGo(dst[vectorized:], x[vectorized:])
}

// AddScaled computes dst += a x.
func AddScaled(dst []float32, a float32, x []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Axpy(&dst[0], &x[0], vectorized, a)
	}
	addScaledGo(dst[vectorized:], a, x[vectorized:])
}

// Scale computes dst = a x.
func Scale(dst []float32, a float32, x []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Scale(&dst[0], &x[0], vectorized, a)
	}
	scaleGo(dst[vectorized:], a, x[vectorized:])
}

// ColumnSum adds the sums of 16 columns of src to dst. stride is the distance between rows.
func ColumnSum(dst, src []float32, rows, stride int) {
	if !simd.Vectors() {
		columnSumGo(dst, src, rows, stride)
		return
	}
	simd.ColumnSum(&dst[0], &src[0], rows, stride)
}

func sumLanes(acc *[16]float32, x []float32) {
	if !simd.Vectors() {
		sumLanesGo(acc, x)
		return
	}
	simd.Sum(&acc[0], &x[0], len(x))
}

func sumSquaresLanes(acc *[16]float32, x []float32) {
	if !simd.Vectors() {
		sumSquaresLanesGo(acc, x)
		return
	}
	simd.SumSquares(&acc[0], &x[0], len(x))
}

func dotLanes(acc *[16]float32, x, y []float32) {
	if !simd.Vectors() {
		dotLanesGo(acc, x, y)
		return
	}
	simd.Dot(&acc[0], &x[0], &y[0], len(x))
}

func squaredErrorLanes(acc *[16]float32, x, y []float32) {
	if !simd.Vectors() {
		squaredErrorLanesGo(acc, x, y)
		return
	}
	simd.SquaredError(&acc[0], &x[0], &y[0], len(x))
}

func sigmoidErrorLanes(acc *[16]float32, s, l, x []float32) {
	if !simd.Vectors() {
		sigmoidErrorLanesGo(acc, s, l, x)
		return
	}
	simd.SigmoidError(&acc[0], &s[0], &l[0], &x[0], len(x))
}

func logisticErrorLanes(acc *[16]float32, l, x []float32) {
	if !simd.Vectors() {
		logisticErrorLanesGo(acc, l, x)
		return
	}
	simd.LogisticError(&acc[0], &l[0], &x[0], len(x))
}

// SigmoidErrorGrad computes dst = a (s-x) s (1-s) with s = sigmoid(l). For a = 2, it is the gradient of SigmoidError.
func SigmoidErrorGrad(dst, s, x []float32, a float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.SigmoidErrorGrad(&dst[0], &s[0], &x[0], vectorized, a)
	}
	sigmoidErrorGradGo(dst[vectorized:], s[vectorized:], x[vectorized:], a)
}

// LogisticErrorGrad computes dst = a (sigmoid(l) - x). For a = 1, it is the gradient of LogisticError.
func LogisticErrorGrad(dst, l, x []float32, a float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.LogisticErrorGrad(&dst[0], &l[0], &x[0], vectorized, a)
	}
	logisticErrorGradGo(dst[vectorized:], l[vectorized:], x[vectorized:], a)
}

func adam(p, m, v, g []float32, c *[8]float32) {
	vectorized := vectorChannels(len(p))
	if vectorized > 0 {
		simd.Adam(&p[0], &m[0], &v[0], &g[0], vectorized, c)
	}
	adamGo(p[vectorized:], m[vectorized:], v[vectorized:], g[vectorized:], c)
}
