package kernel

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// Go versions of the assembly functions.

func reluGo(y []float32) {
	for i, v := range y {
		if v < 0 {
			y[i] = 0
		}
	}
}

func leakyGo(y []float32) {
	for i, v := range y {
		if v < 0 {
			y[i] = simd.LeakySlope * v
		}
	}
}

func elu64(x float64) float64 {
	if x > 0 {
		return x
	}
	return math.Expm1(x)
}

func (a Activation) slopesGo(dst, dy, y []float32) {
	for i, v := range y {
		switch {
		case a == SigmoidActivation:
			dst[i] = dy[i] * v * (1 - v)
		case a == TanhActivation:
			dst[i] = dy[i] * (1 - v*v)
		case v > 0:
			dst[i] = dy[i]
		case a == ReLUActivation:
			dst[i] = 0
		case a == LeakyActivation:
			dst[i] = simd.LeakySlope * dy[i]
		default: // ELU
			dst[i] = dy[i] * (v + 1)
		}
	}
}

func multiplyGo[T Float](dst, x, y []T) {
	for i, v := range x {
		dst[i] = v * y[i]
	}
}

func mixGo[T Float](dst []T, a T, x []T, b T, y []T) {
	for i := range dst {
		dst[i] = T(a*x[i]) + T(b*y[i])
	}
}

func largestGo[T Float](dst, x []T) {
	for i, v := range x {
		dst[i] = max(dst[i], v)
	}
}

func claimGo[T Float](dst, left, x, y []T) {
	for i, v := range x {
		if v == y[i] {
			dst[i] += left[i]
			left[i] = 0
		}
	}
}

// upperTail returns the upper tail probability of the standard normal distribution at x.
func upperTail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }

// GELU64 is [GELU] for one float64 number.
func GELU64(x float64) float64 {
	z := math.Min(math.Abs(x), 40) // for larger |x| the tail is 0
	return math.Max(x, 0) - z*upperTail(z)
}

// GELUSlope64 is the derivative of [GELU64].
func GELUSlope64(x float64) float64 {
	z := math.Min(math.Abs(x), 40)
	d := z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi) - upperTail(z)
	if x < 0 {
		return -d
	}
	return 1 + d
}

// SiLU64 is [SiLU] for one float64 number.
func SiLU64(x float64) float64 { return math.Max(x, -750) / (1 + math.Exp(-x)) }

// SiLUSlope64 is the derivative of [SiLU64].
func SiLUSlope64(x float64) float64 {
	s, bounded := 1/(1+math.Exp(-x)), math.Max(math.Min(x, 750), -750)
	return s * (1 + bounded/(1+math.Exp(x)))
}
