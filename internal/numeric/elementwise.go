package numeric

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

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
