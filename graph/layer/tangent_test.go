package layer_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// tangentCase is an operation. Its first input is x, and its other inputs are parameters.
type tangentCase struct {
	name   string
	inputs []gradcheck.Input
	apply  func(n []*gorgonia.Node) (*gorgonia.Node, error)
	held   []int // inputs for which the derivative is constant or piecewise constant
}

func tangentCases() []tangentCase {
	images := gradcheck.Input{Shape: []int{2, 5, 4, 4}}
	rows := gradcheck.Input{Shape: []int{3, 4}}
	filters, bias := gradcheck.Input{Shape: []int{3, 3, 4, 3}, Lo: -0.5, Hi: 0.5}, gradcheck.Input{Shape: []int{3}}
	one := func(f func(x *gorgonia.Node) (*gorgonia.Node, error)) func(n []*gorgonia.Node) (*gorgonia.Node, error) {
		return func(n []*gorgonia.Node) (*gorgonia.Node, error) { return f(n[0]) }
	}
	var list []tangentCase
	for a := graph.Linear; a.Check() == nil; a++ {
		var layer3, plain, both []int
		if a == graph.Linear || a == graph.ReLU || a == graph.LeakyReLU {
			layer3, plain, both = []int{0, 2}, []int{0}, []int{0, 1}
		}
		list = append(list,
			tangentCase{"dense " + a.String(), []gradcheck.Input{rows, {Shape: []int{4, 3}}, bias},
				func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dense(n[0], n[1], n[2], a) }, layer3},
			tangentCase{"conv " + a.String(), []gradcheck.Input{images, filters, bias}, func(n []*gorgonia.Node) (*gorgonia.Node, error) {
				return layer.Conv(n[0], n[1], n[2], layer.ConvOptions{Stride: 2, Activation: a})
			}, layer3},
			tangentCase{"activate " + a.String(), []gradcheck.Input{rows},
				one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return graph.Activate(x, a) }), plain},
			tangentCase{"add " + a.String(), []gradcheck.Input{rows, rows},
				func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Add(n[0], n[1], a) }, both},
		)
	}
	four, group := gradcheck.Input{Shape: []int{4}, Lo: 0.5, Hi: 2}, layer.NormOptions{Epsilon: 1e-2}
	return append(list,
		tangentCase{"transposed conv", []gradcheck.Input{images, {Shape: []int{3, 3, 3, 4}}, bias}, func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.ConvTranspose(n[0], n[1], n[2], layer.ConvOptions{Stride: 2, Activation: graph.Tanh})
		}, nil},
		tangentCase{"group norm", []gradcheck.Input{images, four, four},
			func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.GroupNorm(n[0], n[1], n[2], 2, group) }, []int{2}},
		tangentCase{"layer norm with relu", []gradcheck.Input{images, four, four}, func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.GroupNorm(n[0], n[1], n[2], 1, layer.NormOptions{Epsilon: 1e-2, ReLU: true})
		}, []int{2}},
		tangentCase{"instance norm", []gradcheck.Input{images},
			one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.GroupNorm(x, nil, nil, 4, group) }), nil},
		tangentCase{"layer norm of rows", []gradcheck.Input{rows, four, four},
			func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.GroupNorm(n[0], n[1], n[2], 1, group) }, []int{2}},
		tangentCase{"given moments", []gradcheck.Input{images, {Shape: []int{1, 2, 4}, Lo: 0.5, Hi: 2, Constant: true}, four, four}, func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Standardise(n[0], n[1], n[2], n[3], group)
		}, []int{0, 1, 3}},
		tangentCase{"maximum", []gradcheck.Input{images}, one(func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Pool(x, layer.PoolOptions{Kind: layer.Max, Size: 3, Stride: 2})
		}), []int{0}},
		tangentCase{"maximum of all", []gradcheck.Input{images},
			one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.AdaptivePool(x, layer.Max, 2, 1) }), []int{0}},
		tangentCase{"average", []gradcheck.Input{images}, one(func(x *gorgonia.Node) (*gorgonia.Node, error) {
			return layer.Pool(x, layer.PoolOptions{Kind: layer.Average, Size: 2})
		}), []int{0}},
		tangentCase{"upsample", []gradcheck.Input{images},
			one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Upsample(x, 2, true) }), []int{0}},
		tangentCase{"shuffle", []gradcheck.Input{images},
			one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Shuffle(x, 2) }), []int{0}},
		tangentCase{"crop", []gradcheck.Input{images},
			one(func(x *gorgonia.Node) (*gorgonia.Node, error) { return layer.Crop(x, 3, 2) }), []int{0}},
		tangentCase{"dropout", []gradcheck.Input{rows, {Shape: []int{3, 4}, Values: []float64{0, 2, 2}, Constant: true}},
			func(n []*gorgonia.Node) (*gorgonia.Node, error) { return layer.Dropout(n[0], n[1]) }, []int{0, 1}},
		tangentCase{"reshape", []gradcheck.Input{images}, one(graph.Flatten), []int{0}},
		tangentCase{"slices, sums and columns", []gradcheck.Input{rows}, one(func(x *gorgonia.Node) (*gorgonia.Node, error) {
			y, err := graph.SliceColumns(x, 1, 3)
			if err != nil {
				return nil, err
			}
			squashed, err := graph.Activate(y, graph.Sigmoid)
			if err != nil {
				return nil, err
			}
			if y, err = graph.WeightedSum([]float64{2, -3}, y, squashed); err != nil {
				return nil, err
			}
			if y, err = graph.ConcatColumns(x, y); err != nil {
				return nil, err
			}
			return graph.SliceRows(y, 1, 3)
		}), nil},
		tangentCase{"two branches of a block", []gradcheck.Input{images, {Shape: []int{3, 3, 4, 4}, Lo: -0.5, Hi: 0.5}, {Shape: []int{4}}}, func(n []*gorgonia.Node) (*gorgonia.Node, error) {
			y, err := layer.Conv(n[0], n[1], n[2], layer.ConvOptions{Activation: graph.Softplus})
			if err != nil {
				return nil, err
			}
			return layer.Add(n[0], y, graph.ELU)
		}, nil},
	)
}

// The gradients of directional derivatives agree with finite differences, with respect to the direction, the parameters
// and x.
func TestTangentGradients(t *testing.T) {
	for _, c := range tangentCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inputs := slices.Clone(c.inputs)
			for _, i := range c.held {
				inputs[i].Constant = true
			}
			gradcheck.Check(t, gradcheck.Case{
				Name:   c.name,
				Inputs: append(inputs, gradcheck.Input{Shape: c.inputs[0].Shape}),
				Build: func(n []*gorgonia.Node) (*gorgonia.Node, error) {
					n, v := slices.Clone(n[:len(n)-1]), n[len(n)-1]
					if n[0].Graph() == nil { // the same number as an input node
						var err error
						if n[0], err = graph.WeightedSum([]float64{1, 0}, n[0], v); err != nil {
							return nil, err
						}
					}
					y, err := c.apply(n)
					if err != nil {
						return nil, err
					}
					return graph.JVP(y, n[0], v)
				},
			})
		})
	}
}

// <dy, J v> = <J^T dy, v>: the directional derivative agrees with the gradient, and with finite differences.
func TestTangentIsAdjointOfGradient(t *testing.T) {
	for _, c := range tangentCases() {
		t.Run(c.name, func(t *testing.T) {
			g := gorgonia.NewGraph()
			var in []*gorgonia.Node
			for i, input := range c.inputs {
				in = append(in, drawn(g, fmt.Sprint("input ", i), input))
			}
			y := must.Get(c.apply(in))(t)
			v, dy := drawn(g, "v", gradcheck.Input{Shape: c.inputs[0].Shape}), drawn(g, "dy", gradcheck.Input{Shape: y.Shape()})
			along := must.Get(graph.JVP(y, in[0], v))(t)
			back := must.Get(graph.VJP(y, dy, in[0]))(t)
			m := must.Get(machine.New(y.Graph(), along, back, v, dy))(t)
			must.OK(t, m.RunAll())
			value := func(n *gorgonia.Node) []float64 { return m.Value(n).Data().([]float64) }
			left, right := dot(value(dy), value(along)), dot(value(back), value(v))
			if !(math.Abs(left-right) <= 1e-10*max(1, math.Abs(left))) || left == 0 {
				t.Errorf("<dy, J v> = %v, <J^T dy, v> = %v; want the same, and not 0", left, right)
			}
		})
	}
}

// drawn adds a float64 input with random elements.
func drawn(g *gorgonia.ExprGraph, name string, in gradcheck.Input) *gorgonia.Node {
	v := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(in.Shape...))
	r, lo, hi := rng.New(1, name), in.Lo, in.Hi
	if lo == hi {
		lo, hi = -2, 2
	}
	for i := range v.Float64s() {
		v.Float64s()[i] = lo + (hi-lo)*r.Float64()
	}
	return gorgonia.NewTensor(g, tensor.Float64, len(in.Shape), gorgonia.WithShape(in.Shape...), gorgonia.WithName(name),
		gorgonia.WithValue(v))
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
