package machine_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

func TestInputsAreReadAgain(t *testing.T) {
	b := newBuilder(t)
	v := tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{1, 2}))
	x := b.hold("x", v)
	out := b.ok(graph.Scale(10, x))
	m := b.machine(out)
	expect := func(want ...float64) {
		t.Helper()
		run(t, m)
		must.EqualSlices(t, m.Value(out).Data().([]float64), want)
	}
	expect(10, 20)
	v.Data().([]float64)[1] = 5
	expect(10, 50)
	must.OK(t, gorgonia.Let(x, tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float64{3, 4}))))
	expect(30, 40)
}

// Two graphs share a parameter's tensor and run alternately.
func TestSharedParameter(t *testing.T) {
	p := tensor.New(tensor.WithShape(1, 3), tensor.WithBacking([]float64{1, -2, 3}))
	type program struct {
		m    *machine.Machine
		grad *gorgonia.Node
	}
	var programs []program
	for _, factor := range []float64{1, 2} {
		b := newBuilder(t)
		x, zero := b.hold("p", p), b.hold("zero", tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(1, 3)))
		loss := b.ok(losses.LSBD(b.ok(graph.Scale(factor, x)), zero)) // factor^2 |p|^2
		grads := must.Get(gorgonia.Grad(loss, x))(t)
		programs = append(programs, program{b.machine(loss, grads[0]), grads[0]})
	}
	want := []float64{1, -2, 3}
	for i := range 20 {
		factor := float64(1 + i%2)
		run(t, programs[i%2].m)
		g := programs[i%2].m.Value(programs[i%2].grad).Data().([]float64)
		for j, x := range p.Data().([]float64) {
			p.Data().([]float64)[j] = x - 0.01*g[j]
			want[j] -= 0.01 * 2 * factor * factor * want[j]
		}
	}
	for j, x := range p.Data().([]float64) {
		if !(math.Abs(x-want[j]) <= 1e-12) {
			t.Errorf("parameter %d is %v after 20 steps, want %v", j, x, want[j])
		}
	}
}
