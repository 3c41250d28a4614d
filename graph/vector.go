package graph

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// The functions below set dst[i] = f(x[i]): vectorised for float32, by package
// math for float64.

func vecExp[T float](dst, x []T) { vec(dst, x, kernel.Exp, math.Exp) }

func vecTanh[T float](dst, x []T) { vec(dst, x, kernel.Tanh, math.Tanh) }

func vecSigmoid[T float](dst, x []T) { vec(dst, x, kernel.Sigmoid, sigmoid) }

func vec[T float](dst, x []T, single func(dst, x []float32), double func(float64) float64) {
	if d, ok := singles(dst); ok {
		s, _ := singles(x)
		single(d, s)
		return
	}
	for i, v := range x {
		dst[i] = T(double(float64(v)))
	}
}

// sigmoid returns 1 / (1 + exp(-x)).
func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// softplus returns log(1 + exp(x)).
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
