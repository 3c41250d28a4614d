package layer_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/layer"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// smallNet returns the parameters and the loss of an autoencoder with every kind of layer with weights.
func smallNet(t *testing.T, dt tensor.Dtype) (loss *gorgonia.Node, parameters gorgonia.Nodes) {
	t.Helper()
	g := gorgonia.NewGraph()
	ok := func(n *gorgonia.Node, err error) *gorgonia.Node {
		t.Helper()
		must.OK(t, err)
		return n
	}
	input := func(name string, size float64, shape ...int) *gorgonia.Node {
		v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
		r := rng.New(1, name)
		for i := range v.DataSize() {
			if x := size * r.NormFloat64(); dt == tensor.Float32 {
				v.Set(i, float32(x))
			} else {
				v.Set(i, x)
			}
		}
		return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	parameter := func(name string, fan int, shape ...int) *gorgonia.Node {
		n := input(name, 1/math.Sqrt(float64(fan)), shape...)
		parameters = append(parameters, n)
		return n
	}
	const batch = 6
	x := input("x", 1, batch, 16, 16, 3)
	h := ok(layer.Conv(x, parameter("w1", 48, 4, 4, 3, 16), parameter("b1", 1, 16), layer.ConvOptions{Stride: 2, Activation: graph.Softplus}))
	h = ok(layer.Conv(h, parameter("w2", 256, 4, 4, 16, 32), parameter("b2", 1, 32), layer.ConvOptions{Stride: 2, Activation: graph.Softplus}))
	h = ok(layer.Dense(ok(graph.Reshape(h, batch, 512)), parameter("w3", 512, 512, 40), parameter("b3", 1, 40), graph.Tanh))
	h = ok(layer.Dense(h, parameter("w4", 40, 40, 512), parameter("b4", 1, 512), graph.Softplus))
	h = ok(layer.ConvTranspose(ok(graph.Reshape(h, batch, 4, 4, 32)), parameter("w5", 128, 4, 4, 16, 32),
		parameter("b5", 1, 16), layer.ConvOptions{Stride: 2, Activation: graph.Softplus}))
	h = ok(layer.ConvTranspose(h, parameter("w6", 64, 4, 4, 3, 16), parameter("b6", 1, 3), layer.ConvOptions{Stride: 2}))
	return ok(gorgonia.Mean(ok(gorgonia.Square(ok(gorgonia.Sub(h, x)))))), parameters
}

// TestMixed compares loss and gradients of a network in mixed and single precision, and checks the switch back to
// single precision.
func TestMixed(t *testing.T) {
	loss, parameters := smallNet(t, tensor.Float32)
	gradients := must.Get(gorgonia.Grad(loss, parameters...))(t)
	m := must.Get(machine.New(loss.Graph(), append(gradients, loss)...))(t)
	run := func(mixed bool) [][]float32 {
		m.SetMixed(mixed)
		must.OK(t, m.RunAll())
		values := [][]float32{{float32(*m.Value(loss).(*gorgonia.F32))}}
		for _, g := range gradients {
			values = append(values, slices.Clone(m.Value(g).Data().([]float32)))
		}
		return values
	}
	single, mixed, again := run(false), run(true), run(false)
	for i, want := range single {
		name := "loss"
		if i > 0 {
			name = parameters[i-1].Name()
		}
		if !slices.Equal(again[i], want) {
			t.Errorf("%s: single precision after mixed has other bits", name)
		}
		difference, size := 0.0, 0.0
		for j, x := range want {
			difference += math.Pow(float64(mixed[i][j]-x), 2)
			size += float64(x) * float64(x)
		}
		// Rounding changes a factor by a relative error of at most 2^-9, on average 2^-10.8. A gradient is the result
		// of up to eleven products.
		relative := math.Sqrt(difference / size)
		t.Logf("%s: %.2g", name, relative)
		if !(relative < 11*0x1p-9) || relative == 0 {
			t.Errorf("%s differs by %v of its size", name, relative)
		}
	}
}

// TestMixedDouble checks that mixed precision does not change double precision.
func TestMixedDouble(t *testing.T) {
	loss, _ := smallNet(t, tensor.Float64)
	m := must.Get(machine.New(loss.Graph(), loss))(t)
	var values [2]float64
	for i := range values {
		m.SetMixed(i == 1)
		must.OK(t, m.RunAll())
		values[i] = float64(*m.Value(loss).(*gorgonia.F64))
	}
	must.Equal(t, values[0], values[1], "and")
}
