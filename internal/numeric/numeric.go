// Package numeric has vector arithmetic for operations: for float32 with package kernel, and for float64 with plain
// loops. Sums are computed in float64.
package numeric

import (
	"math"
	"math/bits"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Float is an element type of operations.
type Float interface{ float32 | float64 }

// minSquare is the minimum squared norm in a division.
const minSquare = 1e-12

// Singles returns x as a slice of float32, if it has this type.
func Singles[T Float](x []T) ([]float32, bool) { return kernel.Singles(x) }

// Square returns sum v_i^2.
func Square[T Float](v []T) float64 {
	s := 0.0
	for _, x := range v {
		s += float64(x) * float64(x)
	}
	return s
}

// Dot returns sum a_i b_i, summed in order.
func Dot[T Float](a, b []T) float64 {
	s := 0.0
	for i, x := range a {
		s += float64(x) * float64(b[i])
	}
	return s
}

// Normalise sets y = Pi(v) = v / sqrt(max(|v|^2, 1e-12)), and returns |v|^2. y may be v.
func Normalise[T Float](y, v []T) float64 {
	s := Square(v)
	scale := 1 / math.Sqrt(max(s, minSquare))
	for i, x := range v {
		y[i] = T(float64(x) * scale)
	}
	return s
}

// NormaliseGradient sets dv from y = Pi(v) and |v|^2. dv may be dy. If |v|^2 is below the minimum, Pi is a
// multiplication by a constant.
func NormaliseGradient[T Float](dv, y, dy []T, square float64) {
	along := 0.0
	if square > minSquare {
		along = Dot(y, dy)
	}
	scale := 1 / math.Sqrt(max(square, minSquare))
	for i, g := range dy {
		dv[i] = T((float64(g) - along*float64(y[i])) * scale)
	}
}

// SquaredError returns sum (a_i - b_i)^2.
func SquaredError[T Float](a, b []T) float64 {
	if a32, ok := Singles(a); ok {
		b32, _ := Singles(b)
		return kernel.SquaredError(a32, b32)
	}
	s := 0.0
	for i, x := range a {
		d := float64(x - b[i])
		s += d * d
	}
	return s
}

// Product returns sum a_i b_i, summed in the fastest order.
func Product[T Float](a, b []T) float64 {
	if x, ok := Singles(a); ok {
		y, _ := Singles(b)
		return kernel.Dot(x, y)
	}
	return Dot(a, b)
}

// Sum returns sum x_i.
func Sum[T Float](x []T) (sum float64) {
	if s, ok := Singles(x); ok {
		return kernel.Sum(s)
	}
	for _, v := range x {
		sum += float64(v)
	}
	return sum
}

// MeanDeviation returns the mean m of n numbers and their standard deviation, sqrt(sum (x_i - m)^2/(n-1)). The mean of
// no numbers is NaN. The deviation has a meaning for two or more numbers.
func MeanDeviation(x []float64) (mean, deviation float64) {
	mean = Sum(x) / float64(len(x))
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(squares / float64(len(x)-1))
}

// Quantile returns the quantile of sorted numbers for a fraction in [0, 1]. It interpolates linearly between
// neighbours.
func Quantile(sorted []float64, fraction float64) float64 {
	place := fraction * float64(len(sorted)-1)
	i := int(place)
	part := place - float64(i)
	if part == 0 {
		return sorted[i]
	}
	return sorted[i] + part*(sorted[i+1]-sorted[i])
}

// Exp sets dst[i] = exp(x[i]).
func Exp[T Float](dst, x []T) { vec(dst, x, kernel.Exp, math.Exp) }

// Tanh sets dst[i] = tanh(x[i]).
func Tanh[T Float](dst, x []T) { vec(dst, x, kernel.Tanh, math.Tanh) }

// Sigmoid sets dst[i] = 1 / (1 + exp(-x[i])).
func Sigmoid[T Float](dst, x []T) { vec(dst, x, kernel.Sigmoid, Logistic) }

func vec[T Float](dst, x []T, single func(dst, x []float32), double func(float64) float64) {
	if d, ok := Singles(dst); ok {
		s, _ := Singles(x)
		single(d, s)
		return
	}
	for i, v := range x {
		dst[i] = T(double(float64(v)))
	}
}

// Logistic returns 1 / (1 + exp(-x)).
func Logistic(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// Softplus returns log(1 + exp(x)).
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Convert converts numbers to another type.
func Convert[To, From ~int | ~int32 | ~int64 | ~uint32 | ~float32 | ~float64](x []From) []To {
	y := make([]To, len(x))
	for i, v := range x {
		y[i] = To(v)
	}
	return y
}

// UpTo returns the numbers 0 to n-1.
func UpTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Zeros returns rows of zeros.
func Zeros(rows, columns int) [][]float64 {
	list := make([][]float64, rows)
	for i := range list {
		list[i] = make([]float64, columns)
	}
	return list
}

// Checksum returns a number that a change of a number most probably changes.
func Checksum(x []float64, y []int) (sum uint64) {
	for _, v := range x {
		sum = bits.RotateLeft64(sum^math.Float64bits(v), 23) * 0x9e3779b97f4a7c15
	}
	for _, v := range y {
		sum = bits.RotateLeft64(sum^uint64(v), 23) * 0x9e3779b97f4a7c15
	}
	return sum
}
