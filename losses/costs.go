package losses

import (
	"errors"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/internal/kernel"
	"github.com/unravel-ml/unravel/internal/numeric"
)

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
		return nil, errors.New("the likelihood bernoulli is of pixels in [0, 1], and these images are any numbers; want gaussian")
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
