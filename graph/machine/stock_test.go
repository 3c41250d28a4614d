package machine

import (
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/internal/must"
)

// TestStockOps checks which Gorgonia operations stockOp recognises. Gorgonia does not export their types.
func TestStockOps(t *testing.T) {
	g := gorgonia.NewGraph()
	a := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 2), gorgonia.WithName("a"))
	b := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 2), gorgonia.WithName("b"))
	for name, c := range map[string]struct {
		node       func() (*gorgonia.Node, error)
		add, reuse bool
	}{
		"add":       {func() (*gorgonia.Node, error) { return gorgonia.Add(a, b) }, true, true},
		"sub":       {func() (*gorgonia.Node, error) { return gorgonia.Sub(a, b) }, false, true},
		"product":   {func() (*gorgonia.Node, error) { return gorgonia.HadamardProd(a, b) }, false, true},
		"quotient":  {func() (*gorgonia.Node, error) { return gorgonia.HadamardDiv(a, b) }, false, true},
		"matmul":    {func() (*gorgonia.Node, error) { return gorgonia.Mul(a, b) }, false, true},
		"greater":   {func() (*gorgonia.Node, error) { return gorgonia.Gt(a, b, false) }, false, false},
		"slice":     {func() (*gorgonia.Node, error) { return gorgonia.Slice(a, gorgonia.S(0)) }, false, false},
		"transpose": {func() (*gorgonia.Node, error) { return gorgonia.Transpose(a) }, false, false},
		"neg":       {func() (*gorgonia.Node, error) { return gorgonia.Neg(a) }, false, false},
	} {
		n := must.Get(c.node())(t)
		if add, reuse := stockOp(n.Op()); add != c.add || reuse != c.reuse {
			t.Errorf("%s (%T, %v): add %v, reuse %v", name, n.Op(), n.Op(), add, reuse)
		}
	}
}
