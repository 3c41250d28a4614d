package nn_test

import (
	"math"
	"testing"

	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
)

func TestAverage(t *testing.T) {
	p := nn.NewParams(1)
	g := nn.NewGraph(p)
	const n = 3*(1<<14) + 7 // several pieces, the last one shorter
	for _, name := range []string{"w", "target/w", "free"} {
		must.Get(g.Param(name, tensor.Shape{n}, nn.Uniform(1)))(t)
	}
	a := must.Get(nn.NewAverage(p, "target/"))(t)
	source, target := p.Get("w").Float32s(), p.Get("target/w").Float32s()
	want := make([]float64, n)
	for i := range want {
		want[i] = float64(target[i])
	}
	for _, momentum := range []float64{0.9, 0.99, 1, 0.5} {
		a.Step(momentum)
		for i := range want {
			want[i] = momentum*want[i] + (1-momentum)*float64(source[i])
			if !(math.Abs(want[i]-float64(target[i])) <= 1e-6) {
				t.Fatalf("momentum %v: element %d is %v, want %v", momentum, i, target[i], want[i])
			}
		}
	}
	if a.Step(0); target[n-1] != source[n-1] || target[0] != source[0] {
		t.Error("momentum 0 does not copy")
	}
	must.Get(g.Param("target/other", tensor.Shape{2}, nn.Zeros))(t)
	must.ErrorOf(nn.NewAverage(p, "target/"))(t,
		`parameter "target/other": it has nothing to follow; want a parameter "other" of shape (2)`, "a target without a source")
}

// Targets of frozen parameters keep their bits. Targets of taken parameters are copies, unless the targets were also
// taken.
func TestTargets(t *testing.T) {
	p := nn.NewParams(1)
	g := nn.NewGraph(p)
	for _, name := range []string{"a", "b", "target/a", "target/b", "target/none"} {
		must.Get(g.Param(name, tensor.Shape{3}, nn.Uniform(1)))(t)
	}
	before := map[string]float32{}
	for _, name := range p.Names() {
		before[name] = p.Get(name).Float32s()[0]
	}
	nn.CopyTargets(p, "target/", func(name string) bool { return name == "a" || name == "b" || name == "target/b" })
	for name, want := range map[string]string{"target/a": "a", "target/b": "target/b", "target/none": "target/none", "a": "a"} {
		must.Equal(t, p.Get(name).Float32s()[0], before[want], name, "begins with", want)
	}
	must.Get(g.Param("none", tensor.Shape{3}, nn.Uniform(1)))(t)
	a := must.Get(nn.NewAverage(p, "target/"))(t)
	b := p.Get("target/b").Float32s()[0]
	none := p.Get("target/none").Float32s()[0]
	a.Without(func(name string) bool { return name == "b" }).Step(0.5)
	must.Equal(t, p.Get("target/b").Float32s()[0], b, "the target of a frozen parameter went from", b, "to")
	if got := p.Get("target/none").Float32s()[0]; got == none {
		t.Error("another target stayed")
	}
}
