package losses_test

import (
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
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/latent"
)

func TestAllocations(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		loss, wrt := everything(t, dt)
		gradcheck.AllocationFree(t, dt, loss, wrt...)
	}
}

// everything builds a small LSBD-VAE and adds the operations that the model lacks.
func everything(t *testing.T, dt tensor.Dtype) (loss *gorgonia.Node, wrt gorgonia.Nodes) {
	t.Helper()
	g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
	stream := rng.New(1, "everything")
	uniform := func(least, most float64, name string, shape ...int) *gorgonia.Node {
		v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
		for i := range v.DataSize() {
			if x := least + (most-least)*stream.Float64(); dt == tensor.Float32 {
				v.Set(i, float32(x))
			} else {
				v.Set(i, x)
			}
		}
		return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	input := func(name string, shape ...int) *gorgonia.Node { return uniform(0, 1, name, shape...) }
	weight := func(name string, shape ...int) *gorgonia.Node { // around 0, because a NaN has no gradient to compare
		wrt = append(wrt, uniform(-0.2, 0.2, name, shape...))
		return wrt[len(wrt)-1]
	}
	const n = 4
	x := input("images", n, 8, 8, 3)
	h := ok(layer.Conv(x, weight("c", 4, 4, 3, 8), weight("cb", 8), layer.ConvOptions{Stride: 2, Activation: graph.ReLU}))
	h = ok(graph.Activate(ok(graph.Flatten(h)), graph.LeakyReLU))
	circle := ok(graph.NormaliseRows(ok(layer.Dense(h, weight("l", 128, 2), weight("lb", 2), graph.Tanh))))
	logT := ok(latent.Interval(ok(layer.Dense(h, weight("t", 128, 1), weight("tb", 1), graph.Linear)), -10, -5))
	z := ok(latent.SphereWalk(circle, logT, input("walk", 10, n, 2)))
	mu := ok(layer.Dense(h, weight("m", 128, 5), weight("mb", 5), graph.Softplus))
	logSigma := ok(layer.Dense(h, weight("s", 128, 5), weight("sb", 5), graph.Sigmoid))
	e := ok(latent.GaussianSample(mu, logSigma, input("noise", n, 5)))
	y, f := ok(losses.CircleTransport(z, input("angles", n, 1), 2)), ok(losses.MeanTransport(e, 2))
	ball := ok(losses.SphereTransport(ok(graph.SliceColumns(e, 0, 3)), input("axes", n, 4), 2))
	all := ok(graph.ConcatColumns(y, f))
	d := ok(graph.Reshape(ok(layer.Dense(all, weight("d", 7, 128), weight("db", 128), graph.ReLU)), n, 4, 4, 8))
	logits := ok(layer.ConvTranspose(d, weight("ct", 4, 4, 3, 8), weight("ctb", 3), layer.ConvOptions{Stride: 2}))
	return ok(graph.WeightedSum([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
		ok(losses.GaussianReconstruction(x, logits, losses.Gaussian{Constant: true})),
		ok(losses.GaussianReconstruction(x, ok(graph.Exp(logits)), losses.Gaussian{Linear: true})),
		ok(losses.BernoulliReconstruction(x, logits)),
		ok(losses.KLGaussian(mu, logSigma)),
		ok(losses.KLGaussianLogVariance(e, logSigma)),
		ok(losses.KLSphere(logT, 2)),
		ok(losses.LSBD(z, y)),
		ok(losses.PublicLSBD(ok(graph.ConcatColumns(z, e)), all, 2, 1, 1)),
		ok(losses.LSBD(ball, ok(graph.SliceColumns(e, 1, 4)))),
		ok(graph.Add(ok(losses.LSBD(z, y)), ok(graph.Scale(0.5, ok(losses.LSBD(f, e))))))),
	), wrt
}

// TestWholeGradient compares the gradients of a graph with every operation with central differences.
func TestWholeGradient(t *testing.T) {
	loss, wrt := everything(t, tensor.Float64)
	grads := must.Get(gorgonia.Grad(loss, wrt...))(t)
	m := must.Get(machine.New(loss.Graph(), append(grads, loss)...))(t)
	value := func() float64 {
		must.OK(t, m.RunAll())
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
			if want := (up - down) / (2 * h); !(math.Abs(got[i][j]-want) <= 1e-5*max(1, math.Abs(want))) {
				t.Errorf("gradient of element %d of %s is %v, central differences give %v", j, n.Name(), got[i][j], want)
			}
		}
	}
}
