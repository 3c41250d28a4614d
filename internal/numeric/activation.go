package numeric

import (
	"math"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Activate sets y to the activation of x. y may be x.
func Activate[T Float](a kernel.Activation, y, x []T) {
	if s, ok := Singles(y); ok {
		copy(y, x)
		a.Apply(s)
		return
	}
	f := activationOf(a)
	for i, v := range x {
		y[i] = T(f(float64(v)))
	}
}

// ActivationGradient sets dx to the gradient dy times the derivative. at is the value of an activation with
// [kernel.Activation.FromValue], and its input x for others. dx may be dy.
func ActivationGradient[T Float](a kernel.Activation, dx, dy, at []T) {
	if d, ok := Singles(dx); ok {
		g, _ := Singles(dy)
		v, _ := Singles(at)
		a.Gradient(d, g, v)
		return
	}
	f := slopeOf(a)
	for i, v := range at {
		dx[i] = dy[i] * T(f(float64(v)))
	}
}

// leak is the slope of LeakyReLU for negative x.
const leak = 0.2

func activationOf(a kernel.Activation) func(x float64) float64 {
	switch a {
	case kernel.ReLUActivation:
		return func(x float64) float64 { return max(x, 0) }
	case kernel.LeakyActivation:
		return func(x float64) float64 { return max(x, leak*x) }
	case kernel.TanhActivation:
		return math.Tanh
	case kernel.SigmoidActivation:
		return Logistic
	case kernel.SoftplusActivation:
		return Softplus
	case kernel.ELUActivation:
		return func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) }
	case kernel.GELUActivation:
		return kernel.GELU64
	case kernel.SiLUActivation:
		return kernel.SiLU64
	}
	return func(x float64) float64 { return x }
}

// slopeOf returns the derivative of an activation as a function of its value or input: see [ActivationGradient].
func slopeOf(a kernel.Activation) func(y float64) float64 {
	switch a {
	case kernel.ReLUActivation:
		return func(y float64) float64 { return step(y, 0) }
	case kernel.LeakyActivation:
		return func(y float64) float64 { return step(y, leak) }
	case kernel.TanhActivation:
		return func(y float64) float64 { return 1 - y*y }
	case kernel.SigmoidActivation:
		return func(y float64) float64 { return y * (1 - y) }
	case kernel.SoftplusActivation:
		return func(y float64) float64 { return -math.Expm1(-y) }
	case kernel.ELUActivation:
		return func(y float64) float64 { return 1 + min(y, 0) }
	case kernel.GELUActivation:
		return kernel.GELUSlope64
	case kernel.SiLUActivation:
		return kernel.SiLUSlope64
	}
	return func(float64) float64 { return 1 }
}

func step(y, below float64) float64 {
	if y > 0 {
		return 1
	}
	return below
}

// ActivationCurvature sets dst to the derivative of an activation's derivative. Both are functions of at: see
// [ActivationGradient].
func ActivationCurvature[T Float](a kernel.Activation, dst, at []T) {
	switch a {
	case kernel.TanhActivation:
		for i, y := range at {
			dst[i] = -2 * y
		}
	case kernel.SigmoidActivation:
		for i, y := range at {
			dst[i] = 1 - 2*y
		}
	case kernel.SoftplusActivation:
		for i, y := range at {
			dst[i] = -y
		}
		Exp(dst, dst)
	case kernel.ELUActivation:
		for i, y := range at {
			dst[i] = T(1 - step(float64(y), 0))
		}
	case kernel.GELUActivation:
		for i, x := range at {
			dst[i] = -x * x / 2
		}
		Exp(dst, dst)
		for i, x := range at {
			dst[i] *= (2 - x*x) / T(math.Sqrt(2*math.Pi))
		}
	case kernel.SiLUActivation:
		Sigmoid(dst, at)
		for i, x := range at {
			s := dst[i]
			dst[i] = s * (1 - s) * (2 + x*(1-2*s))
		}
	default:
		clear(dst)
	}
}
