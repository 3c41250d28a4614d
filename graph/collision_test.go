package graph_test

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/gradcheck"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/internal/must"
)

// Gorgonia's graph merges nodes of one operation with equal 32-bit hashes, even if their inputs differ.
func TestHashCollision(t *testing.T) {
	g, ok := gorgonia.NewGraph(), gradcheck.Must(t)
	input := func(name string, value float32) *gorgonia.Node {
		return gorgonia.NewScalar(g, tensor.Float32, gorgonia.WithName(name), gorgonia.WithValue(value))
	}
	a, b := input("54e2ad337e6410cb-159744321", 0), input("b17ca18615315104-5209952400", 1)
	if a.Hashcode() != b.Hashcode() {
		t.Fatal("the names have different hashes: this test needs others")
	}
	stock, merged := ok(gorgonia.Neg(a)), ok(gorgonia.Neg(b))
	if stock != merged {
		t.Error("Gorgonia tells its own nodes apart: this test no longer shows what it is for")
	}
	x, y := ok(graph.Exp(a)), ok(graph.Exp(b))
	if x == y || y != ok(graph.Exp(b)) || x != ok(graph.Exp(a)) {
		t.Fatal("one node for two inputs, or two for one")
	}
	difference := ok(graph.WeightedSum([]float64{1, -1}, x, y))
	grads := must.Get(gorgonia.Grad(difference, a, b))(t)
	m := must.Get(machine.New(grads[0].Graph(), grads...))(t)
	must.OK(t, m.RunAll())
	if da, db := m.Value(grads[0]).Data().(float32), m.Value(grads[1]).Data().(float32); da != 1 || !(db <= -2.71) {
		t.Errorf("gradients %v and %v, want 1 and -e", da, db)
	}
}
