package losses_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/losses"
)

// chain applies layers one after the other.
func chain(x *gorgonia.Node, layers ...func(x *gorgonia.Node) (*gorgonia.Node, error)) (*gorgonia.Node, error) {
	for _, f := range layers {
		var err error
		if x, err = f(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// The gradient of score matching in all parameters of small encoders equals finite differences in float64. Float32 and
// all machines give the same gradient.
func TestScoreMatchingOfEncoders(t *testing.T) {
	type step = func(x *gorgonia.Node) (*gorgonia.Node, error)
	conv := func(w, b *gorgonia.Node, stride int, a graph.Activation) step {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Conv(x, w, b, layer.ConvOptions{Stride: stride, Activation: a})
		}
	}
	dense := func(w, b *gorgonia.Node, a graph.Activation) step {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Dense(x, w, b, a) }
	}
	norm := func(gamma, beta *gorgonia.Node, groups int) step {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.GroupNorm(x, gamma, beta, groups, layer.NormOptions{Epsilon: 1e-2})
		}
	}
	pool := func(o layer.PoolOptions) step {
		return func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Pool(x, o) }
	}
	in := func(shape ...int) gradcheck.Input { return gradcheck.Input{Shape: shape, Lo: -0.8, Hi: 0.8} }
	factors := func(n int) gradcheck.Input { return gradcheck.Input{Shape: []int{n}, Lo: 0.5, Hi: 1.5} }
	for _, c := range []struct {
		name   string
		inputs []gradcheck.Input
		f      func(n nodes) []step
	}{
		{"convolution and dense layers", []gradcheck.Input{in(3, 3, 1, 4), in(4), in(16, 5), in(5), in(5, 3)}, func(n nodes) []step {
			return []step{conv(n[0], n[1], 2, graph.Softplus), graph.Flatten, dense(n[2], n[3], graph.Tanh), dense(n[4], noBias(n[4]), graph.Linear)}
		}},
		{"group norm, gelu and averages", []gradcheck.Input{in(3, 3, 1, 4), in(4), factors(4), in(4), in(16, 3)}, func(n nodes) []step {
			return []step{conv(n[0], n[1], 1, graph.Linear), norm(n[2], n[3], 2), activation(graph.GELU),
				pool(layer.PoolOptions{Kind: layer.Average, Size: 2}), graph.Flatten, dense(n[4], noBias(n[4]), graph.Linear)}
		}},
		{"a residual block", []gradcheck.Input{in(3, 3, 1, 3), in(3), in(3, 3, 3, 3), in(3), factors(3), in(3), in(48, 3)}, func(n nodes) []step {
			block := func(x *gorgonia.Node) (*gorgonia.Node, error) {
				y, err := chain(x, conv(n[2], n[3], 1, graph.SiLU), norm(n[4], n[5], 1))
				if err != nil {
					return nil, err
				}
				return layer.Add(x, y, graph.Sigmoid)
			}
			return []step{conv(n[0], n[1], 1, graph.Softplus), block, graph.Flatten, dense(n[6], noBias(n[6]), graph.Linear)}
		}},
		{"enlarged, shuffled and cropped", []gradcheck.Input{in(3, 3, 1, 4), in(4), in(2, 2, 1, 1), in(1), in(9, 3)}, func(n nodes) []step {
			return []step{conv(n[0], n[1], 2, graph.Tanh), func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(x, 2) },
				func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(x, 2, true) },
				func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(x, 6, 6) },
				conv(n[2], n[3], 2, graph.Softplus), graph.Flatten, dense(n[4], noBias(n[4]), graph.Linear)}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gradcheck.Check(t, gradcheck.Case{
				Name: "score matching, " + c.name, Inputs: c.inputs, Samples: 20, Floor32: 0.1,
				Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
					images := gradcheck.Node(n[0].Graph(), n[0].Dtype(), "images", 3, 4, 4, 1)
					noise := gradcheck.Node(n[0].Graph(), n[0].Dtype(), "noise", 3, 4, 4, 1)
					return losses.ScoreMatching(func(y *gorgonia.Node) (*gorgonia.Node, error) { return chain(y, c.f(n)...) }, nil,
						nil, images, noise, 0.7)
				},
			})
		})
	}
}

func activation(a graph.Activation) func(x *gorgonia.Node) (*gorgonia.Node, error) {
	return func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Activate(x, a) }
}

// noBias is a bias of zeros for three columns.
func noBias(w *gorgonia.Node) *gorgonia.Node {
	return gorgonia.NewConstant(tensor.New(tensor.Of(w.Dtype()), tensor.WithShape(3)))
}
