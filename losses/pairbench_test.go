package losses_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
)

// benchmarkLoss times a loss of codes and five factors, and its gradient, in float32.
func benchmarkLoss(b *testing.B, build func(z, y *gorgonia.Node) (*gorgonia.Node, error)) {
	for _, size := range [][2]int{{4096, 16}, {64, 10}} {
		g, stream := gorgonia.NewGraph(), rng.New(1, "codes")
		input := func(name string, columns int) *gorgonia.Node {
			x := make([]float32, size[0]*columns)
			for i := range x {
				x[i] = float32(stream.NormFloat64() / 4)
			}
			v := tensor.New(tensor.WithShape(size[0], columns), tensor.WithBacking(x))
			return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(size[0], columns), gorgonia.WithName(name), gorgonia.WithValue(v))
		}
		z, y := input("z", size[1]), input("y", 5)
		loss := must.Get(build(z, y))(b)
		grads := must.Get(gorgonia.Grad(loss, z))(b)
		m := must.Get(machine.New(loss.Graph(), loss, grads[0]))(b)
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			for b.Loop() {
				must.OK(b, m.RunAll())
			}
		})
	}
}
