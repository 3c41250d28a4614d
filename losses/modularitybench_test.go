package losses_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
)

// graphOf builds a graph of one operation on random codes, and its gradient.
func graphOf(t testing.TB, rows, columns, factors, levels int,
	build func(z, labels *gorgonia.Node) (*gorgonia.Node, error)) *machine.Machine {
	t.Helper()
	g, r := gorgonia.NewGraph(), rng.New(1, "codes")
	codes, labels := make([]float32, rows*columns), make([]float32, rows*factors)
	r.Normals(codes)
	for i := range labels {
		labels[i] = float32(r.IntN(levels))
	}
	z := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("z"), gorgonia.WithShape(rows, columns),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, columns), tensor.WithBacking(codes))))
	y := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("y"), gorgonia.WithShape(rows, factors),
		gorgonia.WithValue(tensor.New(tensor.WithShape(rows, factors), tensor.WithBacking(labels))))
	n := must.Get(build(z, y))(t)
	grads := must.Get(gorgonia.Grad(n, z))(t)
	return must.Get(machine.New(n.Graph(), n, grads[0]))(t)
}

func blocksOf(columns, factors int) []factor.Block {
	b := make([]factor.Block, factors)
	for j := range columns {
		f := j * factors / columns
		b[f] = factor.Block{Factor: f, Columns: append(b[f].Columns, j)}
	}
	return b
}

func TestModularityAllocations(t *testing.T) {
	for _, d := range deviations {
		m := graphOf(t, 200, 6, 2, 4, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
			return modularityOn(d, factor.Mean, losses.Plain, blocksOf(6, 2), z, y)
		})
		run := func() {
			must.OK(t, m.RunAll())
		}
		run()
		run()
		if n := testing.AllocsPerRun(10, run); n >= 1 {
			t.Errorf("%v: %v allocations in a run, want 0", d, n)
		}
	}
}

func BenchmarkModularity(b *testing.B) {
	const rows, columns, factors = 4096, 16, 5
	for _, d := range deviations {
		for _, levels := range []int{1, 4, 40, 1000} {
			b.Run(fmt.Sprintf("%v of %d groups", d, levels), func(b *testing.B) {
				m := graphOf(b, rows, columns, factors, levels, func(z, y *gorgonia.Node) (*gorgonia.Node, error) {
					return modularityOn(d, factor.Mean, losses.Plain, blocksOf(columns, factors), z, y)
				})
				for b.Loop() {
					must.OK(b, m.RunAll())
				}
			})
		}
	}
}
