package graph

import (
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/kernel"
)

// Gaussian are the options of [GaussianReconstruction].
type Gaussian struct {
	Sigma    float64 // standard deviation of a pixel; 0 means 1/sqrt 2
	Constant bool    // add the constant log sigma + log(2 pi)/2 for every pixel
	Linear   bool    // the second input is the mean itself, not its logit
}

// GaussianReconstruction returns the negative log likelihood of x under pixels
// N(m, sigma^2), a scalar:
//
//	1/B sum (x - m)^2 / (2 sigma^2)   [+ log sigma + log(2 pi)/2 per pixel]
//
// where m = sigmoid(logits), B is the first size of the shape that x and logits
// share, and the sum is over everything.
func GaussianReconstruction(x, logits *gorgonia.Node, o Gaussian) (*gorgonia.Node, error) {
	if o.Sigma == 0 {
		o.Sigma = 1 / math.Sqrt2
	}
	if !(o.Sigma > 0) || math.IsInf(o.Sigma, 0) {
		return nil, fmt.Errorf("gaussian reconstruction: %w", wanted("a positive sigma", o.Sigma))
	}
	return Apply(reconstructionSpec("gaussian reconstruction", keyOf(o.Sigma, o.Constant, o.Linear), func(s tensor.Shape, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return newGaussian[float32](s, o)
		}
		return newGaussian[float64](s, o)
	}), x, logits)
}

func reconstructionSpec(name, key string, build func(s tensor.Shape, dt tensor.Dtype) Func) Spec {
	return Spec{
		Name: name,
		Key:  key,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return tensor.ScalarShape(), pairOf("images", "their reconstruction", in)
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (Func, error) {
			return build(in[0], dt), nil
		},
	}
}

type gaussian[T float] struct {
	linear         bool
	scale          float64 // of the sum of squares: 1 / (2 sigma^2 B)
	constant       float64
	mean           []T // sigmoid(logits)
	g              float64
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *loop
}

func newGaussian[T float](s tensor.Shape, o Gaussian) Func {
	n := s.TotalSize()
	f := &gaussian[T]{linear: o.Linear, scale: 1 / (2 * o.Sigma * o.Sigma * float64(s[0]))}
	if o.Constant {
		f.constant = float64(n) / float64(s[0]) * (math.Log(o.Sigma) + 0.5*math.Log(2*math.Pi))
	}
	if !o.Linear {
		f.mean = make([]T, n)
	}
	f.errors = newLoop(n, blockSize, f.errorBlock)
	f.slopes = newLoop(n, blockSize, f.slopeBlock)
	return newFunc[T](f)
}

func (f *gaussian[T]) forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	if f.linear {
		f.mean = in[1]
	}
	out[0] = T(f.scale*f.errors.run() + f.constant)
}

func (f *gaussian[T]) errorBlock(lo, hi int) float64 {
	x, mean := f.x[lo:hi], f.mean[lo:hi]
	if f.linear {
		return squaredError(x, mean)
	}
	if x32, ok := singles(x); ok {
		mean32, _ := singles(mean)
		logits32, _ := singles(f.logits[lo:hi])
		return kernel.SigmoidError(mean32, logits32, x32)
	}
	vecSigmoid(mean, f.logits[lo:hi])
	return squaredError(x, mean)
}

func (f *gaussian[T]) backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.dx, f.dlogits = in[0], din[0], din[1]
	if f.linear {
		f.mean = in[1]
	}
	f.g = 2 * f.scale * float64(dout[0])
	f.slopes.run()
}

func (f *gaussian[T]) slopeBlock(lo, hi int) float64 {
	g := T(f.g)
	x, mean := f.x[lo:hi], f.mean[lo:hi]
	if f.dx != nil {
		dx := f.dx[lo:hi]
		for i, m := range mean {
			dx[i] = g * (x[i] - m)
		}
	}
	switch {
	case f.dlogits == nil:
	case f.linear:
		d := f.dlogits[lo:hi]
		for i, m := range mean {
			d[i] = g * (m - x[i])
		}
	default:
		sigmoidErrorGradient(f.dlogits[lo:hi], mean, x, g)
	}
	return 0
}

// sigmoidErrorGradient sets d = g (m - x) m (1 - m).
func sigmoidErrorGradient[T float](d, mean, x []T, g T) {
	if d32, ok := singles(d); ok {
		mean32, _ := singles(mean)
		x32, _ := singles(x)
		kernel.SigmoidErrorGrad(d32, mean32, x32, float32(g))
		return
	}
	for i, m := range mean {
		d[i] = g * (m - x[i]) * (m * (1 - m))
	}
}

// squaredError returns sum (a - b)^2.
func squaredError[T float](a, b []T) float64 {
	if a32, ok := singles(a); ok {
		b32, _ := singles(b)
		return kernel.SquaredError(a32, b32)
	}
	s := 0.0
	for i, x := range a {
		d := float64(x - b[i])
		s += d * d
	}
	return s
}

// BernoulliReconstruction returns the negative log likelihood of x in [0, 1]
// under pixels that are 1 with probability sigmoid(logits), a scalar:
//
//	1/B sum softplus(logits) - x logits
//
// where B is the first size of the shape that x and logits share, and the sum is
// over everything. It is exact at any logit.
func BernoulliReconstruction(x, logits *gorgonia.Node) (*gorgonia.Node, error) {
	return Apply(reconstructionSpec("bernoulli reconstruction", "", func(s tensor.Shape, dt tensor.Dtype) Func {
		if dt == tensor.Float32 {
			return newBernoulli[float32](s)
		}
		return newBernoulli[float64](s)
	}), x, logits)
}

type bernoulli[T float] struct {
	rows           float64
	g              float64
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *loop
}

func newBernoulli[T float](s tensor.Shape) Func {
	n := s.TotalSize()
	f := &bernoulli[T]{rows: float64(s[0])}
	f.errors = newLoop(n, blockSize, f.errorBlock)
	f.slopes = newLoop(n, blockSize, f.slopeBlock)
	return newFunc[T](f)
}

func (f *bernoulli[T]) forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	out[0] = T(f.errors.run() / f.rows)
}

func (f *bernoulli[T]) errorBlock(lo, hi int) float64 {
	x, logits := f.x[lo:hi], f.logits[lo:hi]
	if x32, ok := singles(x); ok {
		logits32, _ := singles(logits)
		return kernel.LogisticError(logits32, x32)
	}
	sum := 0.0
	for i, l := range logits {
		sum += softplus(float64(l)) - float64(x[i])*float64(l)
	}
	return sum
}

func (f *bernoulli[T]) backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.logits, f.dx, f.dlogits = in[0], in[1], din[0], din[1]
	f.g = float64(dout[0]) / f.rows
	f.slopes.run()
}

func (f *bernoulli[T]) slopeBlock(lo, hi int) float64 {
	g := T(f.g)
	x, logits := f.x[lo:hi], f.logits[lo:hi]
	if f.dlogits != nil {
		logisticErrorGradient(f.dlogits[lo:hi], logits, x, g)
	}
	if f.dx != nil {
		dx := f.dx[lo:hi]
		for i, l := range logits {
			dx[i] = -g * l
		}
	}
	return 0
}

// logisticErrorGradient sets d = g (sigmoid(l) - x).
func logisticErrorGradient[T float](d, logits, x []T, g T) {
	if d32, ok := singles(d); ok {
		logits32, _ := singles(logits)
		x32, _ := singles(x)
		kernel.LogisticErrorGrad(d32, logits32, x32, float32(g))
		return
	}
	for i, l := range logits {
		d[i] = g * T(sigmoid(float64(l))-float64(x[i]))
	}
}
