package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/vulkan"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/parallel"
)

// power is x^Exponent, scaled, with errors and panics on request.
type power struct {
	exponent int
	calls    *[]string
	fail     error
	panics   bool
}

func (p power) spec() graph.Spec {
	return graph.Spec{
		Name: "power",
		Key:  fmt.Sprint(p.exponent),
		Shape: func(in []tensor.Shape) (tensor.Shape, error) {
			if in[0].Dims() != 2 {
				return nil, fmt.Errorf("want 2 sizes, got %v", in[0])
			}
			return in[0], nil
		},
		New: func([]tensor.Shape, tensor.Shape, tensor.Dtype) (graph.Func, error) {
			p.log("new")
			return p, nil
		},
	}
}

func (p power) log(s string) {
	if p.calls != nil {
		*p.calls = append(*p.calls, s)
	}
}

func (p power) Forward(in []graph.Array, out graph.Array) error {
	p.log("forward")
	if p.panics {
		parallel.For(64, func(int, int) { panic("out of luck") })
	}
	for i := range out.F32 {
		out.F32[i] = 1
		for range p.exponent {
			out.F32[i] *= in[0].F32[i]
		}
	}
	return p.fail
}

func (p power) Backward(in []graph.Array, out, dout graph.Array, din []graph.Array, want []bool) error {
	p.log(fmt.Sprint("backward ", want))
	if want[0] {
		for i := range out.F32 {
			din[0].F32[i] = dout.F32[i] * float32(p.exponent) * out.F32[i] / in[0].F32[i]
		}
	}
	return nil
}

func matrix(g *gorgonia.ExprGraph, name string, rows, columns int, values ...float32) *gorgonia.Node {
	t := tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(values))
	return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(rows, columns), gorgonia.WithName(name), gorgonia.WithValue(t))
}

func TestNodesAreMergedByKey(t *testing.T) {
	g := gorgonia.NewGraph()
	x, y := matrix(g, "x", 1, 2, 2, 3), matrix(g, "y", 1, 2, 4, 5)
	ok := gradcheck.Must(t)
	square := ok(graph.Apply(power{exponent: 2}.spec(), x))
	cube := ok(graph.Apply(power{exponent: 3}.spec(), x))
	again := ok(graph.Apply(power{exponent: 2}.spec(), x))
	other := ok(graph.Apply(power{exponent: 2}.spec(), y))
	if square == cube {
		t.Error("nodes of distinct keys are one node")
	}
	if square != again {
		t.Error("nodes of equal keys and inputs are two nodes")
	}
	if square == other {
		t.Error("nodes of distinct inputs are one node")
	}
	m := must.Get(machine.New(square.Graph(), square, cube, other))(t)
	must.OK(t, m.RunAll())
	for i, n := range []*gorgonia.Node{square, cube, other} {
		want := [][]float32{{4, 9}, {8, 27}, {16, 25}}[i]
		must.EqualSlices(t, m.Value(n).Data().([]float32), want, "node", i)
	}
}

func TestTypes(t *testing.T) {
	g := gorgonia.NewGraph()
	ok := gradcheck.Must(t)
	x := matrix(g, "x", 2, 3, 1, 2, 3, 4, 5, 6)
	r := ok(graph.Reshape(x, 1, 2, 3, 1))
	if r.Dims() != 4 || r.Dtype() != tensor.Float32 || !r.Shape().Eq(tensor.Shape{1, 2, 3, 1}) ||
		r.Type() != (gorgonia.TensorType{Dims: 4, Of: tensor.Float32}) {
		t.Errorf("type %v, shape %v", r.Type(), r.Shape())
	}
	s := ok(distance(x, x))
	if !s.IsScalar() || s.Dims() != 0 || s.Type() != tensor.Float32 {
		t.Errorf("type %v, shape %v of a scalar", s.Type(), s.Shape())
	}
}

// One computation serves all gradients of an operation, and computes only the needed ones.
func TestGradientsAreShared(t *testing.T) {
	g := gorgonia.NewGraph()
	ok := gradcheck.Must(t)
	x, y := matrix(g, "x", 2, 2, 1, 2, 3, 4), matrix(g, "y", 2, 2, 5, 6, 7, 9)
	loss := ok(distance(x, y))
	grads := must.Get(gorgonia.Grad(loss, x, y))(t)
	first, second := grads[0].Op().(graph.Gradient), grads[1].Op().(graph.Gradient)
	if !first.Root() || second.Root() || second.Group() != first.Group() || first.Input() != 0 || second.Input() != 1 || first.Inputs() != 2 {
		t.Error("the gradients of x and y are not a root and its sibling")
	}
	for _, want := range []nodes{{grads[0]}, {grads[1]}, {grads[0], grads[1]}} {
		m := must.Get(machine.New(want[0].Graph(), want...))(t)
		must.OK(t, m.RunAll())
		for i, n := range grads {
			v := m.Value(n)
			if !slices.Contains(want, n) {
				if v != nil {
					t.Errorf("gradient %d was not asked for, got %v", i, v)
				}
				continue
			}
			sign := float32(1 - 2*i)
			must.EqualSlices(t, v.Data().([]float32), []float32{-4 * sign, -4 * sign, -4 * sign, -5 * sign}, "gradient", i)
		}
	}
}

func TestStopGradient(t *testing.T) {
	held := gradcheck.Input{Shape: []int{4, 2}, Constant: true} // differences of the stopped input would not be 0
	gradcheck.Check(t, gradcheck.Case{Name: "stop gradient", Inputs: []gradcheck.Input{gradcheck.In(4, 2), held}, Build: func(n nodes) (*gorgonia.Node, error) {
		stopped, err := graph.StopGradient(n[1])
		if err != nil {
			return nil, err
		}
		return distance(n[0], stopped)
	}})
	g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
	x := matrix(g, "x", 1, 2, 3, 4)
	loss := ok(distance(ok(graph.Scale(2, x)), ok(graph.StopGradient(x)))) // |2x - c|^2 at c = x
	grads := must.Get(gorgonia.Grad(loss, x))(t)
	m := must.Get(machine.New(grads[0].Graph(), grads[0], loss))(t)
	must.OK(t, m.RunAll())
	if got := m.Value(grads[0]).Data().([]float32); !slices.Equal(got, []float32{12, 16}) || m.Value(loss).Data().(float32) != 25 {
		t.Errorf("loss %v, gradient %v, want 25 and 4x", m.Value(loss), got)
	}
}

func TestNewIsCalledOnce(t *testing.T) {
	g := gorgonia.NewGraph()
	var calls []string
	x := matrix(g, "x", 1, 2, 2, 3)
	y := gradcheck.Must(t)(graph.Apply(power{exponent: 2, calls: &calls}.spec(), x))
	sum := gradcheck.Must(t)(gorgonia.Sum(y))
	grads := must.Get(gorgonia.Grad(sum, x))(t)
	m := must.Get(machine.New(sum.Graph(), sum, grads[0]))(t)
	for range 2 {
		must.OK(t, m.RunAll())
	}
	must.EqualSlices(t, calls, []string{"new", "forward", "backward [true]", "forward", "backward [true]"}, "calls")
	must.EqualSlices(t, m.Value(grads[0]).Data().([]float32), []float32{4, 6}, "gradient")
}

func TestErrorsOfRuns(t *testing.T) {
	cause := errors.New("no more ink")
	for _, c := range []struct {
		power power
		want  []string
		is    error
	}{
		{power{exponent: 2, fail: cause}, []string{"power{2}", "(1, 2)", "no more ink"}, cause},
		{power{exponent: 2, panics: true}, []string{"power{2}", "(1, 2)", "panic: out of luck", "power.Forward"}, nil},
	} {
		g := gorgonia.NewGraph()
		y := gradcheck.Must(t)(graph.Apply(c.power.spec(), matrix(g, "x", 1, 2, 2, 3)))
		m := must.Get(machine.New(y.Graph(), y))(t)
		for name, err := range map[string]error{"vm": m.RunAll(), "TapeMachine": gorgonia.NewTapeMachine(g).RunAll()} {
			for _, w := range c.want {
				must.Error(t, err, w, name)
			}
			if name == "vm" && c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%q does not wrap its cause", err)
			}
		}
	}
}

func TestErrorsOfApply(t *testing.T) {
	g := gorgonia.NewGraph()
	m23 := matrix(g, "m23", 2, 3, 1, 2, 3, 4, 5, 6)
	m22 := matrix(g, "m22", 2, 2, 1, 2, 3, 4)
	v2 := gorgonia.NewVector(g, tensor.Float32, gorgonia.WithShape(2), gorgonia.WithName("v2"))
	double := gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(2, 3), gorgonia.WithName("double"))
	ints := gorgonia.NewMatrix(g, tensor.Int, gorgonia.WithShape(2, 3), gorgonia.WithName("ints"))
	elsewhere := matrix(gorgonia.NewGraph(), "m23", 2, 3, 1, 2, 3, 4, 5, 6)
	for name, c := range map[string]struct {
		err  func() (*gorgonia.Node, error)
		want []string
	}{
		"nil": {func() (*gorgonia.Node, error) { return distance(m23, nil) }, []string{"distance", "input 1 is nil"}},
		"no shape": {func() (*gorgonia.Node, error) {
			return graph.Apply(graph.Spec{Name: "empty"}, gorgonia.NewScalar(gorgonia.NewGraph(), tensor.Float32))
		},
			[]string{"empty: the Spec has no Shape or no New"}},
		"no inputs":   {func() (*gorgonia.Node, error) { return graph.WeightedSum(nil) }, []string{"weighted sum", "no inputs"}},
		"types":       {func() (*gorgonia.Node, error) { return distance(m23, double) }, []string{"distance", "float32", "float64", "double"}},
		"integers":    {func() (*gorgonia.Node, error) { return graph.Exp(ints) }, []string{"exp", "ints", "float32 or float64"}},
		"graphs":      {func() (*gorgonia.Node, error) { return distance(m23, elsewhere) }, []string{"distance", "one graph"}},
		"shapes":      {func() (*gorgonia.Node, error) { return distance(m23, m22) }, []string{"distance", "one shape", "(2, 3)", "(2, 2)"}},
		"weights":     {func() (*gorgonia.Node, error) { return graph.WeightedSum([]float64{1}, m23, m23) }, []string{"weighted sum", "1 inputs", "got 2"}},
		"sum":         {func() (*gorgonia.Node, error) { return graph.Add(m23, m22) }, []string{"weighted sum", "(2, 3)", "(2, 2)"}},
		"reshape":     {func() (*gorgonia.Node, error) { return graph.Reshape(m23, 4, 2) }, []string{"reshape", "8 elements", "(2, 3)"}},
		"reshape 0":   {func() (*gorgonia.Node, error) { return graph.Reshape(m23, 0, 6) }, []string{"reshape", "positive"}},
		"flatten":     {func() (*gorgonia.Node, error) { return graph.Flatten(v2) }, []string{"flatten", "(2)"}},
		"concat":      {func() (*gorgonia.Node, error) { return graph.ConcatColumns(m23, v2) }, []string{"concat", "input 1", "[rows, columns]", "(2)"}},
		"slice":       {func() (*gorgonia.Node, error) { return graph.SliceColumns(m23, 1, 4) }, []string{"slice", "0 and 3", "[1, 4)"}},
		"slice empty": {func() (*gorgonia.Node, error) { return graph.SliceColumns(m23, 2, 2) }, []string{"slice", "[2, 2)"}},
		"activation":  {func() (*gorgonia.Node, error) { return graph.Activate(m23, 200) }, []string{"activate", "known activation"}},
		"directions":  {func() (*gorgonia.Node, error) { return graph.RejectRows(m23, matrix(g, "m32", 3, 2, 1, 2, 3, 4, 5, 6)) }, []string{"reject rows", "directions of shape (2, 3)", "(3, 2)"}},
		"rows":        {func() (*gorgonia.Node, error) { return graph.NormaliseRows(v2) }, []string{"normalise rows", "[rows, columns]", "(2)"}},
	} {
		must.Fails(c.err())(t, c.want, name)
	}
}

// An operation records its device form in float32, with its gradient. The operation's name is in front of an error.
func TestRecord(t *testing.T) {
	run := func(*vulkan.Tape, []vulkan.Buffer, vulkan.Buffer) {}
	back := func(*vulkan.Tape, []vulkan.Buffer, vulkan.Buffer, vulkan.Buffer, []vulkan.Buffer) {}
	fault := errors.New("too large")
	for name, c := range map[string]struct {
		device *graph.Recording // nil: the operation has no device form
		diff   []bool
		err    error
		dtype  tensor.Dtype
		ok     bool
	}{
		"both":              {&graph.Recording{Forward: run, Backward: back}, nil, nil, tensor.Float32, true},
		"no gradient asked": {&graph.Recording{Forward: run}, []bool{false}, nil, tensor.Float32, true},
		"no gradient":       {&graph.Recording{Forward: run}, nil, nil, tensor.Float32, false},
		"no value":          {&graph.Recording{Backward: back}, nil, nil, tensor.Float32, false},
		"float64":           {&graph.Recording{Forward: run, Backward: back}, nil, fault, tensor.Float64, false},
		"no form":           {nil, nil, nil, tensor.Float32, false},
		"an error":          {&graph.Recording{Forward: run, Backward: back}, nil, fault, tensor.Float32, false},
	} {
		s := power{exponent: 2}.spec()
		s.Diff = c.diff
		if c.device != nil {
			s.Device = func([]tensor.Shape, tensor.Shape) (graph.Recording, error) { return *c.device, c.err }
		}
		x := gorgonia.NewMatrix(gorgonia.NewGraph(), c.dtype, gorgonia.WithShape(2, 3), gorgonia.WithName("x"))
		_, ok, err := gradcheck.Must(t)(graph.Apply(s, x)).Op().(graph.DeviceOp).Record()
		wrong := err != nil
		if c.err != nil && c.dtype == tensor.Float32 {
			wrong = !errors.Is(err, fault) || !strings.HasPrefix(err.Error(), "power")
		}
		if ok != c.ok || wrong {
			t.Errorf("%s: %v, error %v; want %v, %v", name, ok, err, c.ok, c.err)
		}
	}
}
