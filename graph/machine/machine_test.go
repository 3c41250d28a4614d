package machine_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

var _ gorgonia.VM = (*machine.Machine)(nil)

// builder makes graphs. An error ends the test.
type builder struct {
	t testing.TB
	g *gorgonia.ExprGraph
}

func newBuilder(t testing.TB) *builder { return &builder{t, gorgonia.NewGraph()} }

func (b *builder) ok(n *gorgonia.Node, err error) *gorgonia.Node {
	b.t.Helper()
	must.OK(b.t, err)
	return n
}

// input adds an input with normal values, seeded by its name.
func (b *builder) input(dt tensor.Dtype, name string, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	r := rng.New(7, name)
	for i := range v.DataSize() {
		if x := r.NormFloat64(); dt == tensor.Float32 {
			v.Set(i, float32(x))
		} else {
			v.Set(i, x)
		}
	}
	return b.hold(name, v)
}

func (b *builder) hold(name string, v *tensor.Dense) *gorgonia.Node {
	s := v.Shape()
	return gorgonia.NewTensor(b.g, v.Dtype(), s.Dims(), gorgonia.WithShape(s...), gorgonia.WithName(name), gorgonia.WithValue(v))
}

func (b *builder) machine(outputs ...*gorgonia.Node) *machine.Machine {
	b.t.Helper()
	m, err := machine.New(outputs[0].Graph(), outputs...)
	must.OK(b.t, err)
	return m
}

func run(t testing.TB, m *machine.Machine) {
	t.Helper()
	must.OK(t, m.RunAll())
}

// mlp is a network made from Gorgonia's operations, with a squared error.
func (b *builder) mlp(dt tensor.Dtype) (loss *gorgonia.Node, weights gorgonia.Nodes) {
	x, y := b.input(dt, "x", 5, 4), b.input(dt, "y", 5, 2)
	weights = gorgonia.Nodes{b.input(dt, "w1", 4, 3), b.input(dt, "b1", 5, 3), b.input(dt, "w2", 3, 2)}
	h := b.ok(gorgonia.Add(b.ok(gorgonia.Mul(x, weights[0])), weights[1]))
	h = b.ok(gorgonia.Add(b.ok(gorgonia.Tanh(h)), b.ok(gorgonia.Sigmoid(h))))
	h = b.ok(gorgonia.HadamardProd(h, b.ok(gorgonia.Sub(h, weights[1]))))
	d := b.ok(gorgonia.Sub(b.ok(gorgonia.Mul(h, weights[2])), y))
	return b.ok(gorgonia.Sum(b.ok(gorgonia.Square(d)))), weights
}

func TestEqualsTapeMachine(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := newBuilder(t)
		loss, weights := b.mlp(dt)
		grads := must.Get(gorgonia.Grad(loss, weights...))(t)
		tape := newBuilder(t)
		tapeLoss, tapeWeights := tape.mlp(dt)
		tapeGrads := must.Get(gorgonia.Grad(tapeLoss, tapeWeights...))(t)
		want := make([]gorgonia.Value, 4)
		for i, n := range append(tapeGrads, tapeLoss) {
			gorgonia.Read(n, &want[i])
		}
		must.OK(t, gorgonia.NewTapeMachine(tape.g).RunAll())
		m := b.machine(append(grads, loss)...)
		for i := range 3 {
			run(t, m)
			m.Reset()
			for k, n := range append(grads, loss) {
				if !gorgonia.ValueEq(m.Value(n), want[k]) {
					t.Errorf("%v, run %d, output %d: %v, want %v", dt, i, k, m.Value(n), want[k])
				}
			}
		}
	}
}

// TestReshapeAliasing runs the graph t = -x; o = t + reshape(reshape(t) * y). Gorgonia's TapeMachine computes wrong
// values for it.
func TestReshapeAliasing(t *testing.T) {
	build := func(b *builder) *gorgonia.Node {
		x, y := b.input(tensor.Float64, "x", 2, 3), b.input(tensor.Float64, "y", 3, 2)
		minus := b.ok(gorgonia.Neg(x))
		q := b.ok(gorgonia.HadamardProd(b.ok(gorgonia.Reshape(minus, tensor.Shape{3, 2})), y))
		return b.ok(gorgonia.Add(minus, b.ok(gorgonia.Reshape(q, tensor.Shape{2, 3}))))
	}
	b := newBuilder(t)
	out := build(b)
	x := b.g.ByName("x")[0].Value().Data().([]float64)
	y := b.g.ByName("y")[0].Value().Data().([]float64)
	want := make([]float64, 6)
	for i := range want {
		want[i] = -x[i] - float64(x[i]*y[i]) // without fused multiplication, as in the graph
	}
	m := b.machine(out)
	for range 3 {
		run(t, m)
		if got := m.Value(out).Data().([]float64); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
	tape := newBuilder(t)
	var got gorgonia.Value
	gorgonia.Read(build(tape), &got)
	must.OK(t, gorgonia.NewTapeMachine(tape.g).RunAll())
	if slices.Equal(got.Data().([]float64), want) {
		t.Error("TapeMachine is right here: this test no longer shows what it is for")
	}
}

func TestPruning(t *testing.T) {
	b := newBuilder(t)
	x := b.input(tensor.Float32, "x", 2, 2)
	missing := gorgonia.NewMatrix(b.g, tensor.Float32, gorgonia.WithShape(2, 2), gorgonia.WithName("missing"))
	out := b.ok(graph.Exp(x))
	other := b.ok(graph.Exp(missing))
	m := b.machine(out)
	run(t, m)
	if m.Value(other) != nil || m.Value(missing) != nil {
		t.Error("a node that no output needs has a value")
	}
	if m.Value(out) == nil || m.Value(x) != x.Value() {
		t.Error("an output or an input has no value")
	}
	must.Error(t, b.machine(out, other).RunAll(), `input "missing" of shape (2, 2): the input has no value; want one`)
}

// The gradients of a layer's images cost as much as its result. The machine does not compute them if nothing needs
// them.
func TestUnwantedGradients(t *testing.T) {
	b := newBuilder(t)
	var wants [][]bool
	x, w := b.input(tensor.Float32, "x", 2, 2), b.input(tensor.Float32, "w", 2, 2)
	spec := graph.Spec{
		Name:  "product",
		Shape: func(in []tensor.Shape) (tensor.Shape, error) { return in[0], nil },
		New:   func([]tensor.Shape, tensor.Shape, tensor.Dtype) (graph.Func, error) { return product{&wants}, nil },
	}
	loss := b.ok(gorgonia.Sum(b.ok(graph.Apply(spec, x, w))))
	grads := must.Get(gorgonia.Grad(loss, x, w))(t)
	for _, c := range []struct {
		outputs gorgonia.Nodes
		want    []bool
	}{
		{gorgonia.Nodes{loss, grads[1]}, []bool{false, true}},
		{gorgonia.Nodes{loss, grads[0]}, []bool{true, false}},
		{gorgonia.Nodes{grads[1], grads[0]}, []bool{true, true}},
		{gorgonia.Nodes{loss}, nil},
	} {
		wants = nil
		m := b.machine(c.outputs...)
		m.CheckFinite(true)
		run(t, m)
		if c.want == nil && len(wants) != 0 || c.want != nil && (len(wants) != 1 || !slices.Equal(wants[0], c.want)) {
			t.Errorf("asked for the gradients %v, want %v", wants, c.want)
		}
	}
}

type product struct{ wants *[][]bool }

func (p product) Forward(in []graph.Array, out graph.Array) error {
	for i := range out.F32 {
		out.F32[i] = in[0].F32[i] * in[1].F32[i]
	}
	return nil
}

func (p product) Backward(in []graph.Array, _, dout graph.Array, din []graph.Array, want []bool) error {
	*p.wants = append(*p.wants, slices.Clone(want))
	for k := range din {
		if !want[k] && din[k].F32 != nil {
			return errors.New("a buffer for a gradient that is not wanted")
		}
		for i := range din[k].F32 {
			din[k].F32[i] = dout.F32[i] * in[1-k].F32[i]
		}
	}
	return nil
}

func TestPanicsAndErrorsAreNamed(t *testing.T) {
	b := newBuilder(t)
	x := b.input(tensor.Float32, "x", 2, 3)
	n, err := gorgonia.ApplyOp(broken{}, x)
	must.OK(t, err)
	err = b.machine(n).RunAll()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range []string{"broken operation", "(2, 3)", "panic: index out of range"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestNewErrors(t *testing.T) {
	b, c := newBuilder(t), newBuilder(t)
	x, y := b.input(tensor.Float32, "x", 2, 3), c.input(tensor.Float32, "y", 2, 3)
	for name, outputs := range map[string][]*gorgonia.Node{"is nil": {x, nil}, "another graph": {x, y},
		"is a statement": {gorgonia.Read(x, new(gorgonia.Value))}} {
		must.ErrorOf(machine.New(x.Graph(), outputs...))(t, name)
	}
}

func TestCheckFinite(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := newBuilder(t)
		x := b.input(dt, "x", 1, 3)
		y := b.ok(graph.Scale(1000, x))
		e := b.ok(graph.Exp(y))
		out := b.ok(graph.NormaliseRows(e))
		m := b.machine(out)
		x.Value().(*tensor.Dense).Memset(dtOne(dt, 0.001))
		m.CheckFinite(true)
		run(t, m)
		x.Value().(*tensor.Dense).Set(2, dtOne(dt, 1))
		err := m.RunAll()
		var bad *machine.NotFinite
		if !errors.As(err, &bad) || bad.Op != "exp" || bad.Index != 2 || bad.Node != e.Name() {
			t.Errorf("%v: error %v, want element 2 of exp", dt, err)
		}
		x.Value().(*tensor.Dense).Set(1, dtOne(dt, math.Inf(-1)))
		if err := m.RunAll(); !errors.As(err, &bad) || bad.Op != "input" || bad.Index != 1 || bad.Node != "x" {
			t.Errorf("%v: error %v, want element 1 of input x", dt, err)
		}
		m.CheckFinite(false)
		run(t, m)
	}
}

func dtOne(dt tensor.Dtype, x float64) any {
	if dt == tensor.Float32 {
		return float32(x)
	}
	return x
}

// TestNoGrowth makes 10,000 runs of a graph with shared gradients, sums of
// gradients, and operations of Gorgonia.
func TestNoGrowth(t *testing.T) {
	long.NotShort(t)
	b := newBuilder(t)
	x, w, bias := b.input(tensor.Float32, "x", 4, 3), b.input(tensor.Float32, "w", 3, 2), b.input(tensor.Float32, "b", 2)
	h := b.ok(layer.Dense(x, w, bias, graph.Tanh))
	k := b.ok(layer.Dense(x, w, bias, graph.Sigmoid))
	loss := b.ok(gorgonia.Add(b.ok(losses.LSBD(h, k)), b.ok(losses.KLGaussian(h, k))))
	grads, err := gorgonia.Grad(loss, w, bias)
	must.OK(t, err)
	m := b.machine(append(grads, loss)...)
	run(t, m)
	if n := testing.AllocsPerRun(100, func() { run(t, m) }); n >= 1 {
		t.Errorf("%v allocations in a run, want 0", n)
	}
	b = newBuilder(t)
	stock, weights := b.mlp(tensor.Float32)
	grads, err = gorgonia.Grad(stock, weights...)
	must.OK(t, err)
	m = b.machine(append(grads, stock)...)
	heap := func() uint64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	run(t, m)
	before := heap()
	for range 10000 {
		run(t, m)
	}
	if after := heap(); after > before+64<<10 {
		t.Errorf("the heap grew from %d to %d bytes in 10,000 runs", before, after)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// The machine reuses the buffers of a value's operands only after it has computed the value, even if one node feeds
// many.
func TestNeverInPlace(t *testing.T) {
	b := newBuilder(t)
	x := b.input(tensor.Float64, "x", 2, 2)
	before := slices.Clone(x.Value().Data().([]float64))
	a := b.ok(gorgonia.Add(x, x))
	c := b.ok(gorgonia.Sub(a, x))
	d := b.ok(gorgonia.HadamardProd(a, c))
	m := b.machine(a, c, d)
	for range 3 {
		run(t, m)
		for i, v := range before {
			for k, want := range map[*gorgonia.Node]float64{x: v, a: 2 * v, c: v, d: 2 * v * v} {
				if got := m.Value(k).Data().([]float64)[i]; !(math.Abs(got-want) <= 1e-15) {
					t.Fatalf("element %d of %v is %v, want %v", i, k, got, want)
				}
			}
		}
	}
}

func BenchmarkRun(b *testing.B) {
	build := newBuilder(b)
	loss, weights := build.mlp(tensor.Float32)
	grads := must.Get(gorgonia.Grad(loss, weights...))(b)
	m := build.machine(append(grads, loss)...)
	b.ReportAllocs()
	for b.Loop() {
		run(b, m)
	}
}
