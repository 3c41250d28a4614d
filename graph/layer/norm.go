package layer

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/device/kernels"
)

// NormOptions are the options of a normalisation.
type NormOptions struct {
	Epsilon float64 // added to variances
	ReLU    bool    // the result is max(y, 0)
	Single  bool    // allow groups of one element: the result is beta, and the gradient with respect to x is 0
}

// BatchMoments returns the means and variances of the channels of x [batch, ..., channels] as [parts, 2, channels], for
// each of several equal parts of the batch. Variances are biased: they divide by the number of elements. The variance
// of a single element is 0. The node itself has no gradient; see [BatchNorm].
func BatchMoments(x *gorgonia.Node, parts int) (*gorgonia.Node, error) {
	return graph.Apply(graph.Spec{
		Name: "batch moments",
		Key:  graph.Key(parts),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if err := checkParts(in[0], parts); err != nil {
				return nil, err
			}
			return tensor.Shape{parts, 2, in[0][in[0].Dims()-1]}, nil
		},
		New: graph.Bodies(
			func(in []tensor.Shape) graph.Body[float32] { return newBatchMoments[float32](in[0], parts) },
			func(in []tensor.Shape) graph.Body[float64] { return newBatchMoments[float64](in[0], parts) }),
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			c := in[0][in[0].Dims()-1]
			s := kernels.NormShape{Sets: parts, Rows: in[0].TotalSize() / c / parts, Channels: c}
			return graph.Recording{Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
				kernels.Moments(t, in[0], out, s)
			}}, nil
		},
		Diff: []bool{false},
	}, x)
}

func checkParts(x tensor.Shape, parts int) error {
	switch {
	case x.Dims() < 2 || x.TotalSize() < 1:
		return graph.Wanted("input of shape [batch, ..., channels]", x)
	case parts < 1 || x[0]%parts != 0:
		return graph.Wanted(fmt.Sprintf("a batch of %d equal parts", parts), x)
	}
	return nil
}

// BatchNorm returns y = (x - mean)/sqrt(variance + epsilon) * gamma + beta for each channel of x [batch, ...,
// channels]. The moments must be the [BatchMoments] of x: the gradient with respect to x includes the path through the
// moments. gamma and beta have shape [channels]. Both may be nil, which means 1 and 0.
//
// Source: Ioffe and Szegedy 2015, algorithm 1.
func BatchNorm(x, moments, gamma, beta *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return normalisation("batch norm", 0, x, moments, gamma, beta, o, func(x tensor.Shape) (normShape, error) {
		s := momentsShape(moments)
		if s.Dims() != 3 || s[1] != 2 || s[2] != x[x.Dims()-1] {
			return normShape{}, graph.Wanted(fmt.Sprintf("moments of shape (parts, 2, %d)", x[x.Dims()-1]), s)
		}
		return normShape{sets: s[0], groups: 0}, checkParts(x, s[0])
	})
}

// Standardise is [BatchNorm] with fixed moments [1, 2, channels], such as running means. No gradient flows through
// the moments.
func Standardise(x, moments, gamma, beta *gorgonia.Node, o NormOptions) (*gorgonia.Node, error) {
	return normalisation("standardise", 0, x, moments, gamma, beta, o, func(x tensor.Shape) (normShape, error) {
		c := x[x.Dims()-1]
		if s := momentsShape(moments); !slices.Equal(s, tensor.Shape{1, 2, c}) {
			return normShape{}, graph.Wanted(fmt.Sprintf("moments of shape (1, 2, %d)", c), s)
		}
		return normShape{sets: 1, given: true}, nil
	})
}

func momentsShape(moments *gorgonia.Node) tensor.Shape {
	if moments == nil {
		return nil
	}
	return moments.Shape()
}

// GroupNorm returns y = (x - mean)/sqrt(variance + epsilon) * gamma + beta for x [batch, ..., channels]. It divides the
// channels into the given number of equal groups of consecutive channels. Each group of each image has its own mean and
// variance. One group gives layer norm, and one group per channel gives instance norm. gamma and beta have shape
// [channels]. Both may be nil, which means 1 and 0.
//
// Source: Wu and He 2018, equations 1, 2, 6 and 7; Ba et al. 2016; Ulyanov et al. 2016.
func GroupNorm(x, gamma, beta *gorgonia.Node, groups int, o NormOptions) (*gorgonia.Node, error) {
	return normalisation("group norm", groups, x, nil, gamma, beta, o, func(x tensor.Shape) (normShape, error) {
		c := x[x.Dims()-1]
		if groups < 1 || c%groups != 0 {
			return normShape{}, graph.Wanted(fmt.Sprintf("a number of groups that divides %d channels", c), groups)
		}
		if !o.Single && x.TotalSize()/x[0]/groups < 2 {
			return normShape{}, graph.Wanted("more than one element to normalise by in each group",
				fmt.Sprintf("%d groups of %v", groups, x[1:]))
		}
		return normShape{sets: x[0], groups: groups}, nil
	})
}

// normalisation adds a normalisation. groups is the number of groups of channels, or 0 for a normalisation without
// groups. The inputs are x, moments, gamma and beta, without nil nodes.
func normalisation(name string, groups int, x, moments, gamma, beta *gorgonia.Node, o NormOptions,
	describe func(x tensor.Shape) (normShape, error)) (*gorgonia.Node, error) {
	if (gamma == nil) != (beta == nil) {
		return nil, fmt.Errorf("%s: %w", name, graph.Wanted("gamma and beta", "one of them"))
	}
	in, diff := []*gorgonia.Node{x}, []bool{true}
	if moments != nil {
		in, diff = append(in, moments), append(diff, false)
	}
	if gamma != nil {
		in, diff = append(in, gamma, beta), append(diff, true, true)
	}
	plan := func(in []tensor.Shape) (normShape, error) {
		if in[0].Dims() < 2 || in[0].TotalSize() < 1 {
			return normShape{}, graph.Wanted("input of shape [batch, ..., channels]", in[0])
		}
		s, err := describe(in[0])
		if err != nil {
			return s, err
		}
		s.moments, s.affine, s.epsilon, s.relu = moments != nil, gamma != nil, o.Epsilon, o.ReLU
		err = s.complete(in)
		return s, err
	}
	key := graph.Key(groups, moments != nil, gamma != nil, o.Epsilon, o.ReLU)
	return graph.Apply(graph.Spec{
		Name:       name,
		Key:        key,
		Attributes: map[string]any{"groups": groups, "epsilon": o.Epsilon, "relu": o.ReLU},
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			_, err := plan(in)
			return in[0].Clone(), err
		},
		New: func(in []tensor.Shape, _ tensor.Shape, dt tensor.Dtype) (graph.Func, error) {
			s, err := plan(in)
			if err != nil {
				return nil, err
			}
			if dt == tensor.Float32 {
				return graph.NewFunc[float32](newNorm[float32](s)), nil
			}
			return graph.NewFunc[float64](newNorm[float64](s)), nil
		},
		Device: func(in []tensor.Shape, _ tensor.Shape) (graph.Recording, error) {
			s, err := plan(in)
			return s.record(), err
		},
		Diff: diff,
		Tangent: func(in []*gorgonia.Node, out *gorgonia.Node, along []*gorgonia.Node) (*gorgonia.Node, error) {
			return normTangent(plan, key, in, out, along[0])
		},
	}, in...)
}

// normShape describes a normalisation: sets of rows of channels, with shared moments in a set.
type normShape struct {
	sets, rows, channels int
	groups               int  // number of channel groups; 0: the moments are an input, separate for each channel
	moments, affine      bool // whether the operation has these inputs
	given                bool // the moments are constants that do not depend on x
	epsilon              float64
	relu                 bool
}

// complete sets the sizes of the normalisation for inputs of the given shapes. It checks gamma, beta and epsilon.
func (s *normShape) complete(in []tensor.Shape) error {
	s.channels = in[0][in[0].Dims()-1]
	s.rows = in[0].TotalSize() / s.channels / s.sets
	if s.affine {
		for _, p := range in[len(in)-2:] {
			if !slices.Equal(p, tensor.Shape{s.channels}) {
				return graph.Wanted(fmt.Sprintf("gamma and beta of shape (%d)", s.channels), p)
			}
		}
	}
	if !(s.epsilon > 0) || math.IsInf(s.epsilon, 0) {
		return graph.Wanted("a positive epsilon", s.epsilon)
	}
	return nil
}

// record returns the device implementation. Its inputs are x, and moments, gamma and beta if the normalisation has
// them.
func (s normShape) record() graph.Recording {
	shape := kernels.NormShape{Sets: s.sets, Rows: s.rows, Channels: s.channels, Groups: s.groups,
		Given: s.given, Epsilon: s.epsilon, ReLU: s.relu}
	none := vulkan.Buffer{}
	operands := func(in []vulkan.Buffer) (moments, gamma, beta vulkan.Buffer) {
		if s.moments {
			moments = in[1]
		}
		if s.affine {
			gamma, beta = in[len(in)-2], in[len(in)-1]
		}
		return moments, gamma, beta
	}
	return graph.Recording{
		Forward: func(t *vulkan.Tape, in []vulkan.Buffer, out vulkan.Buffer) {
			moments, gamma, beta := operands(in)
			kernels.Norm(t, in[0], moments, gamma, beta, out, shape)
		},
		Backward: func(t *vulkan.Tape, in []vulkan.Buffer, out, dout vulkan.Buffer, din []vulkan.Buffer) {
			moments, gamma, _ := operands(in)
			dgamma, dbeta := none, none
			if s.affine {
				dgamma, dbeta = din[len(in)-2], din[len(in)-1]
			}
			kernels.NormGradient(t, in[0], moments, gamma, out, dout, din[0], dgamma, dbeta, shape)
		},
	}
}
