package latent

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
)

// Euclidean is R^Dim with the posterior N(mu, sigma^2) and the prior N(0, I). mu and log sigma are linear maps of the
// features, with sigma = 1 at the start. Only the identity acts: a labelled group shares the mean of its codes.
type Euclidean struct {
	Dim int `yaml:"dim" doc:"dimension"`
	identityOnly
}

// NewEuclidean returns the default settings: R^10.
func NewEuclidean() *Euclidean { return &Euclidean{Dim: 10} }

func (e *Euclidean) Validate() error {
	if e.Dim < 1 || e.Dim > 1<<16 {
		return config.Invalid("dim", "want 1 to 65536, got %d", e.Dim)
	}
	return nil
}

func (e *Euclidean) Width() int { return e.Dim }

// Heads implements [Space]; the scale is log sigma, [batch, Dim].
func (e *Euclidean) Heads(g *nn.Graph, features *gorgonia.Node, name string) (location, scale *gorgonia.Node, err error) {
	if location, err = nn.Dense(g, features, name+"/loc", e.Dim, graph.Linear); err != nil {
		return nil, nil, err
	}
	scale, err = nn.DenseWith(g, features, name+"/scale", e.Dim, graph.Linear, nn.Zeros)
	return location, scale, err
}

func (e *Euclidean) NoiseShape(batch int) []int { return []int{batch, e.Dim} }

func (e *Euclidean) Sample(location, scale, noise *gorgonia.Node) (*gorgonia.Node, error) {
	return GaussianSample(location, scale, noise)
}

// KL implements [Space]; see losses.KLGaussian.
func (e *Euclidean) KL(location, scale *gorgonia.Node) (*gorgonia.Node, error) {
	return losses.KLGaussian(location, scale)
}

func (e *Euclidean) Prior(r *rng.Stream, dst []float32) { r.Normals(dst) }

// identityOnly is part of spaces on which only the identity acts.
type identityOnly struct{}

func (identityOnly) Columns() int                                       { return 0 }
func (identityOnly) Turns() bool                                        { return false }
func (identityOnly) Turn(angles *gorgonia.Node) (*gorgonia.Node, error) { return angles, nil }

// Transport implements [Space]: it returns the mean of a group.
func (identityOnly) Transport(z, _ *gorgonia.Node, m int) (losses.Transport, error) {
	y, err := losses.MeanTransport(z, m)
	return losses.Transport{Points: z, Moved: y}, err
}

// Interval returns c + w tanh(u), element by element. c is the middle of [lo, hi] and w half its length. This softly
// restricts u to the interval and starts in the middle for u = 0.
func Interval(u *gorgonia.Node, lo, hi float64) (*gorgonia.Node, error) {
	c, w := (lo+hi)/2, math.Abs(hi-lo)/2
	s := graph.Elementwise("interval", graph.Key(lo, hi), map[string]any{"lo": lo, "hi": hi}, func(n int, dt tensor.Dtype) graph.Func {
		if dt == tensor.Float32 {
			return graph.NewFunc[float32](&interval[float32]{c, w, make([]float32, n)})
		}
		return graph.NewFunc[float64](&interval[float64]{c, w, make([]float64, n)})
	})
	s.Device = func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
		n := in[0].TotalSize()
		return graph.Recording{
			Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Interval(t, in[0], out, c, w, n)
			},
			Backward: func(t *vulkan.Tape, in []vulkan.Buffer, _, dout vulkan.Buffer, din []vulkan.Buffer) {
				kernels.IntervalGradient(t, in[0], dout, din[0], w, n)
			},
		}, nil
	}
	return graph.Apply(s, u)
}

type interval[T graph.Float] struct {
	c, w float64
	tanh []T
}

func (f *interval[T]) Forward(in [][]T, out []T) {
	numeric.Tanh(f.tanh, in[0])
	for i, t := range f.tanh {
		out[i] = T(f.c + f.w*float64(t))
	}
}

func (f *interval[T]) Backward(_ [][]T, _, dout []T, din [][]T) {
	for i := range din[0] {
		t := float64(f.tanh[i])
		din[0][i] = T(float64(dout[i]) * f.w * (1 - t*t))
	}
}
