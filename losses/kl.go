package losses

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
)

// KLGaussian returns the mean over rows of KL(N(mu, sigma^2) || N(0, I)):
//
//	1/2 sum_j (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// mu and logSigma have the shape [rows, columns]. The result is a scalar, in nats, differentiable in both. Its least
// value, at mu = 0 and sigma = 1, is 0.
//
// Source: Kingma and Welling 2014, appendix B.
func KLGaussian(mu, logSigma *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log sigma", 2, mu, logSigma)
}

// KLGaussianLogVariance is [KLGaussian] from log sigma^2.
func KLGaussianLogVariance(mu, logVariance *gorgonia.Node) (*gorgonia.Node, error) {
	return gaussianKLOf("log variance", 1, mu, logVariance)
}

// KLSphere returns the mean over rows of the divergence, in nats, of the random-walk
// posterior at time t from the uniform distribution of the sphere S^dim. The posterior is
// the heat kernel of half the Laplacian, of density f relative to the uniform one:
//
//	E_uniform[f log f],  f(theta) = sum_l n_l exp(-l (l+d-1) t / 2) R_l(cos theta)
//
// where R_l are the Gegenbauer polynomials of index (d-1)/2 with R_l(1) = 1: cosines on the circle, Legendre
// polynomials on S^2. n_l is the number of harmonics of degree l: 2 on the circle, 2l + 1 on S^2. At short times the
// expansion of Perez Rey et al., who keep the first power of t, is used:
//
//	-(d/2) log t - (d/2) log(2 pi) - d/2 + log Vol(S^d) + (t/4) d (d-1),
//
// up to t^8. The relative error is below 1e-8 for any t up to dimension 100. In higher dimensions
// the result is NaN at times above 1/d ([SphereTime]).
//
// logT has the shape [rows, 1]; the result is a scalar, differentiable everywhere. It does not
// depend on the location, and decreases in t to 0.
//
// Source: Perez Rey et al. 2020; Tonnaer et al. 2022, section 5.
func KLSphere(logT *gorgonia.Node, dim int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "sphere kl",
		Key:  graph.Key(dim),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if dim < 1 {
				return nil, graph.Wanted("a sphere of dimension 1 or more", dim)
			}
			if len(in) != 1 || in[0].Dims() != 2 || in[0][0] < 1 || in[0][1] != 1 {
				return nil, graph.Wanted("log t of shape [rows, 1]", in)
			}
			return tensor.ScalarShape(), nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newSphereKL[float32](dim, in[0][0]) },
			func(in []tensor.Shape) graph.Body[float64] { return newSphereKL[float64](dim, in[0][0]) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, k := in[0][0], newHeatKernel(dim).pieces()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLSphere(t, in[0], out, k, rows)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.KLSphereGradient(t, in[0], dout, din[0], k, rows)
				},
			}, nil
		},
	}, logT)
}

// Capacity returns |kl - c|, a scalar, in nats, which holds a divergence at a capacity c
// (a scalar or one number). It is differentiable except at kl = c, where its gradient is 0.
//
// Source: Burgess et al. 2018, equation 8; with a batch's mean divergence, as
// disentanglement_lib computes it.
func Capacity(kl, c *gorgonia.Node) (*gorgonia.Node, error) { return absoluteDifference(kl, c) }

// KLLoss is the divergence of a model's posteriors from their priors, in nats. It sums over all latent spaces, over the
// choices among options alone, or over the other spaces alone. With a capacity it is [Capacity] of the sum. If all of
// these spaces are choices, the capacity is at most sum log K, their largest divergence.
type KLLoss struct {
	Weight   Weight `yaml:"weight" doc:"factor in the total: beta; with a capacity gamma"`
	Capacity *Ramp  `yaml:"capacity" doc:"hold the divergence at a capacity that changes with the steps, in nats (Burgess et al. 2018)"`
	Spaces   Spaces `yaml:"spaces" doc:"latent spaces to add up: all, continuous or categorical"`
}

// Hint maps names of the weight in papers to the key.
func (l *KLLoss) Hint(key string) string {
	if key == "beta" || key == "gamma" {
		return key + " is the weight here: kl: {weight: 4}"
	}
	return ""
}

// NewKL returns the default settings.
func NewKL() *KLLoss { return &KLLoss{Weight: Constant(1), Spaces: allSpaces} }

// Weighting implements [Loss].
func (l *KLLoss) Weighting() Weight { return l.Weight }

// Optimum implements [Optimal]: the posteriors equal the priors.
func (l *KLLoss) Optimum(x *Example) bool {
	fill(x.Means, 0)
	fill(x.LogSigmas, 0)
	return l.Capacity == nil
}

// Variants implements [Varied].
func (*KLLoss) Variants() []Loss {
	return []Loss{&KLLoss{Weight: Constant(1), Capacity: &Ramp{From: 0.5, To: 1, Steps: 10}, Spaces: allSpaces}, &KLLoss{Weight: Constant(1), Spaces: continuousSpaces}}
}

// Add implements [Loss].
func (l *KLLoss) Add(in *Input) (*gorgonia.Node, error) {
	posteriors, err := l.Spaces.of(in.Posteriors)
	if err != nil {
		return nil, err
	}
	kl, err := divergence(posteriors)
	if err != nil || l.Capacity == nil {
		return kl, err
	}
	most := largest(posteriors)
	c, err := in.Schedule("capacity", func(step int) float64 { return min(l.Capacity.At(step), most) })
	if err != nil {
		return nil, err
	}
	return Capacity(kl, c)
}

// divergence sums up the divergences of latent spaces.
func divergence(posteriors []Posterior) (*gorgonia.Node, error) {
	nodes, ones := make(gorgonia.Nodes, len(posteriors)), make([]float64, len(posteriors))
	for i, p := range posteriors {
		var err error
		if nodes[i], err = p.KL(); err != nil {
			return nil, fmt.Errorf("posterior %d: %w", i, err)
		}
		ones[i] = 1
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	return graph.WeightedSum(ones, nodes...)
}

func gaussianKLOf(scale string, factor float64, mu, logScale *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "gaussian kl",
		Key:  scale,
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 2 || !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("location and "+scale+" of one shape", in)
			}
			_, _, err := graph.Matrix("location", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newGaussianKL[float32](in[0], factor) },
			func(in []tensor.Shape) graph.Body[float64] { return newGaussianKL[float64](in[0], factor) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, n := in[0][0], in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLGaussian(t, in[0], in[1], out, factor, rows, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.KLGaussianGradient(t, in[0], in[1], dout, din[0], din[1], factor, rows, n)
				},
			}, nil
		},
	}, mu, logScale)
}

// gaussianKL has log sigma^2 = factor * its second input.
type gaussianKL[T graph.Float] struct {
	rows     int
	factor   float64
	variance []T
}

func newGaussianKL[T graph.Float](s tensor.Shape, factor float64) *gaussianKL[T] {
	return &gaussianKL[T]{s[0], factor, make([]T, s.TotalSize())}
}

func (k *gaussianKL[T]) Forward(in [][]T, out []T) {
	mu, logScale := in[0], in[1]
	for i, s := range logScale {
		k.variance[i] = T(k.factor) * s
	}
	numeric.Exp(k.variance, k.variance)
	sum := 0.0
	for i, v := range k.variance {
		m := float64(mu[i])
		sum += m*m + float64(v) - k.factor*float64(logScale[i]) - 1
	}
	out[0] = T(0.5 * sum / float64(k.rows))
}

func (k *gaussianKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[0][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * 0.5 * k.factor * (float64(k.variance[i]) - 1))
	}
}

// sphereKL is the operation of [KLSphere]; it keeps the derivatives of the rows' divergences in log t.
type sphereKL[T graph.Float] struct {
	kernel *heatKernel
	slopes []float64
}

func newSphereKL[T graph.Float](dim, rows int) *sphereKL[T] {
	return &sphereKL[T]{newHeatKernel(dim), make([]float64, rows)}
}

func (k *sphereKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, v := range in[0] {
		var kl float64
		kl, k.slopes[i] = k.kernel.divergence(float64(v))
		sum += kl
	}
	out[0] = T(sum / float64(len(in[0])))
}

func (k *sphereKL[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(len(k.slopes))
	for i, s := range k.slopes {
		din[0][i] = T(g * s)
	}
}

// pairOf checks two inputs of one shape [rows, ...].
func pairOf(a, b string, in []tensor.Shape) error {
	if len(in) != 2 || !slices.Equal(in[0], in[1]) || in[0].Dims() < 1 || in[0].TotalSize() < 1 {
		return graph.Wanted(fmt.Sprintf("%s and %s of one shape [rows, ...]", a, b), in)
	}
	return nil
}

// absoluteDifference returns |a - b| of nodes of the same size, with gradient 0 where a = b.
func absoluteDifference(a, b *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "absolute difference",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].TotalSize() != in[1].TotalSize() {
				return nil, graph.Wanted("inputs of one size", in)
			}
			return in[0], nil
		},
		New: graph.Bodies(
			func([]tensor.Shape) graph.Body[float32] { return deviate[float32]{} },
			func([]tensor.Shape) graph.Body[float64] { return deviate[float64]{} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			n := in[0].TotalSize()
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.Apart(t, in[0], in[1], out, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.ApartGradient(t, in[0], in[1], dout, din[0], din[1], n)
				},
			}, nil
		},
	}, a, b)
}

type deviate[T graph.Float] struct{}

func (deviate[T]) Forward(in [][]T, out []T) {
	for i := range out {
		out[i] = T(math.Abs(float64(in[0][i]) - float64(in[1][i])))
	}
}

func (deviate[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	for i, g := range dout {
		switch {
		case in[0][i] == in[1][i]:
			g = 0
		case in[0][i] < in[1][i]:
			g = -g
		}
		if din[0] != nil {
			din[0][i] = g
		}
		if din[1] != nil {
			din[1][i] = -g
		}
	}
}

// KLCategorical returns the divergence, in nats, of a choice among K options with probabilities alpha from the uniform
// choice. It is the mean over rows of
//
//	log K + sum_k alpha_k log alpha_k
//
// which lies between 0 (alpha uniform) and log K (one option is certain). probabilities and their logarithms have the
// shape [rows, K]; the result is a scalar, differentiable in both. Separate logarithms, such as from
// graph.LogSoftmaxRows, keep the result and its gradients finite at a probability that rounds to 0.
//
// Source: Dupont 2018, section 3.3; Jang et al. 2017.
func KLCategorical(probabilities, logarithms *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "categorical kl",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 2 || !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("probabilities and their logarithms of one shape", in)
			}
			_, _, err := graph.Matrix("probabilities", in[0])
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return categoricalKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return categoricalKL[float64]{in[0][0], in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, n, most := in[0][0], in[0].TotalSize(), math.Log(float64(in[0][1]))
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.KLCategorical(t, in[0], in[1], out, most, rows, n)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					for side, d := range din {
						if !d.IsZero() {
							kernels.ScaleBy(t, 1/float64(rows), dout, in[1-side], d, n)
						}
					}
				},
			}, nil
		},
	}, probabilities, logarithms)
}

type categoricalKL[T graph.Float] struct{ rows, options int }

func (k categoricalKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, p := range in[0] {
		sum += float64(p) * float64(in[1][i])
	}
	out[0] = T(math.Log(float64(k.options)) + sum/float64(k.rows))
}

func (k categoricalKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for side, d := range din {
		for i := range d {
			d[i] = T(g * float64(in[1-side][i]))
		}
	}
}

// KLGaussianWeighted is [KLGaussian] with a weight for every column,
//
//	sum_j w_j 1/2 (mu_j^2 + sigma_j^2 - log sigma_j^2 - 1)
//
// averaged over rows, in nats. mu and logSigma have the shape [rows, columns]. weights has one number for each column
// and no gradient. With weights of 0 or more the least value, at mu = 0 and sigma = 1, is 0.
//
// Source: Jeong and Song 2019, equation 6.
func KLGaussianWeighted(mu, logSigma, weights *gorgonia.Node) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "weighted gaussian kl",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if len(in) != 3 || !slices.Equal(in[0], in[1]) {
				return nil, graph.Wanted("location and log sigma of one shape, and weights", in)
			}
			_, columns, err := graph.Matrix("location", in[0])
			if err == nil && in[2].TotalSize() != columns {
				err = graph.Wanted("a weight for each column", in[2])
			}
			return tensor.ScalarShape(), err
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return weightedKL[float32]{in[0][0], in[0][1]} },
			func(in []tensor.Shape) graph.Body[float64] { return weightedKL[float64]{in[0][0], in[0][1]} }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			rows, columns := in[0][0], in[0][1]
			return graph.Recording{
				Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
					kernels.WeightedKL(t, in[0], in[1], in[2], out, rows, columns)
				},
				Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
					kernels.WeightedKLGradient(t, in[0], in[1], in[2], dout, din[0], din[1], rows, columns)
				},
			}, nil
		},
		Diff: []bool{true, true, false},
	}, mu, logSigma, weights)
}

type weightedKL[T graph.Float] struct{ rows, columns int }

func (k weightedKL[T]) Forward(in [][]T, out []T) {
	sum := 0.0
	for i, m := range in[0] {
		mu, s := float64(m), float64(in[1][i])
		sum += float64(in[2][i%k.columns]) * (mu*mu + math.Exp(2*s) - 2*s - 1)
	}
	out[0] = T(0.5 * sum / float64(k.rows))
}

func (k weightedKL[T]) Backward(in [][]T, _, dout []T, din [][]T) {
	g := float64(dout[0]) / float64(k.rows)
	for i := range din[0] {
		din[0][i] = T(g * float64(in[2][i%k.columns]) * float64(in[0][i]))
	}
	for i := range din[1] {
		din[1][i] = T(g * float64(in[2][i%k.columns]) * (math.Exp(2*float64(in[1][i])) - 1))
	}
}

// Spaces names the latent spaces that kl includes in its sum.
type Spaces string

// The choices of spaces.
const (
	allSpaces         Spaces = "all"
	continuousSpaces  Spaces = "continuous"
	categoricalSpaces Spaces = "categorical"
)

// UnmarshalText accepts a known name.
func (s *Spaces) UnmarshalText(text []byte) error {
	if *s = Spaces(text); *s != allSpaces && *s != continuousSpaces && *s != categoricalSpaces {
		return fmt.Errorf("unknown spaces %q; known: all, continuous, categorical", text)
	}
	return nil
}

// OptionsPosterior is implemented by posteriors that may be choices among options. Their divergence from the uniform
// prior is at most the logarithm of the number of options.
type OptionsPosterior interface {
	Posterior
	Options() int // 0: it is no such choice
}

// options returns the number of options of a posterior, 0 for a continuous one.
func optionsOf(p Posterior) int {
	if d, ok := p.(OptionsPosterior); ok {
		return d.Options()
	}
	return 0
}

// of lists the chosen ones among posteriors.
func (s Spaces) of(all []Posterior) ([]Posterior, error) {
	if len(all) == 0 {
		return nil, missing("posteriors of the codes")
	}
	if s == allSpaces || s == "" {
		return all, nil
	}
	var some []Posterior
	for _, p := range all {
		if (optionsOf(p) > 0) == (s == categoricalSpaces) {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		return nil, fmt.Errorf("it sums %s spaces, but the model has none; want spaces: all, or a model with such spaces, such as joint-vae", s)
	}
	return some, nil
}

// largest returns the largest divergence of posteriors: sum log K if all are choices among options, otherwise infinity.
func largest(posteriors []Posterior) (most float64) {
	for _, p := range posteriors {
		n := optionsOf(p)
		if n == 0 {
			return math.Inf(1)
		}
		most += math.Log(float64(n))
	}
	return most
}
