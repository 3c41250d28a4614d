package kernel

import (
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/internal/kernel/simd"
)

// Activation is the nonlinearity of a layer.
type Activation uint8

// The activations.
const (
	LinearActivation   Activation = iota // y = x
	ReLUActivation                       // y = max(x, 0)
	SigmoidActivation                    // y = 1/(1+e^-x)
	TanhActivation                       // y = tanh x
	SoftplusActivation                   // y = ln(1+e^x)
	LeakyActivation                      // y = max(x, 0.2 x)
	ELUActivation                        // y = x where x > 0, e^x - 1 elsewhere
	GELUActivation                       // y = x Phi(x), with the standard normal distribution function
	SiLUActivation                       // y = x/(1+e^-x)
)

var activationNames = [...]string{"linear", "relu", "sigmoid", "tanh", "softplus", "leaky-relu", "elu", "gelu", "silu"}

func (a Activation) String() string {
	if int(a) < len(activationNames) {
		return activationNames[a]
	}
	return fmt.Sprintf("activation(%d)", uint8(a))
}

// ActivationNames lists the names for ParseActivation.
func ActivationNames() []string { return activationNames[:] }

func ParseActivation(name string) (Activation, error) {
	if i := slices.Index(activationNames[:], name); i >= 0 {
		return Activation(i), nil
	}
	return 0, fmt.Errorf("unknown activation %q; want one of %q", name, activationNames)
}

// Apply computes y = f(y) in place.
func (a Activation) Apply(y []float32) {
	switch a {
	case ReLUActivation:
		relu(y)
	case SigmoidActivation:
		Sigmoid(y, y)
	case TanhActivation:
		Tanh(y, y)
	case SoftplusActivation:
		Softplus(y, y)
	case LeakyActivation:
		leaky(y)
	case ELUActivation:
		exponentialUnit.compute(y, y)
	case GELUActivation:
		GELU(y, y)
	case SiLUActivation:
		SiLU(y, y)
	}
}

// FromValue reports whether the derivative is a function of the value y = f(x).
func (a Activation) FromValue() bool { return a != GELUActivation && a != SiLUActivation }

// gradientAt is Gradient for an activation whose derivative is not a function of its value.
func (a Activation) gradientAt(dst, dy, x []float32) {
	if !simd.Vectors() {
		slope := SiLUSlope64
		if a == GELUActivation {
			slope = GELUSlope64
		}
		for i, v := range x {
			dst[i] = dy[i] * float32(slope(float64(v)))
		}
		return
	}
	vectorized := len(x) &^ 15
	if vectorized > 0 {
		a.slopes(&dst[0], &dy[0], &x[0], vectorized)
	}
	if vectorized < len(x) {
		var in, slope, out [16]float32
		copy(in[:], x[vectorized:])
		copy(slope[:], dy[vectorized:])
		a.slopes(&out[0], &slope[0], &in[0], 16)
		copy(dst[vectorized:len(x)], out[:])
	}
}

// slopes runs the assembly of Gradient.
func (a Activation) slopes(dst, dy, y *float32, n int) {
	switch a {
	case ReLUActivation:
		simd.ReluGrad(dst, dy, y, n)
	case SigmoidActivation:
		simd.SigmoidGrad(dst, dy, y, n)
	case TanhActivation:
		simd.TanhGrad(dst, dy, y, n)
	case LeakyActivation:
		simd.LeakyGrad(dst, dy, y, n)
	case ELUActivation:
		simd.EluGrad(dst, dy, y, n)
	case GELUActivation:
		simd.GeluGrad(dst, dy, y, n)
	case SiLUActivation:
		simd.SiluGrad(dst, dy, y, n)
	}
}

// Gradient computes dst = dy f'(x). y is the value f(x) of an activation with FromValue, and x for others. dst may be
// dy.
func (a Activation) Gradient(dst, dy, y []float32) {
	switch a {
	case ReLUActivation, SigmoidActivation, TanhActivation, LeakyActivation, ELUActivation:
		vectorized := vectorChannels(len(y))
		if vectorized > 0 {
			a.slopes(&dst[0], &dy[0], &y[0], vectorized)
		}
		a.slopesGo(dst[vectorized:], dy[vectorized:], y[vectorized:])
	case SoftplusActivation: // f' = 1 - e^-y
		for i := 0; i < len(y); i += 256 {
			var e [256]float32
			n := min(256, len(y)-i)
			for j, v := range y[i : i+n] {
				e[j] = -v
			}
			Exp(e[:n], e[:n])
			for j, v := range dy[i : i+n] {
				dst[i+j] = v * (1 - e[j])
			}
		}
	case GELUActivation, SiLUActivation:
		a.gradientAt(dst, dy, y)
	default:
		copy(dst, dy)
	}
}

// Epilogue returns the flags for the part of the activation that the micro-kernel computes.
func (a Activation) Epilogue() int {
	if a == ReLUActivation {
		return simd.AddBias | simd.ApplyReLU
	}
	return simd.AddBias
}

// Rest applies the part of the activation that the micro-kernel does not compute.
func (a Activation) Rest(y []float32) {
	if a != ReLUActivation {
		a.Apply(y)
	}
}

func relu(y []float32) {
	vectorized := vectorChannels(len(y))
	if vectorized > 0 {
		simd.Relu(&y[0], &y[0], vectorized)
	}
	reluGo(y[vectorized:])
}

func leaky(y []float32) {
	vectorized := vectorChannels(len(y))
	if vectorized > 0 {
		simd.Leaky(&y[0], &y[0], vectorized)
	}
	leakyGo(y[vectorized:])
}

// GELU computes dst = x Phi(x), where Phi is the standard normal distribution function. At -Inf it is 0. The error of
// the assembly is at most 8 units in the last place.
//
// Source: Hendrycks and Gimpel 2016, the exact form.
func GELU(dst, x []float32) { gaussianUnit.compute(dst, x) }

// SiLU computes dst = x/(1+e^-x); at -Inf it is 0.
func SiLU(dst, x []float32) { logisticUnit.compute(dst, x) }

// Multiply computes dst = x y.
func Multiply(dst, x, y []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Multiply(&dst[0], &x[0], &y[0], vectorized)
	}
	multiplyGo(dst[vectorized:], x[vectorized:], y[vectorized:])
}

// Mix computes dst = a x + b y.
func Mix(dst []float32, a float32, x []float32, b float32, y []float32) {
	vectorized := vectorChannels(len(dst))
	if vectorized > 0 {
		simd.Mix(&dst[0], &x[0], &y[0], vectorized, a, b)
	}
	mixGo(dst[vectorized:], a, x[vectorized:], b, y[vectorized:])
}

// Largest computes dst = max(dst, x). The result is NaN if dst or x is NaN.
func Largest(dst, x []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Largest(&dst[0], &x[0], vectorized)
	}
	largestGo(dst[vectorized:], x[vectorized:])
}

// Claim moves elements from left to dst where x = y: dst += left, left = 0.
func Claim(dst, left, x, y []float32) {
	vectorized := vectorChannels(len(x))
	if vectorized > 0 {
		simd.Claim(&dst[0], &left[0], &x[0], &y[0], vectorized)
	}
	claimGo(dst[vectorized:], left[vectorized:], x[vectorized:], y[vectorized:])
}
