package machine_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// classifier is a network made from Gorgonia's layers and loss.
func (b *builder) classifier(dt tensor.Dtype) training {
	x, y := b.input(dt, "x", 4, 1, 8, 8), b.input(dt, "y", 4, 3)
	w1, w2 := b.input(dt, "w1", 5, 1, 3, 3), b.input(dt, "w2", 80, 3)
	bias := b.input(dt, "bias", 1, 3)
	h := b.ok(gorgonia.Rectify(b.ok(gorgonia.Conv2d(x, w1, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))))
	h = b.ok(gorgonia.MaxPool2D(h, tensor.Shape{2, 2}, []int{0, 0}, []int{2, 2}))
	h = b.ok(gorgonia.Reshape(h, tensor.Shape{4, 80}))
	p := b.ok(gorgonia.SoftMax(b.ok(gorgonia.BroadcastAdd(b.ok(gorgonia.Mul(h, w2)), bias, nil, []byte{0}))))
	loss := b.ok(gorgonia.Neg(b.ok(gorgonia.Mean(b.ok(gorgonia.HadamardProd(y, b.ok(gorgonia.Log(p))))))))
	return b.training(loss, gorgonia.Nodes{w1, w2, bias})
}

// Values, gradients and reads of a network with Gorgonia's layers match the TapeMachine, run after run, for all nodes
// and for the needed nodes alone.
func TestStockLayers(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		var want [][]float64
		for _, name := range []string{"tape", "all", "outputs"} {
			b := newBuilder(t)
			x := b.classifier(dt)
			var into gorgonia.Value
			gorgonia.Read(x.loss, &into)
			var m gorgonia.VM
			switch name {
			case "tape":
				m = gorgonia.NewTapeMachine(b.g)
			case "all":
				all := must.Get(machine.New(b.g))(t)
				m = all
			default:
				m = b.machine(x.grads...)
			}
			for i := range 3 {
				input := b.g.ByName("x")[0]
				input.Value().(*tensor.Dense).Set(i, dtOne(dt, float64(i)))
				must.OK(t, m.RunAll())
				got := [][]float64{slices.Clone(wide(into)), slices.Clone(wide(x.loss.Value()))}
				for _, w := range x.weights {
					g := must.Get(w.Grad())(t)
					got = append(got, slices.Clone(wide(g)))
				}
				if name == "tape" {
					want = append(want, slices.Concat(got...))
				} else if !slices.Equal(slices.Concat(got...), want[i]) {
					t.Errorf("%v, %s, run %d: reads, loss and gradients are not the TapeMachine's", dt, name, i)
				}
				m.Reset()
			}
		}
	}
}

// A read stores a copy. The copy does not change when the graph runs again, until the next read.
func TestRead(t *testing.T) {
	b := newBuilder(t)
	x := b.hold("x", tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 2})))
	y := b.ok(graph.Scale(3, x))
	var into gorgonia.Value
	gorgonia.Read(y, &into)
	other := b.ok(graph.Scale(5, x))
	m := b.machine(other)
	run(t, m)
	if got := wide(into); !slices.Equal(got, []float64{3, 6}) || &got[0] == &wide(y.Value())[0] {
		t.Fatalf("read %v, want a copy of 3, 6", got)
	}
	x.Value().(*tensor.Dense).Set(0, 7.)
	held := into
	run(t, m)
	if got := wide(into); held != into || !slices.Equal(got, []float64{21, 6}) || !slices.Equal(wide(other.Value()), []float64{35, 10}) {
		t.Errorf("read %v, other %v; want 21, 6 and 35, 10", got, other.Value())
	}
}

// If a graph has two machines, its nodes have the values of the last run of either machine.
func TestTwoMachinesOfOneGraph(t *testing.T) {
	b := newBuilder(t)
	x := b.hold("x", tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 2})))
	y := b.ok(gorgonia.Add(x, x))
	m, n := b.machine(y), b.machine(y)
	for i, m := range []*machine.Machine{m, n, m, n} {
		x.Value().(*tensor.Dense).Set(0, float64(i))
		run(t, m)
		if got := wide(y.Value()); got[0] != 2*float64(i) || !gorgonia.ValueEq(y.Value(), m.Value(y)) {
			t.Errorf("run %d: %v", i, got)
		}
	}
}

func TestSetTraining(t *testing.T) {
	b := newBuilder(t)
	x := b.hold("x", tensor.New(tensor.WithShape(1, 100), tensor.WithBacking(tensor.Range(tensor.Float64, 1, 101))))
	y := b.ok(gorgonia.Dropout(x, 0.5))
	m := b.machine(y)
	run(t, m)
	if slices.Equal(wide(y.Value()), wide(x.Value())) {
		t.Error("nothing is dropped in training")
	}
	m.SetTraining(false)
	run(t, m)
	if !slices.Equal(wide(y.Value()), wide(x.Value())) {
		t.Error("something is dropped out of training")
	}
}

// Without outputs, a machine skips unused inputs and statements.
func TestNewAll(t *testing.T) {
	b := newBuilder(t)
	x := b.input(tensor.Float64, "x", 1, 2)
	unused := gorgonia.NewScalar(b.g, tensor.Float64, gorgonia.WithName("unused"))
	e, s := b.ok(gorgonia.Exp(x)), b.ok(gorgonia.Sum(x))
	gorgonia.Set(x, e)
	m := must.Get(machine.New(b.g))(t)
	run(t, m)
	v := wide(x.Value())
	if got := wide(e.Value()); !(math.Abs(got[1]-math.Exp(v[1])) <= 1e-12) || wide(s.Value())[0] != v[0]+v[1] || unused.Value() != nil {
		t.Errorf("exp %v, sum %v of %v", got, s.Value(), v)
	}
	if err := m.Close(); err != nil || m.RunAll() == nil {
		t.Error("a closed machine runs")
	}
	for want, g := range map[string]*gorgonia.ExprGraph{"is nil": nil, "nothing to compute": gorgonia.NewGraph()} {
		must.ErrorOf(machine.New(g))(t, want)
	}
}
