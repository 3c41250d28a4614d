package losses

import (
	"errors"
	"fmt"
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// Gaussian holds the options of [GaussianReconstruction].
type Gaussian struct {
	Sigma    float64 // standard deviation of a pixel; 0 means 1/sqrt 2: the plain squared error
	Constant bool    // add the constant log sigma + log(2 pi)/2 for every pixel
	Linear   bool    // the second input is the mean itself, not its logit
}

// GaussianReconstruction returns the negative log likelihood of images x under
// independent pixels N(m, sigma^2) with m = sigmoid(logits):
//
//	1/B sum (x - m)^2 / (2 sigma^2)   [+ log sigma + log(2 pi)/2 per pixel]
//
// x and logits have one shape, such as [batch, height, width, channels], with the first size B. The result is a scalar,
// in nats per image, differentiable in both. Its least value, at m = x, is 0; with Constant the constant is added.
//
// Source: Kingma and Welling 2014, appendix C.2; with sigma = 1/sqrt 2 the
// reconstruction term of Tonnaer et al. 2022.
func GaussianReconstruction(x, logits *gorgonia.Node, o Gaussian) (*gorgonia.Node, error) {
	if o.Sigma == 0 {
		o.Sigma = 1 / math.Sqrt2
	}
	if !(o.Sigma > 0) || math.IsInf(o.Sigma, 0) {
		return nil, fmt.Errorf("gaussian reconstruction: %w", graph.Wanted("a positive sigma", o.Sigma))
	}
	spec := reconstructionSpec("gaussian reconstruction", graph.Key(o.Sigma, o.Constant, o.Linear), func(s tensor.Shape, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return newGaussian[float32](s, o)
		}
		return newGaussian[float64](s, o)
	})
	spec.Device = func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
		n, scale, constant := in[0].TotalSize(), o.scale(in[0]), o.constant(in[0])
		return graph.Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.GaussianReconstruction(t, in[0], in[1], out, scale, constant, o.Linear, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.GaussianReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, o.Linear, n)
			},
		}, nil
	}
	return graph.Apply(spec, x, logits)
}

// BernoulliReconstruction returns the negative log likelihood of images x in [0, 1] under independent pixels that are 1
// with probability sigmoid(logits). This is the cross-entropy
//
//	1/B sum log(1 + exp(logits)) - x logits
//
// computed without overflow or cancellation at any logit. x and logits have one shape with the first size B. The result
// is a scalar, in nats per image, differentiable in both. Its least value, at sigmoid(logits) = x, is the entropy of
// the pixels: 0 for black and white images, reached in the limit.
//
// Source: Kingma and Welling 2014, appendix C.1.
func BernoulliReconstruction(x, logits *gorgonia.Node) (*gorgonia.Node, error) {
	spec := reconstructionSpec("bernoulli reconstruction", "", func(s tensor.Shape, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return newBernoulli[float32](s)
		}
		return newBernoulli[float64](s)
	})
	spec.Device = func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
		n, scale := in[0].TotalSize(), 1/float64(in[0][0])
		return graph.Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.BernoulliReconstruction(t, in[0], in[1], out, scale, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.BernoulliReconstructionGradient(t, in[0], in[1], dout, din[0], din[1], scale, n)
			},
		}, nil
	}
	return graph.Apply(spec, x, logits)
}

// ReconstructionLoss is [GaussianReconstruction] or [BernoulliReconstruction] of a model's images.
type ReconstructionLoss struct {
	Weight     Weight  `yaml:"weight" doc:"factor in the total"`
	Likelihood string  `yaml:"likelihood" doc:"likelihood of a pixel: gaussian (squared error) or bernoulli (cross-entropy)"`
	Sigma      float64 `yaml:"sigma" doc:"standard deviation of a pixel, for the gaussian likelihood"`
	Constant   bool    `yaml:"constant" doc:"add the constant of the gaussian log likelihood, which changes no gradient"`
	Per        string  `yaml:"per" doc:"image (sum over pixels and channels) or pixel (mean over them)"`
}

// What ReconstructionLoss.Per can be.
const (
	perImage = "image"
	perPixel = "pixel"
)

// NewReconstruction returns the default settings.
func NewReconstruction() *ReconstructionLoss {
	return &ReconstructionLoss{Weight: Constant(1), Likelihood: "gaussian", Sigma: 1 / math.Sqrt2, Per: perImage}
}

// Validate checks the settings.
func (l *ReconstructionLoss) Validate() error {
	switch {
	case l.Likelihood != "gaussian" && l.Likelihood != "bernoulli":
		return config.Invalid("likelihood", "want gaussian or bernoulli, got %q", l.Likelihood)
	case l.Per != perImage && l.Per != perPixel:
		return config.Invalid("per", "want %s or %s, got %q", perImage, perPixel, l.Per)
	case !(l.Sigma > 0) || math.IsInf(l.Sigma, 0):
		return config.Invalid("sigma", "want a positive number, got %v", l.Sigma)
	case l.Likelihood == "bernoulli" && l.Sigma != NewReconstruction().Sigma:
		return config.Invalid("sigma", "it applies to the gaussian likelihood only")
	case l.Likelihood == "bernoulli" && l.Constant:
		return config.Invalid("constant", "it applies to the gaussian likelihood only")
	}
	return nil
}

// Weighting implements [Loss].
func (l *ReconstructionLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the reconstruction equals the image.
func (l *ReconstructionLoss) Optimum(x *Example) bool {
	fill(x.Images, 0.5)
	fill(x.Logits, 0)
	return l.Likelihood == "gaussian" && !l.Constant
}

// Variants implements [Varied].
func (*ReconstructionLoss) Variants() []Loss {
	return []Loss{
		&ReconstructionLoss{Weight: Constant(1), Likelihood: "bernoulli", Sigma: NewReconstruction().Sigma, Per: perImage},
		&ReconstructionLoss{Weight: Constant(1), Likelihood: "gaussian", Sigma: 2, Per: perPixel},
	}
}

// Add implements [Loss].
func (l *ReconstructionLoss) Add(in *Input) (*gorgonia.Node, error) {
	n, err := l.perImage(in)
	if err != nil || l.Per != perPixel {
		return n, err
	}
	s := in.Images.Shape()
	return graph.Scale(float64(s[0])/float64(s.TotalSize()), n)
}

// perImage adds the sum over pixels.
func (l *ReconstructionLoss) perImage(in *Input) (*gorgonia.Node, error) {
	if in.Images == nil {
		return nil, missing("images")
	}
	if in.Logits == nil {
		return nil, missing("a reconstruction (logits)")
	}
	switch l.Likelihood {
	case "gaussian":
		return GaussianReconstruction(in.Images, in.Logits, Gaussian{Sigma: l.Sigma, Constant: l.Constant, Linear: in.Real})
	case "bernoulli":
		if in.Real {
			return nil, errors.New("the likelihood bernoulli needs pixels in [0, 1], but these images have other numbers; want gaussian")
		}
		return BernoulliReconstruction(in.Images, in.Logits)
	}
	return nil, fmt.Errorf("unknown likelihood %q; known: gaussian, bernoulli", l.Likelihood)
}

func reconstructionSpec(name, key string, build func(s tensor.Shape, dt tensor.Dtype) graph.Func) graph.Spec {
	return graph.Spec{
		Name: name,
		Key:  key,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			return tensor.ScalarShape(), pairOf("images", "their reconstruction", in)
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			return build(in[0], dt), nil
		},
	}
}

// scale is the factor of the sum of squares of images of a shape: 1 / (2 sigma^2 B).
func (o Gaussian) scale(s tensor.Shape) float64 { return 1 / (2 * o.Sigma * o.Sigma * float64(s[0])) }

// constant is the sum of the constants of an image's pixels; 0 without them.
func (o Gaussian) constant(s tensor.Shape) float64 {
	if !o.Constant {
		return 0
	}
	return float64(s.TotalSize()) / float64(s[0]) * (math.Log(o.Sigma) + 0.5*math.Log(2*math.Pi))
}

type gaussian[T graph.Float] struct {
	linear         bool
	scale          float64 // of the sum of squares
	constant       float64
	mean           []T // sigmoid(logits)
	g              float64
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *numeric.Loop
}

func newGaussian[T graph.Float](s tensor.Shape, o Gaussian) graph.Func {
	n := s.TotalSize()
	f := &gaussian[T]{linear: o.Linear, scale: o.scale(s), constant: o.constant(s)}
	if !o.Linear {
		f.mean = make([]T, n)
	}
	f.errors = numeric.NewLoop(n, numeric.BlockSize, f.errorBlock)
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, f.slopeBlock)
	return graph.NewFunc[T](f)
}

func (f *gaussian[T]) Forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	if f.linear {
		f.mean = in[1]
	}
	out[0] = T(f.scale*f.errors.Run() + f.constant)
}

func (f *gaussian[T]) errorBlock(lo, hi int) float64 {
	x, mean := f.x[lo:hi], f.mean[lo:hi]
	if f.linear {
		return numeric.SquaredError(x, mean)
	}
	if x32, ok := numeric.Singles(x); ok {
		mean32, _ := numeric.Singles(mean)
		logits32, _ := numeric.Singles(f.logits[lo:hi])
		return kernel.SigmoidError(mean32, logits32, x32)
	}
	numeric.Sigmoid(mean, f.logits[lo:hi])
	return numeric.SquaredError(x, mean)
}

func (f *gaussian[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.dx, f.dlogits = in[0], din[0], din[1]
	if f.linear {
		f.mean = in[1]
	}
	f.g = 2 * f.scale * float64(dout[0])
	f.slopes.Run()
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
func sigmoidErrorGradient[T graph.Float](d, mean, x []T, g T) {
	if d32, ok := numeric.Singles(d); ok {
		mean32, _ := numeric.Singles(mean)
		x32, _ := numeric.Singles(x)
		kernel.SigmoidErrorGrad(d32, mean32, x32, float32(g))
		return
	}
	for i, m := range mean {
		d[i] = g * (m - x[i]) * (m * (1 - m))
	}
}

type bernoulli[T graph.Float] struct {
	rows           float64
	g              float64
	x, logits      []T
	dx, dlogits    []T
	errors, slopes *numeric.Loop
}

func newBernoulli[T graph.Float](s tensor.Shape) graph.Func {
	n := s.TotalSize()
	f := &bernoulli[T]{rows: float64(s[0])}
	f.errors = numeric.NewLoop(n, numeric.BlockSize, f.errorBlock)
	f.slopes = numeric.NewLoop(n, numeric.BlockSize, f.slopeBlock)
	return graph.NewFunc[T](f)
}

func (f *bernoulli[T]) Forward(in [][]T, out []T) {
	f.x, f.logits = in[0], in[1]
	out[0] = T(f.errors.Run() / f.rows)
}

func (f *bernoulli[T]) errorBlock(lo, hi int) float64 {
	x, logits := f.x[lo:hi], f.logits[lo:hi]
	if x32, ok := numeric.Singles(x); ok {
		logits32, _ := numeric.Singles(logits)
		return kernel.LogisticError(logits32, x32)
	}
	sum := 0.0
	for i, l := range logits {
		sum += numeric.Softplus(float64(l)) - float64(x[i])*float64(l)
	}
	return sum
}

func (f *bernoulli[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	f.x, f.logits, f.dx, f.dlogits = in[0], in[1], din[0], din[1]
	f.g = float64(dout[0]) / f.rows
	f.slopes.Run()
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
func logisticErrorGradient[T graph.Float](d, logits, x []T, g T) {
	if d32, ok := numeric.Singles(d); ok {
		logits32, _ := numeric.Singles(logits)
		x32, _ := numeric.Singles(x)
		kernel.LogisticErrorGrad(d32, logits32, x32, float32(g))
		return
	}
	for i, l := range logits {
		d[i] = g * T(numeric.Logistic(float64(l))-float64(x[i]))
	}
}

// PerImage is implemented by losses that average a reconstruction cost over images. Models that choose by cost, such as
// cascade-vae, ask these losses for the costs.
type PerImage interface {
	// Costs returns the weighted cost of every image's reconstruction, [n, 1]. The reconstructions [n, H, W, C] are
	// logits before the sigmoid; if real is true they are the pixels themselves. No gradient flows through it.
	Costs(images, logits *gorgonia.Node, real bool) (*gorgonia.Node, error)
}

// Costs implements [PerImage]. It takes the final value of a changing weight.
func (l *ReconstructionLoss) Costs(images, logits *gorgonia.Node, real bool) (*gorgonia.Node, error) {
	if l.Likelihood == "bernoulli" && real {
		return nil, errors.New("the likelihood bernoulli needs pixels in [0, 1], but these images have other numbers; want gaussian")
	}
	linear := l.Likelihood == "gaussian" && real
	scale := l.Weight.To
	if l.Likelihood == "gaussian" {
		scale /= 2 * l.Sigma * l.Sigma
	}
	kind := l.Likelihood
	if linear {
		kind = "linear"
	}
	return reconstructionCosts(images, logits, kind, scale)
}

// reconstructionCosts returns [n, 1]: scale times a sum over an image's pixels. The summand is (x - sigmoid(logit))^2
// (kind gaussian), (x - m)^2 with the reconstruction m itself (linear) or log(1 + exp(logit)) - x logit (bernoulli).
func reconstructionCosts(images, logits *gorgonia.Node, kind string, scale float64) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name:       "reconstruction costs",
		Key:        graph.Key(kind, scale),
		Attributes: map[string]any{"kind": kind, "scale": scale},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := pairOf("images", "their reconstruction", in); err != nil {
				return nil, err
			}
			return tensor.Shape{in[0][0], 1}, nil
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			if dt == tensor.Float32 {
				return newCosts[float32](in[0], kind, scale), nil
			}
			return newCosts[float64](in[0], kind, scale), nil
		},
		Diff: []bool{false, false},
	}, images, logits)
}

type costs[T graph.Float] struct {
	kind      string
	scale     float64
	pixels    int
	mean      []T // sigmoids
	x, logits []T
	out       []T
	rows      *numeric.Loop
}

func newCosts[T graph.Float](s tensor.Shape, kind string, scale float64) graph.Func {
	f := &costs[T]{kind: kind, scale: scale, pixels: s.TotalSize() / s[0]}
	if kind == "gaussian" {
		f.mean = make([]T, s.TotalSize())
	}
	f.rows = numeric.NewLoop(s[0], 1, f.row)
	return graph.NewFunc[T](f)
}

func (f *costs[T]) Forward(in [][]T, out []T) {
	f.x, f.logits, f.out = in[0], in[1], out
	f.rows.Run()
}

func (*costs[T]) Backward(_ [][]T, _, _ []T, _ [][]T) {}

func (f *costs[T]) row(lo, hi int) float64 {
	for i := lo; i < hi; i++ {
		from, to := i*f.pixels, (i+1)*f.pixels
		f.out[i] = T(f.scale * f.cost(f.x[from:to], f.logits[from:to], from))
	}
	return 0
}

// cost is the sum over the pixels of an image that begins at an element.
func (f *costs[T]) cost(x, logits []T, from int) float64 {
	x32, single := numeric.Singles(x)
	logits32, _ := numeric.Singles(logits)
	switch {
	case f.kind == "linear":
		return numeric.SquaredError(x, logits)
	case f.kind == "bernoulli" && single:
		return kernel.LogisticError(logits32, x32)
	case f.kind == "bernoulli":
		sum := 0.0
		for i, l := range logits {
			sum += numeric.Softplus(float64(l)) - float64(x[i])*float64(l)
		}
		return sum
	}
	mean := f.mean[from : from+f.pixels]
	if single {
		mean32, _ := numeric.Singles(mean)
		return kernel.SigmoidError(mean32, logits32, x32)
	}
	for i, l := range logits {
		mean[i] = T(numeric.Logistic(float64(l)))
	}
	return numeric.SquaredError(x, mean)
}
