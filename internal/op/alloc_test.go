package op_test

import (
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/op"
	"github.com/unravel-ml/unravel/internal/rng"
	"github.com/unravel-ml/unravel/internal/vm"
)

// TestAllocations runs a graph with every operation, forward and backward.
func TestAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		loss, wrt := everything(t, dt)
		allocationFree(t, dt, loss, wrt...)
	}
}

// allocationFree fails the test if running a loss with its gradients allocates.
func allocationFree(t *testing.T, dt tensor.Dtype, loss *gorgonia.Node, wrt ...*gorgonia.Node) {
	t.Helper()
	grads, err := gorgonia.Grad(loss, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.New(append(grads, loss)...)
	if err != nil {
		t.Fatal(err)
	}
	run := func() {
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(20, run); n >= 1 {
		t.Errorf("%v: %v allocations in a run, want 0", dt, n)
	}
}

// everything builds a small LSBD-VAE and adds the operations that it lacks.
func everything(t *testing.T, dt tensor.Dtype) (loss *gorgonia.Node, wrt gorgonia.Nodes) {
	t.Helper()
	g, ok := gorgonia.NewGraph(), must(t)
	stream := rng.New(1, "everything")
	input := func(name string, shape ...int) *gorgonia.Node {
		v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
		for i := range v.DataSize() {
			if x := stream.Float64(); dt == tensor.Float32 {
				v.Set(i, float32(x))
			} else {
				v.Set(i, x)
			}
		}
		return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	weight := func(name string, shape ...int) *gorgonia.Node {
		wrt = append(wrt, input(name, shape...))
		return wrt[len(wrt)-1]
	}
	const n = 4
	x := input("images", n, 8, 8, 3)
	h := ok(op.Conv(x, weight("c", 4, 4, 3, 8), weight("cb", 8), op.ConvOptions{Stride: 2, Activation: op.ReLU}))
	h = ok(op.Activate(ok(op.Flatten(h)), op.LeakyReLU))
	circle := ok(op.NormaliseRows(ok(op.Dense(h, weight("l", 128, 2), weight("lb", 2), op.Tanh))))
	logT := ok(op.Interval(ok(op.Dense(h, weight("t", 128, 1), weight("tb", 1), op.Linear)), -10, -5))
	z := ok(op.SphereWalk(circle, logT, input("walk", 10, n, 2)))
	mu := ok(op.Dense(h, weight("m", 128, 5), weight("mb", 5), op.Softplus))
	logSigma := ok(op.Dense(h, weight("s", 128, 5), weight("sb", 5), op.Sigmoid))
	e := ok(op.GaussianSample(mu, logSigma, input("noise", n, 5)))
	y, f := ok(op.Transport(op.Circle, z, input("angles", n, 1), 2)), ok(op.Transport(op.Identity, e, nil, 2))
	ball := ok(op.Transport(op.AxisAngle, ok(op.SliceColumns(e, 0, 3)), input("axes", n, 4), 2))
	all := ok(op.ConcatColumns(y, f))
	d := ok(op.Reshape(ok(op.Dense(all, weight("d", 7, 128), weight("db", 128), op.ReLU)), n, 4, 4, 8))
	logits := ok(op.ConvTranspose(d, weight("ct", 4, 4, 3, 8), weight("ctb", 3), op.ConvOptions{Stride: 2}))
	return ok(op.WeightedSum([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		ok(op.GaussianReconstruction(x, logits, op.Gaussian{Constant: true})),
		ok(op.GaussianReconstruction(x, ok(op.Exp(logits)), op.Gaussian{Linear: true})),
		ok(op.BernoulliReconstruction(x, logits)),
		ok(op.GaussianKL(mu, logSigma)),
		ok(op.GaussianKLLogVariance(e, logSigma)),
		ok(op.SphereKL(logT, 2)),
		ok(op.LSBD(z, y)),
		ok(op.PublicLSBD(ok(op.ConcatColumns(z, e)), all, 2, 1, 1)),
		ok(op.LSBD(ball, ok(op.SliceColumns(e, 1, 4)))),
		ok(op.Add(ok(op.LSBD(z, y)), ok(op.Scale(0.5, ok(op.LSBD(f, e))))))),
	), wrt
}

// The gradients of a graph with every operation, against central differences.
func TestWholeGradient(t *testing.T) {
	loss, wrt := everything(t, tensor.Float64)
	grads, err := gorgonia.Grad(loss, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	m, err := vm.New(append(grads, loss)...)
	if err != nil {
		t.Fatal(err)
	}
	value := func() float64 {
		if err := m.RunAll(); err != nil {
			t.Fatal(err)
		}
		return m.Value(loss).Data().(float64)
	}
	value()
	var got [][]float64
	for _, n := range grads {
		got = append(got, slices.Clone(m.Value(n).Data().([]float64)))
	}
	stream := rng.New(2, "elements")
	for i, n := range wrt {
		x := n.Value().Data().([]float64)
		for range 4 {
			j, h := stream.IntN(len(x)), 1e-6
			was := x[j]
			x[j] = was + h
			up := value()
			x[j] = was - h
			down := value()
			x[j] = was
			if want := (up - down) / (2 * h); math.Abs(got[i][j]-want) > 1e-5*max(1, math.Abs(want)) {
				t.Errorf("gradient of element %d of %s is %v, central differences give %v", j, n.Name(), got[i][j], want)
			}
		}
	}
}
