package gradcheck

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/race"
)

// Must returns a function that returns its node. For an error, it fails the test.
func Must(t testing.TB) func(*gorgonia.Node, error) *gorgonia.Node {
	return func(n *gorgonia.Node, err error) *gorgonia.Node {
		t.Helper()
		must.OK(t, err)
		return n
	}
}

// Node adds an input with random values between 0 and 1.
func Node(g *gorgonia.ExprGraph, dt tensor.Dtype, name string, shape ...int) *gorgonia.Node {
	v := tensor.New(tensor.Of(dt), tensor.WithShape(shape...))
	for i := range v.DataSize() {
		if x := math.Mod(float64(i)*0.618, 1); dt == tensor.Float32 {
			v.Set(i, float32(x))
		} else {
			v.Set(i, x)
		}
	}
	return gorgonia.NewTensor(g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name),
		gorgonia.WithValue(v))
}

// AllocationFree fails the test if running a loss with its gradients allocates.
func AllocationFree(t testing.TB, dt tensor.Dtype, loss *gorgonia.Node, wrt ...*gorgonia.Node) {
	t.Helper()
	grads := must.Get(gorgonia.Grad(loss, wrt...))(t)
	m := must.Get(machine.New(loss.Graph(), append(grads, loss)...))(t)
	run := func() {
		must.OK(t, m.RunAll())
	}
	run()
	if n := testing.AllocsPerRun(20, run); n >= 1 && !race.Enabled { // the race detector drops items from pools
		t.Errorf("%v: %v allocations in a run, want 0", dt, n)
	}
}
