package graph_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

type nodes = []*gorgonia.Node

func each(f func(float64) float64) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		out := make([]float64, len(in[0]))
		for i, x := range in[0] {
			out[i] = f(x)
		}
		return out
	}
}

func TestElementwise(t *testing.T) {
	activate := func(a graph.Activation) func(nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) { return graph.Activate(n[0], a) }
	}
	hard := gradcheck.Input{Shape: []int{2, 5}, Values: []float64{-100, -20, -3, -0.1, 1e-3, 0.5, 2, 15, 90, 100}}
	smooth := gradcheck.Input{Shape: []int{3, 5}, Values: []float64{-100, -20, -8, -3, -1, -0.1, -1e-4, 0, 1e-3, 0.5, 2, 6, 15, 90, 100}}
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "linear", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Linear), Want: each(func(x float64) float64 { return x })},
		{Name: "relu", Inputs: []gradcheck.Input{hard}, Build: activate(graph.ReLU), Want: each(func(x float64) float64 { return max(x, 0) })},
		{Name: "leaky relu", Inputs: []gradcheck.Input{hard}, Build: activate(graph.LeakyReLU), Want: each(func(x float64) float64 { return max(x, 0.2*x) })},
		{Name: "tanh", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Tanh), Want: each(math.Tanh)},
		{Name: "sigmoid", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Sigmoid), Want: each(logistic)},
		{Name: "softplus", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Softplus), Want: each(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) })},
		{Name: "elu", Inputs: []gradcheck.Input{smooth}, Build: activate(graph.ELU), Want: each(func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) })},
		{Name: "gelu", Inputs: []gradcheck.Input{smooth}, Build: activate(graph.GELU), Want: each(func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 })},
		{Name: "silu", Inputs: []gradcheck.Input{smooth}, Build: activate(graph.SiLU), Want: each(func(x float64) float64 { return x * logistic(x) })},
		{Name: "gelu of many blocks", Inputs: []gradcheck.Input{gradcheck.In(3, 5000)}, Build: activate(graph.GELU), Samples: 5},
		{Name: "silu of a scalar", Inputs: []gradcheck.Input{gradcheck.In()}, Build: activate(graph.SiLU)},
		{Name: "gelu of equal elements", Inputs: []gradcheck.Input{{Shape: []int{2, 9}, Values: []float64{-0.75}}}, Floor32: 0.1, Build: activate(graph.GELU)}, // where the slope passes through 0
		{Name: "many blocks", Inputs: []gradcheck.Input{gradcheck.In(3, 5000)}, Build: activate(graph.Tanh), Want: each(math.Tanh), Samples: 5},
		{Name: "scalar", Inputs: []gradcheck.Input{gradcheck.In()}, Build: activate(graph.Sigmoid), Want: each(logistic)},
		{Name: "vector", Inputs: []gradcheck.Input{gradcheck.In(7)}, Build: activate(graph.Softplus)},
		{Name: "exp", Inputs: []gradcheck.Input{gradcheck.In(3, 4, 2)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Exp(n[0]) }, Want: each(math.Exp)},
	})
}

func TestShapes(t *testing.T) {
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "reshape", Inputs: []gradcheck.Input{gradcheck.In(2, 3, 4)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.Reshape(n[0], 4, 6) }, Want: each(func(x float64) float64 { return x })},
		{Name: "reshape that TapeMachine cannot do", Inputs: []gradcheck.Input{gradcheck.In(2, 3), gradcheck.In(3, 2)},
			Build: func(n nodes) (*gorgonia.Node, error) {
				minus := gorgonia.Must(gorgonia.Neg(n[0]))
				a, err := graph.Reshape(minus, 3, 2)
				if err != nil {
					return nil, err
				}
				q := gorgonia.Must(gorgonia.HadamardProd(a, n[1]))
				b, err := graph.Reshape(q, 2, 3)
				if err != nil {
					return nil, err
				}
				return gorgonia.Add(minus, b)
			},
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 6)
				for i, x := range in[0] {
					out[i] = -x - x*in[1][i]
				}
				return out
			}},
		{Name: "flatten", Inputs: []gradcheck.Input{gradcheck.In(2, 3, 4)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Flatten(n[0]) }},
		{Name: "concat columns", Inputs: []gradcheck.Input{gradcheck.In(3, 2), gradcheck.In(3, 1), gradcheck.In(3, 4)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.ConcatColumns(n...) },
			Want: func(in [][]float64) []float64 {
				var out []float64
				for r := range 3 {
					out = append(append(append(out, in[0][2*r:2*r+2]...), in[1][r]), in[2][4*r:4*r+4]...)
				}
				return out
			}},
		{Name: "slice columns", Inputs: []gradcheck.Input{gradcheck.In(3, 5)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.SliceColumns(n[0], 1, 3) },
			Want: func(in [][]float64) []float64 {
				x := in[0]
				return []float64{x[1], x[2], x[6], x[7], x[11], x[12]}
			}},
		{Name: "slice of concat, used twice", Inputs: []gradcheck.Input{gradcheck.In(3, 2), gradcheck.In(3, 3)},
			Build: func(n nodes) (*gorgonia.Node, error) {
				c, err := graph.ConcatColumns(n...)
				if err != nil {
					return nil, err
				}
				a, err := graph.SliceColumns(c, 0, 3)
				if err != nil {
					return nil, err
				}
				b, err := graph.SliceColumns(c, 2, 5)
				if err != nil {
					return nil, err
				}
				return graph.WeightedSum([]float64{2, -3}, a, b)
			}},
	})
}

func TestSums(t *testing.T) {
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "weighted sum of scalars", Inputs: []gradcheck.Input{gradcheck.In(), gradcheck.In(), gradcheck.In()},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.WeightedSum([]float64{1, 0.5, -100}, n...) },
			Want:  func(in [][]float64) []float64 { return []float64{in[0][0] + in[1][0]/2 - 100*in[2][0]} }},
		{Name: "add", Inputs: []gradcheck.Input{gradcheck.In(2, 2, 2), gradcheck.In(2, 2, 2)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Add(n[0], n[1]) }},
		{Name: "scale", Inputs: []gradcheck.Input{gradcheck.In(4)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Scale(-0.25, n[0]) },
			Want: each(func(x float64) float64 { return -x / 4 })},
	})
}

func TestSphere(t *testing.T) {
	normal := func(n nodes) (*gorgonia.Node, error) { return graph.NormaliseRows(n[0]) }
	gradcheck.CheckAll(t, []gradcheck.Case{
		{Name: "normalise rows", Inputs: []gradcheck.Input{gradcheck.In(5, 3)}, Build: normal,
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 15)
				for i := range out {
					r := in[0][i/3*3 : i/3*3+3]
					out[i] = in[0][i] / math.Sqrt(r[0]*r[0]+r[1]*r[1]+r[2]*r[2])
				}
				return out
			}},
		{Name: "reject rows", Inputs: []gradcheck.Input{gradcheck.In(5, 3), gradcheck.In(5, 3)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.RejectRows(n[0], n[1]) },
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 15)
				for i := range out {
					w, v := in[0][i/3*3:i/3*3+3], in[1][i/3*3:i/3*3+3]
					out[i] = in[0][i] - (v[0]*w[0]+v[1]*w[1]+v[2]*w[2])*in[1][i]
				}
				return out
			}},
		{Name: "reject a row from itself", Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{0.6, -0.8}}},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.RejectRows(n[0], n[0]) },
			Want:  func([][]float64) []float64 { return []float64{0, 0} }},
		{Name: "normalise a zero row", Inputs: []gradcheck.Input{{Shape: []int{2, 2}, Values: []float64{0, 0, 3, -4}}}, Build: normal,
			Step: 1e-9, Want: func([][]float64) []float64 { return []float64{0, 0, 0.6, -0.8} }},
		{Name: "normalise in the clamped zone", Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{3e-7, -2e-7}}}, Build: normal,
			Step: 1e-10, Tolerance: 1e-5},
		{Name: "normalise just above it", Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{2e-6, -3e-6}}}, Build: normal,
			Step: 1e-10, Tolerance: 1e-5},
	})
}
