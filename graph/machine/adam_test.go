package machine_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
)

var _ gorgonia.Solver = (*machine.Adam)(nil)

// training is a graph with a scalar loss and the nodes to train.
type training struct {
	loss    *gorgonia.Node
	weights gorgonia.Nodes
	grads   gorgonia.Nodes
}

func (b *builder) training(loss *gorgonia.Node, weights gorgonia.Nodes) training {
	b.t.Helper()
	grads, err := gorgonia.Grad(loss, weights...)
	must.OK(b.t, err)
	return training{loss, weights, grads}
}

// steps trains with a machine and a solver.
func (x training) steps(t testing.TB, n int, m gorgonia.VM, s gorgonia.Solver) {
	t.Helper()
	model := gorgonia.NodesToValueGrads(x.weights)
	for range n {
		must.OK(t, m.RunAll())
		must.OK(t, s.Step(model))
		m.Reset()
	}
}

// scalarFit returns a loss of a matrix and a scalar.
func (b *builder) scalarFit(dt tensor.Dtype) training {
	x, w := b.input(dt, "x", 5, 3), b.input(dt, "w", 3, 2)
	s := gorgonia.NewScalar(b.g, dt, gorgonia.WithName("s"), gorgonia.WithValue(dtOne(dt, 0.7)))
	y := b.ok(gorgonia.HadamardProd(b.ok(gorgonia.Tanh(b.ok(gorgonia.Mul(x, w)))), s))
	return b.training(b.ok(gorgonia.Sum(b.ok(gorgonia.Square(b.ok(gorgonia.Sub(y, b.input(dt, "y", 5, 2))))))), gorgonia.Nodes{w, s})
}

// All combinations of machine and Adam, from this package and from Gorgonia, train to the same values.
func TestAdamIsGorgonias(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		var want [][]float64
		for i, pair := range []struct {
			name         string
			ours, solver bool
		}{{"stock", false, false}, {"our machine", true, false}, {"our Adam", false, true}, {"both ours", true, true}} {
			b := newBuilder(t)
			x := b.scalarFit(dt)
			var m gorgonia.VM = gorgonia.NewTapeMachine(b.g, gorgonia.BindDualValues(x.weights...))
			if pair.ours {
				m = b.machine(append(slices.Clone(x.grads), x.loss)...)
			}
			var s gorgonia.Solver = gorgonia.NewAdamSolver(gorgonia.WithLearnRate(0.01))
			if pair.solver {
				a := machine.NewAdam()
				a.LearningRate = 0.01
				s = a
			}
			x.steps(t, 60, m, s)
			var got [][]float64
			for _, w := range x.weights {
				got = append(got, wide(w.Value()))
			}
			if i == 0 {
				want = got
				continue
			}
			for k := range want {
				for j := range want[k] {
					if limit := map[tensor.Dtype]float64{tensor.Float32: 2e-5, tensor.Float64: 1e-12}[dt]; !(math.Abs(got[k][j]-want[k][j]) <= limit) {
						t.Errorf("%v, %s: element %d of value %d is %v, want %v", dt, pair.name, j, k, got[k][j], want[k][j])
					}
				}
			}
		}
	}
}

// wide returns the elements of a value in float64.
func wide(v gorgonia.Value) []float64 {
	switch x := v.Data().(type) {
	case float32:
		return []float64{float64(x)}
	case float64:
		return []float64{x}
	case []float32:
		return numeric.Convert[float64](x)
	default:
		return x.([]float64)
	}
}

// After a TapeMachine has bound gradients to inputs, our machine updates these gradients.
func TestDualValues(t *testing.T) {
	b := newBuilder(t)
	x := b.scalarFit(tensor.Float64)
	tape := gorgonia.NewTapeMachine(b.g, gorgonia.BindDualValues(x.weights...))
	must.OK(t, tape.RunAll())
	x.weights[0].Value().(*tensor.Dense).Set(0, 3.)
	run(t, b.machine(x.grads...))
	for i, w := range x.weights {
		g, err := w.Grad()
		if err != nil || !slices.Equal(wide(g), wide(x.grads[i].Value())) {
			t.Errorf("gradient of %s: %v, %v, want %v", w.Name(), g, err, x.grads[i].Value())
		}
	}
}

// Clipping and decay match the formula.
func TestAdamClipAndDecay(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		b := newBuilder(t)
		w := b.input(dt, "w", 1, 4)
		x := b.training(b.ok(gorgonia.Sum(b.ok(gorgonia.Square(w)))), gorgonia.Nodes{w})
		want := wide(w.Value())
		want = slices.Clone(want)
		a := machine.NewAdam()
		a.LearningRate, a.Decay, a.Clip, a.Epsilon = 0.1, 0.5, 0.25, 0.01
		m, v := make([]float64, 4), make([]float64, 4)
		for step := 1.0; step <= 3; step++ {
			norm := 0.0
			for _, e := range want {
				norm += 4 * e * e
			}
			norm = math.Sqrt(norm)
			for i, e := range want {
				g := 2 * e * 0.25 / norm
				m[i], v[i] = 0.9*m[i]+0.1*g, 0.999*v[i]+0.001*g*g
				want[i] = e*(1-0.05) - 0.1*m[i]/(1-math.Pow(0.9, step))/(math.Sqrt(v[i]/(1-math.Pow(0.999, step)))+0.01)
			}
		}
		x.steps(t, 3, b.machine(x.grads...), a)
		for i, got := range wide(w.Value()) {
			if !(math.Abs(got-want[i]) <= 1e-6) {
				t.Errorf("%v: element %d is %v, want %v", dt, i, got, want[i])
			}
		}
		must.Equal(t, a.Steps(), 3, "steps")
	}
}

// A value may be bound to another tensor between steps.
func TestAdamMovedValue(t *testing.T) {
	train := func(move bool) []float64 {
		b := newBuilder(t)
		x := b.scalarFit(tensor.Float32)
		a, m := machine.NewAdam(), b.machine(x.grads...)
		x.steps(t, 3, m, a)
		if move {
			must.OK(t, gorgonia.Let(x.weights[0], x.weights[0].Value().(*tensor.Dense).Clone().(*tensor.Dense)))
		}
		x.steps(t, 3, m, a)
		return wide(x.weights[0].Value())
	}
	if stay, moved := train(false), train(true); !slices.Equal(stay, moved) {
		t.Errorf("%v, want %v", moved, stay)
	}
}

func TestAdamErrors(t *testing.T) {
	b := newBuilder(t)
	x := b.scalarFit(tensor.Float32)
	model := gorgonia.NodesToValueGrads(x.weights)
	free := b.input(tensor.Float32, "free", 2, 2)
	whole := gorgonia.NewMatrix(b.g, tensor.Int, gorgonia.WithShape(1, 1), gorgonia.WithName("whole"))
	var none *gorgonia.Node
	used := machine.NewAdam()
	run(t, b.machine(x.grads...))
	must.OK(t, used.Step(model))
	for want, err := range map[string]error{
		"value 0 (free): No Gradient node":       machine.NewAdam().Step([]gorgonia.ValueGrad{free}),
		"value 0 (whole): it has no value":       machine.NewAdam().Step([]gorgonia.ValueGrad{whole}),
		"value 0: it is nil":                     machine.NewAdam().Step([]gorgonia.ValueGrad{none}),
		"1 values; want the 2 of the first step": used.Step(model[:1]),
		"want the 6 of the first step":           used.Step([]gorgonia.ValueGrad{model[1], model[0]}),
		"adam: LearningRate is NaN; want":        (&machine.Adam{LearningRate: math.NaN()}).Step(model),
		"adam: Beta2 is 1; want":                 (&machine.Adam{Beta2: 1}).Step(model),
		"value 0 (w): it has no gradient; want the node that gorgonia.Grad returns": func() error {
			b := newBuilder(t)
			return machine.NewAdam().Step(gorgonia.NodesToValueGrads(b.scalarFit(tensor.Float32).weights))
		}(),
	} {
		must.Error(t, err, want)
	}
}

// network builds the training of a convolutional encoder with two losses of codes, on a batch of squares.
func network(t testing.TB, batch int) (*builder, training) {
	g := nn.NewGraph(nn.NewParams(3))
	b := &builder{t, g.ExprGraph}
	input := func(name string, shape ...int) *gorgonia.Node { return b.ok(g.Input(name, shape...)) }
	images, y := input("images", batch, 32, 32, 1), input("y", batch, 3)
	r := rng.New(5, "levels")
	for row := range batch {
		at := nn.Data(images)[row*1024 : (row+1)*1024]
		var place [3]int
		for k := range place {
			place[k] = r.IntN(16)
			nn.Data(y)[3*row+k] = float32(place[k]) / 15
		}
		for i := range 64 {
			at[(place[0]+i/8)*32+place[1]+i%8] = float32(1+place[2]) / 16
		}
	}
	h := images
	for i := range 4 {
		h = b.ok(nn.Conv(g, h, fmt.Sprintf("conv%d", i+1), nn.ConvOptions{Out: 32, Kernel: 4, Stride: 2, Activation: graph.ReLU}))
	}
	h = b.ok(nn.Dense(g, b.ok(graph.Flatten(h)), "dense", 256, graph.ReLU))
	z := b.ok(nn.Dense(g, h, "code", 3, graph.Linear))
	loss := b.ok(gorgonia.Add(b.ok(losses.Variance(z, y)), b.ok(losses.Contraction(losses.ContractionSettings{}, z, y, nil))))
	_, weights := g.Learnables()
	return b, b.training(loss, weights)
}

// A network trained by our machine and Adam gets the same parameters as with Gorgonia's.
func TestTrainingIsGorgonias(t *testing.T) {
	var want [][]float64
	for _, ours := range []bool{false, true} {
		b, x := network(t, 8)
		vm, solver := x.machines(b, ours)
		x.steps(t, 5, vm, solver)
		for i, w := range x.weights {
			if !ours {
				want = append(want, slices.Clone(wide(w.Value())))
				continue
			}
			for j, v := range wide(w.Value()) {
				if !(math.Abs(v-want[i][j]) <= 2e-5) {
					t.Fatalf("element %d of %s is %v, want %v", j, w.Name(), v, want[i][j])
				}
			}
		}
	}
}

// trainEpsilon prevents Adam from amplifying rounding errors of near-zero gradients.
const trainEpsilon = 1e-4

// machines returns the machine and the solver for a graph: from this package or from Gorgonia.
func (x training) machines(b *builder, ours bool) (gorgonia.VM, gorgonia.Solver) {
	if ours {
		a := machine.NewAdam()
		a.Epsilon = trainEpsilon
		return b.machine(append(slices.Clone(x.grads), x.loss)...), a
	}
	return gorgonia.NewTapeMachine(b.g, gorgonia.BindDualValues(x.weights...)), gorgonia.NewAdamSolver(gorgonia.WithEps(trainEpsilon))
}

// stockNetwork is the same network as network, with Gorgonia's layers and the same losses.
func stockNetwork(t testing.TB, batch int) (*builder, training) {
	b := newBuilder(t)
	x, y := b.input(tensor.Float32, "images", batch, 1, 32, 32), b.input(tensor.Float32, "y", batch, 3)
	for i, v := range nn.Data(y) {
		nn.Data(y)[i] = float32(math.Round(8 * math.Abs(float64(v))))
	}
	var weights gorgonia.Nodes
	weight := func(shape ...int) *gorgonia.Node {
		w := b.input(tensor.Float32, fmt.Sprintf("w%d", len(weights)), shape...)
		for i := range nn.Data(w) {
			nn.Data(w)[i] /= 20
		}
		weights = append(weights, w)
		return w
	}
	h := x
	for _, in := range []int{1, 32, 32, 32} {
		h = b.ok(gorgonia.Conv2d(h, weight(32, in, 4, 4), tensor.Shape{4, 4}, []int{1, 1}, []int{2, 2}, []int{1, 1}))
		h = b.ok(gorgonia.Rectify(b.ok(gorgonia.BroadcastAdd(h, weight(1, 32, 1, 1), nil, []byte{0, 2, 3}))))
	}
	h = b.ok(gorgonia.Reshape(h, tensor.Shape{batch, 128}))
	h = b.ok(gorgonia.Rectify(b.ok(gorgonia.BroadcastAdd(b.ok(gorgonia.Mul(h, weight(128, 256))), weight(1, 256), nil, []byte{0}))))
	z := b.ok(gorgonia.BroadcastAdd(b.ok(gorgonia.Mul(h, weight(256, 3))), weight(1, 3), nil, []byte{0}))
	loss := b.ok(gorgonia.Add(b.ok(losses.Variance(z, y)), b.ok(losses.Contraction(losses.ContractionSettings{}, z, y, nil))))
	return b, b.training(loss, weights)
}

// BenchmarkTraining measures a training step of an encoder with 83,000 parameters, with losses.Variance and
// losses.Contraction, on 64 images of 32 x 32. It runs one graph on our machine and on Gorgonia's, and the same
// network with Gorgonia's layers on both.
func BenchmarkTraining(b *testing.B) {
	for _, c := range []struct {
		name  string
		build func(testing.TB, int) (*builder, training)
		ours  bool
	}{{"machine", network, true}, {"TapeMachine", network, false}, {"stock-layers/machine", stockNetwork, true},
		{"stock-layers/TapeMachine", stockNetwork, false}} {
		b.Run(c.name, func(b *testing.B) {
			build, x := c.build(b, 64)
			vm, solver := x.machines(build, c.ours)
			model := gorgonia.NodesToValueGrads(x.weights)
			b.ReportAllocs()
			for b.Loop() {
				must.OK(b, vm.RunAll())
				must.OK(b, solver.Step(model))
				vm.Reset()
			}
		})
	}
}
