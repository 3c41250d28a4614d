package logic_test

import (
	"fmt"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/losses/logic"
)

// BenchmarkFunctions times value and gradient of sentences with functions and of the equal named losses.
func BenchmarkFunctions(b *testing.B) {
	schema := benchSchema()
	inverse := func(kind losses.Inverse) func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
		return func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error) {
			return losses.LeftInverse(kind, 0, z, y, labels)
		}
	}
	for _, c := range []struct {
		name, text string
		named      func(z, y, labels *gorgonia.Node) (*gorgonia.Node, error)
	}{
		{"squares", `0.5 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i))`, inverse(losses.LeastSquares)},
		{"absolute", `0.5 * (exists h: z -> y in affine: forall[mean] i: h(z(i)) =[absolute] y(i))`, inverse(losses.LeastAbsolute)},
		{"minimax", `exists h: z -> y in affine: forall i: h(z(i)) =[euclidean] y(i)`, inverse(losses.Minimax)},
		{"product", `exists m.shape: y.shape -> z.shape: forall[mean] v in y.shape: forall[mean] i: y.shape(i) = v -> z.shape(i) =[squared] m.shape(v)`, modularity(factor.Variance, schema)},
		{"levels", `exists m.shape: y.shape -> z.shape: forall[mean] i: z.shape(i) =[squared] m.shape(y.shape(i))`, modularity(factor.Variance, schema)},
		{"euclidean", `exists h: z -> y in affine: forall[mean] i: h(z(i)) =[euclidean] y(i)`, nil},
		{"isometry", `exists h: z.pair -> y in isometry: forall[mean] i: h(z.pair(i)) =[squared] y(i)`, nil},
		{"by", `exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)`, nil},
	} {
		q := must.Get(logic.Compile(logic.Parsed(b, c.text), schema))(b)
		for _, n := range []int{64, 512} {
			b.Run(fmt.Sprintf("%s/%d/sentence", c.name, n), func(b *testing.B) { benchmark(b, n, named(q)) })
			if c.named != nil {
				b.Run(fmt.Sprintf("%s/%d/named", c.name, n), func(b *testing.B) { benchmark(b, n, c.named) })
			}
		}
	}
}
