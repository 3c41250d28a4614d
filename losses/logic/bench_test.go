package logic_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph/machine"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// benchSchema has codes of 16 columns. The first columns are the sub-code of shape.
func benchSchema() logic.Schema {
	all := numeric.UpTo(16)
	return logic.Schema{Codes: 16, SubCodes: map[string][]int{"shape": all, "pair": all[:2]}, Factors: []string{"shape", "x"}}
}

// BenchmarkSentence times value and gradient of sentences and of the equal named losses.
func BenchmarkSentence(b *testing.B) {
	schema := benchSchema()
	for _, c := range []struct {
		name, text string
		named      func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error)
	}{
		{"variance", `forall[mean] v in y.shape: 0.5 * (forall[mean-square] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j))`, modularity(factor.Variance, schema)},
		{"mpd", `forall[mean] v in y.shape: 0.5 * (forall[mean] i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j))`, modularity(factor.MPD, schema)},
		{"diameter", `forall[max] v in y.shape: forall i, j: y.shape(i) = v and y.shape(j) = v -> z.shape(i) =[euclidean] z.shape(j)`, modularity(factor.Diameter, schema)},
		{"contraction", `forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)`, func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.Contraction(losses.ContractionSettings{}, z, y, labels)
		}},
		{"pairs", `forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[euclidean] z.shape(j)`, modularity(factor.MPD, schema)},
		{"squares", `forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)`, modularity(factor.Variance, schema)},
		{"general", `forall[mean] i, j: y.shape(i) != y.shape(j) -> 1 =[absolute] 0 or z.pair(i) =[absolute] z.pair(j)`, nil},
	} {
		q := must.Get(logic.Compile(logic.Parsed(b, c.text), schema))(b)
		for _, n := range []int{256, 4096} {
			b.Run(fmt.Sprintf("%s/%d/sentence", c.name, n), func(b *testing.B) { benchmark(b, n, named(q)) })
			b.Run(fmt.Sprintf("%s/%d/engine", c.name, n), func(b *testing.B) { benchmark(b, n, q.Node) })
			if c.named != nil {
				b.Run(fmt.Sprintf("%s/%d/named", c.name, n), func(b *testing.B) { benchmark(b, n, c.named) })
			}
		}
	}
}

func modularity(d factor.Deviation, s logic.Schema) func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
	return func(z, _, labels *gorgonia.Node) (*gorgonia.Node, error) {
		return losses.Modularity(d, factor.Mean, losses.Plain, z, labels, factor.Block{Factor: 0, Columns: s.SubCodes["shape"]})
	}
}

func benchmark(b *testing.B, n int, build func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error)) {
	b.Helper()
	g, r := gorgonia.NewGraph(), rng.New(1, "bench")
	input := func(name string, width int, draw func() float64) *gorgonia.Node {
		x := make([]float32, n*width)
		for i := range x {
			x[i] = float32(draw())
		}
		return gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(n, width), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, width), tensor.WithBacking(x))))
	}
	z := input("z", 16, r.NormFloat64)
	y := input("y", 2, r.Float64)
	labels := input("labels", 2, func() float64 { return float64(r.IntN(4)) })
	out := must.Get(build(z, y, labels))(b)
	grads := must.Get(gorgonia.Grad(out, z))(b)
	m := must.Get(machine.New(out.Graph(), out, grads[0]))(b)
	for b.Loop() {
		must.OK(b, m.RunAll())
	}
}
