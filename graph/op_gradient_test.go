package graph_test

import (
	"math"
	"math/cmplx"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
)

type nodes = []*gorgonia.Node

func in(shape ...int) gradcheck.Input { return gradcheck.Input{Shape: shape} }

func check(t *testing.T, cases []gradcheck.Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { gradcheck.Check(t, c) })
	}
}

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
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	check(t, []gradcheck.Case{
		{Name: "linear", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Linear), Want: each(func(x float64) float64 { return x })},
		{Name: "relu", Inputs: []gradcheck.Input{hard}, Build: activate(graph.ReLU), Want: each(func(x float64) float64 { return max(x, 0) })},
		{Name: "leaky relu", Inputs: []gradcheck.Input{hard}, Build: activate(graph.LeakyReLU), Want: each(func(x float64) float64 { return max(x, 0.2*x) })},
		{Name: "tanh", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Tanh), Want: each(math.Tanh)},
		{Name: "sigmoid", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Sigmoid), Want: each(logistic)},
		{Name: "softplus", Inputs: []gradcheck.Input{hard}, Build: activate(graph.Softplus), Want: each(func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) })},
		{Name: "many blocks", Inputs: []gradcheck.Input{in(3, 5000)}, Build: activate(graph.Tanh), Want: each(math.Tanh), Samples: 5},
		{Name: "scalar", Inputs: []gradcheck.Input{in()}, Build: activate(graph.Sigmoid), Want: each(logistic)},
		{Name: "vector", Inputs: []gradcheck.Input{in(7)}, Build: activate(graph.Softplus)},
		{Name: "exp", Inputs: []gradcheck.Input{in(3, 4, 2)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Exp(n[0]) }, Want: each(math.Exp)},
		{Name: "interval", Inputs: []gradcheck.Input{{Shape: []int{6, 1}, Values: []float64{-30, -1, 0, 0.3, 2, 30}}},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.Interval(n[0], -10, -6) },
			Want:  each(func(u float64) float64 { return -8 + 2*math.Tanh(u) })},
	})
}

func TestShapes(t *testing.T) {
	check(t, []gradcheck.Case{
		{Name: "reshape", Inputs: []gradcheck.Input{in(2, 3, 4)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.Reshape(n[0], 4, 6) }, Want: each(func(x float64) float64 { return x })},
		{Name: "reshape that TapeMachine cannot do", Inputs: []gradcheck.Input{in(2, 3), in(3, 2)},
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
		{Name: "flatten", Inputs: []gradcheck.Input{in(2, 3, 4)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Flatten(n[0]) }},
		{Name: "concat columns", Inputs: []gradcheck.Input{in(3, 2), in(3, 1), in(3, 4)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.ConcatColumns(n...) },
			Want: func(in [][]float64) []float64 {
				var out []float64
				for r := range 3 {
					out = append(append(append(out, in[0][2*r:2*r+2]...), in[1][r]), in[2][4*r:4*r+4]...)
				}
				return out
			}},
		{Name: "slice columns", Inputs: []gradcheck.Input{in(3, 5)},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.SliceColumns(n[0], 1, 3) },
			Want: func(in [][]float64) []float64 {
				x := in[0]
				return []float64{x[1], x[2], x[6], x[7], x[11], x[12]}
			}},
		{Name: "slice of concat, used twice", Inputs: []gradcheck.Input{in(3, 2), in(3, 3)},
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
	check(t, []gradcheck.Case{
		{Name: "weighted sum of scalars", Inputs: []gradcheck.Input{in(), in(), in()},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.WeightedSum([]float64{1, 0.5, -100}, n...) },
			Want:  func(in [][]float64) []float64 { return []float64{in[0][0] + in[1][0]/2 - 100*in[2][0]} }},
		{Name: "add", Inputs: []gradcheck.Input{in(2, 2, 2), in(2, 2, 2)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Add(n[0], n[1]) }},
		{Name: "scale", Inputs: []gradcheck.Input{in(4)}, Build: func(n nodes) (*gorgonia.Node, error) { return graph.Scale(-0.25, n[0]) },
			Want: each(func(x float64) float64 { return -x / 4 })},
	})
}

func TestSphere(t *testing.T) {
	normal := func(n nodes) (*gorgonia.Node, error) { return graph.NormaliseRows(n[0]) }
	walk := func(n nodes) (*gorgonia.Node, error) { return graph.SphereWalk(n[0], n[1], n[2]) }
	logT := gradcheck.Input{Shape: []int{4, 1}, Lo: -6, Hi: -1}
	noise := func(steps, n, d int) gradcheck.Input {
		return gradcheck.Input{Shape: []int{steps, n, d}, Constant: true}
	}
	check(t, []gradcheck.Case{
		{Name: "normalise rows", Inputs: []gradcheck.Input{in(5, 3)}, Build: normal,
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 15)
				for i := range out {
					r := in[0][i/3*3 : i/3*3+3]
					out[i] = in[0][i] / math.Sqrt(r[0]*r[0]+r[1]*r[1]+r[2]*r[2])
				}
				return out
			}},
		{Name: "normalise a zero row", Inputs: []gradcheck.Input{{Shape: []int{2, 2}, Values: []float64{0, 0, 3, -4}}}, Build: normal,
			Step: 1e-9, Want: func([][]float64) []float64 { return []float64{0, 0, 0.6, -0.8} }},
		{Name: "normalise in the clamped zone", Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{3e-7, -2e-7}}}, Build: normal,
			Step: 1e-10, Tolerance: 1e-5},
		{Name: "normalise just above it", Inputs: []gradcheck.Input{{Shape: []int{1, 2}, Values: []float64{2e-6, -3e-6}}}, Build: normal,
			Step: 1e-10, Tolerance: 1e-5},
		{Name: "walk on the circle", Inputs: []gradcheck.Input{in(4, 2), logT, noise(10, 4, 2)}, Build: walk},
		{Name: "walk on the sphere", Inputs: []gradcheck.Input{in(4, 3), logT, noise(3, 4, 3)}, Build: walk},
		{Name: "one step", Inputs: []gradcheck.Input{in(4, 2), logT, noise(1, 4, 2)}, Build: walk,
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 8)
				for i := range 4 {
					s := math.Exp(in[1][i] / 2)
					x, y := in[0][2*i]+s*in[2][2*i], in[0][2*i+1]+s*in[2][2*i+1]
					out[2*i], out[2*i+1] = x/math.Hypot(x, y), y/math.Hypot(x, y)
				}
				return out
			}},
		{Name: "a long path of rows", Inputs: []gradcheck.Input{in(100, 2), {Shape: []int{100, 1}, Lo: -10, Hi: -5}, noise(10, 100, 2)}, Build: walk, Samples: 10},
		{Name: "gaussian sample", Inputs: []gradcheck.Input{in(4, 5), {Shape: []int{4, 5}, Lo: -5, Hi: 2}, {Shape: []int{4, 5}, Constant: true}},
			Build: func(n nodes) (*gorgonia.Node, error) { return graph.GaussianSample(n[0], n[1], n[2]) },
			Want: func(in [][]float64) []float64 {
				out := make([]float64, 20)
				for i := range out {
					out[i] = in[0][i] + math.Exp(in[1][i])*in[2][i]
				}
				return out
			}},
	})
}

func TestTransport(t *testing.T) {
	transport := func(a graph.Action, m int) func(n nodes) (*gorgonia.Node, error) {
		return func(n nodes) (*gorgonia.Node, error) {
			if a == graph.Identity {
				return graph.Transport(a, n[0], nil, m)
			}
			return graph.Transport(a, n[0], n[1], m)
		}
	}
	angles := func(n int) gradcheck.Input {
		return gradcheck.Input{Shape: []int{n, 1}, Lo: -7, Hi: 7, Constant: true}
	}
	check(t, []gradcheck.Case{
		{Name: "circle", Inputs: []gradcheck.Input{in(6, 2), angles(6)}, Build: transport(graph.Circle, 3), Want: wantCircle(3)},
		{Name: "circle, one in a group", Inputs: []gradcheck.Input{in(3, 2), angles(3)}, Build: transport(graph.Circle, 1), Want: wantCircle(1)},
		{Name: "circle, a long path", Inputs: []gradcheck.Input{in(100, 2), angles(100)}, Build: transport(graph.Circle, 100), Want: wantCircle(100), Samples: 10},
		{Name: "circle, identical points", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0.6, 0.8}}, {Shape: []int{2, 1}, Values: []float64{0}, Constant: true}},
			Build: transport(graph.Circle, 2), Want: func([][]float64) []float64 { return []float64{0.6, 0.8, 0.6, 0.8} }},
		{Name: "circle, opposite points", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0.6, 0.8, -0.6, -0.8}}, {Shape: []int{2, 1}, Values: []float64{0}, Constant: true}},
			Build: transport(graph.Circle, 2), Step: 1e-9, Want: func([][]float64) []float64 { return []float64{0, 0, 0, 0} }},
		{Name: "axis and angle", Inputs: []gradcheck.Input{in(6, 3), {Shape: []int{6, 4}, Lo: -3, Hi: 3, Constant: true}}, Build: transport(graph.AxisAngle, 2)},
		{Name: "axis 0", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{0, 3, 4, 0, 3, 4}}, {Shape: []int{2, 4}, Values: []float64{0, 0, 0, 2}, Constant: true}},
			Build: transport(graph.AxisAngle, 2), Want: func([][]float64) []float64 { return []float64{0, 0.6, 0.8, 0, 0.6, 0.8} }},
		{Name: "about z, axis of any length", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{1, 0, 0, 0, 1, 0}},
			{Shape: []int{2, 4}, Values: []float64{0, 0, 1, 0, 0, 0, 5, math.Pi / 2}, Constant: true}},
			Build: transport(graph.AxisAngle, 2), Want: func([][]float64) []float64 { return []float64{1, 0, 0, 0, 1, 0} }},
		{Name: "mean", Inputs: []gradcheck.Input{in(4, 5)}, Build: transport(graph.Identity, 2)},
		{Name: "plane", Inputs: []gradcheck.Input{in(6, 2), angles(6)}, Build: transport(graph.Plane, 3), Want: wantPlane(3)},
		{Name: "plane, points at 0", Inputs: []gradcheck.Input{
			{Shape: []int{2, 2}, Values: []float64{0, 0, 0, 0}}, {Shape: []int{2, 1}, Values: []float64{0, 1}, Constant: true}},
			Build: transport(graph.Plane, 2), Want: func([][]float64) []float64 { return []float64{0, 0, 0, 0} }},
		{Name: "space", Inputs: []gradcheck.Input{in(6, 3), {Shape: []int{6, 4}, Lo: -3, Hi: 3, Constant: true}}, Build: transport(graph.Space, 2)},
		{Name: "space, about z", Inputs: []gradcheck.Input{{Shape: []int{2, 3}, Values: []float64{4, 0, 2, 0, 2, 0}},
			{Shape: []int{2, 4}, Values: []float64{0, 0, 1, 0, 0, 0, 5, math.Pi / 2}, Constant: true}},
			Build: transport(graph.Space, 2), Want: func([][]float64) []float64 { return []float64{3, 0, 1, 0, 3, 1} }},
	})
}

// wantPlane is the transport in the plane: the mean of the points turned back, turned.
func wantPlane(m int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		z, angle := in[0], in[1]
		out := make([]float64, len(z))
		for g := 0; g < len(angle); g += m {
			var mean complex128
			for i := g; i < g+m; i++ {
				mean += complex(z[2*i], z[2*i+1]) * cmplx.Rect(1, -angle[i]) / complex(float64(m), 0)
			}
			for i := g; i < g+m; i++ {
				y := mean * cmplx.Rect(1, angle[i])
				out[2*i], out[2*i+1] = real(y), imag(y)
			}
		}
		return out
	}
}

func wantCircle(m int) func(in [][]float64) []float64 {
	return func(in [][]float64) []float64 {
		z, angle := in[0], in[1]
		out := make([]float64, len(z))
		for g := 0; g < len(angle); g += m {
			var sum complex128
			for i := g; i < g+m; i++ {
				sin, cos := math.Sincos(angle[i])
				sum += complex(z[2*i], z[2*i+1]) * complex(cos, -sin)
			}
			sum /= complex(math.Hypot(real(sum), imag(sum)), 0)
			for i := g; i < g+m; i++ {
				sin, cos := math.Sincos(angle[i])
				y := sum * complex(cos, sin)
				out[2*i], out[2*i+1] = real(y), imag(y)
			}
		}
		return out
	}
}
